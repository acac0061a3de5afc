"""The ASGI application: paths, discovery, negotiation, errors."""
