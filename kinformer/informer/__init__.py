"""One cache and many handlers for each resource."""
