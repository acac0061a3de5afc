"""Identity: which records are states of one object, and which are one and the same state."""

from kinformer.meta import Record

__all__ = ["is_one_object", "is_one_state", "is_one_version"]


def is_one_object(first: Record, second: Record) -> bool:
    """Whether both are of one object, and not of two that had the name one after the other."""
    return first.metadata.uid == second.metadata.uid


def is_one_version(first: Record, second: Record) -> bool:
    """Whether the server calls both one state; of objects without a version, as some APIs have, that cannot be told."""
    mine, other = first.metadata, second.metadata
    return mine.resource_version == other.resource_version != "" and mine.uid == other.uid


def is_one_state(first: Record, second: Record) -> bool:
    """Whether nothing has changed between both; objects without a version are compared as they are."""
    mine, other = first.metadata, second.metadata
    return (
        mine.uid == other.uid
        and mine.resource_version == other.resource_version
        and (mine.resource_version != "" or first.raw == second.raw)
    )
