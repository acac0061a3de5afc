"""Claims: what may be waited for of one object, and what to say of an object of which it is not true. Pure."""

from collections.abc import Callable, Iterator, Mapping
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any

from kinformer.meta import Object

__all__ = ["checked_claim", "describe", "has_condition", "holds", "is_deleted"]

_ASYNC = "a claim must be a plain function: it is asked about each state, between two awaits"


def is_deleted(obj: object) -> bool:
    """The claim for ``wait_for`` that there is no such object."""
    return obj is None


def has_condition(obj: Object, name: str) -> bool:
    """Whether the condition is ``"True"`` of the object as it is now, as ``kubectl wait`` judges it.

    A condition that was seen of an older generation is not about the object as it is now: its own
    ``observedGeneration`` tells, or else that of the whole status.
    """
    return any(
        condition.get("type") == name
        and condition.get("status") == "True"
        and not _is_stale(obj, condition.get("observedGeneration"))
        for condition in _conditions(obj)
    )


def checked_claim(claim: str | Callable[[Any], bool]) -> str | Callable[[Any], bool]:
    """The claim, if it is one.

    Raises:
        TypeError: It is neither a text nor a plain function.
        ValueError: It is the empty text.
    """
    if isinstance(claim, str):
        if not claim:
            raise ValueError("claim='' must be the name of a condition, such as 'Ready'")
    elif not callable(claim):
        raise TypeError(f"claim={claim!r} must be the name of a condition or a function of the object")
    elif iscoroutinefunction(claim) or iscoroutinefunction(getattr(claim, "__call__", None)):  # noqa: B004 -- its signature
        raise TypeError(f"{_ASYNC}, not {claim!r}")
    return claim


def holds(claim: Callable[[Any], object], found: object) -> bool:
    """Whether a function says so of what was found.

    Raises:
        TypeError: It turns out to be async; what would be awaited is true of everything.
    """
    verdict = claim(found)
    if isawaitable(verdict):
        if iscoroutine(verdict):
            verdict.close()
        raise TypeError(f"{_ASYNC}; this one gave {verdict!r}")
    return bool(verdict)


def describe(obj: Object | None) -> str:
    """The state of an object, for people."""
    if obj is None:
        return "no such object"
    conditions = ", ".join(
        f"{condition.get('type')}={condition.get('status')}" for condition in _conditions(obj)
    )
    going = ", being deleted" if obj.metadata.deletion_timestamp is not None else ""
    return f"version {obj.metadata.resource_version} with {conditions or 'no conditions'}{going}"


def _conditions(obj: Object) -> Iterator[Mapping[str, Any]]:
    """Those that have the usual shape; custom resources may have any."""
    conditions = obj.at("status", "conditions", default=())
    if isinstance(conditions, list):
        yield from (condition for condition in conditions if isinstance(condition, Mapping))


def _is_stale(obj: Object, observed: object) -> bool:
    if observed is None:
        observed = obj.at("status", "observedGeneration", default=None)
    return isinstance(observed, int) and observed < obj.metadata.generation
