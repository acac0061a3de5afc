"""JSON merge patch: RFC 7386 (rule P-4)."""

from typing import Any

__all__ = ["merge_patch"]


def merge_patch(target: Any, patch: Any) -> Any:
    """What a value becomes by a merge patch: null deletes, objects merge, everything else replaces.

    Neither argument is changed; the result may share parts with both.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
