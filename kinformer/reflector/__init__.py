"""Keep a sink equal to a source: list, watch, and start over when the window is lost."""

# How it fares.
from kinformer.reflector._conditions import Condition, ConditionType

# What it reads and what it writes.
from kinformer.reflector._contracts import Sink, Source

# What it is doing.
from kinformer.reflector._machine import Listing, State, Streaming, Terms, Waiting, Watching

# When it last heard of anything.
from kinformer.reflector._pulse import Ages

# The reflector itself.
from kinformer.reflector._reflector import Reflector

__all__ = [
    "Ages",
    "Condition",
    "ConditionType",
    "Listing",
    "Reflector",
    "Sink",
    "Source",
    "State",
    "Streaming",
    "Terms",
    "Waiting",
    "Watching",
]
