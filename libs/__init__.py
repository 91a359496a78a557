"""Tools that any service may use. Nothing here knows a service."""
