"""Doors: what a bench publishes to others, and the tools of others used inside it."""
