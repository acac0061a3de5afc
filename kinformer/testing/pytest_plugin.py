"""The pytest plugin: the ``cluster`` fixture."""
