"""Which kinds are served, and what their objects must look like."""
