"""Windows: how runs, approvals and processes look in a cell. Everything is imported from the module that defines it."""
