"""Make the world match the spec."""
