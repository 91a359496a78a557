"""How rows are kept: Postgres, its schemas, and the keys that seal what people wrote.

A query runs for one profile or sees nothing, a sealed value opens only where it was written,
and what the database answers reaches callers as a ``Problem`` or not at all.
"""
