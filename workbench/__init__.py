"""Durable agents that live in a Jupyter kernel."""
