"""Keep a sink equal to a source: list, watch, and start over when the window is lost."""

# What it reads and what it writes.
from kinformer.reflector._contracts import Sink, Source

__all__ = ["Sink", "Source"]
