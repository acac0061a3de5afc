"""Keep a sink equal to a source: list, watch, and start over when the window is lost."""
