"""Entries with names and entries of the stack: set, read, listed, pushed, popped, removed.

An entry has a name or a place on the stack, never both. Who may read it is decided when it is read; what a
caller may not read does not exist for it.
"""
