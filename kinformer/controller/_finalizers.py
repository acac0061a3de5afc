"""Finalizers: hold an object back from deletion until its clean-up is done, without touching those of others.

Each change is one JSON patch with tests in it, as in kube-rs: where the object is not as we saw it, the server
refuses, and we look again. So no finalizer of another controller can be lost, whatever happens in between.
"""

from typing import Any, Final, Literal, Protocol

from kinformer.errors import ApiError, ConflictError, InvalidError, NotFoundError
from kinformer.meta import Object, ObjectKey

__all__ = ["FinalizerClient", "add_finalizer", "remove_finalizer"]

_ATTEMPTS: Final = 5
"""How often somebody else may be faster, before the refusal goes to the caller, who is called again anyway."""

_LIST: Final = "/metadata/finalizers"


class FinalizerClient(Protocol):
    """The part of a ``ResourceClient`` that finalizers need."""

    async def get(self, key: ObjectKey | str, /) -> Object:
        """Read one object."""

    async def patch(
        self, key: ObjectKey | str, patch: list[dict[str, Any]], /, *, kind: Literal["json"]
    ) -> Object:
        """Change one object by a JSON patch (RFC 6902)."""


async def add_finalizer(resources: FinalizerClient, obj: Object, finalizer: str) -> Object:
    """See that an object has a finalizer; without a request where it had it when it was last seen.

    Args:
        resources: The client of the object's resource, such as ``request.client.resource(WEBSITES)``.
        obj: The object as last seen; it may be old.
        finalizer: A qualified name, such as ``"example.dev/cleanup"``.

    Returns:
        The object as it is now.

    Raises:
        NotFoundError: The object is gone; also where one with another uid has taken its name.
        InvalidError: The server does not take the finalizer: its name is bad, or the object is being deleted.
        ConflictError: Others kept changing the object.
    """
    for attempt in range(_ATTEMPTS):
        if finalizer in obj.metadata.finalizers:
            break
        try:
            return await resources.patch(obj.key, _addition(obj, finalizer), kind="json")
        except (ConflictError, InvalidError) as error:
            obj = await _seen_again(resources, obj, error, is_last=attempt == _ATTEMPTS - 1)
    return obj


async def remove_finalizer(resources: FinalizerClient, obj: Object, finalizer: str) -> None:
    """See that an object is without a finalizer, or gone; without a request where it lacked it when last seen.

    Args:
        resources: The client of the object's resource.
        obj: The object as last seen; it may be old.
        finalizer: The one to take away; all others stay, in their order.

    Raises:
        InvalidError: The server does not take the change.
        ConflictError: Others kept changing the object.
    """
    try:
        for attempt in range(_ATTEMPTS):
            if finalizer not in obj.metadata.finalizers:
                return
            try:
                obj = await resources.patch(obj.key, _removal(obj, finalizer), kind="json")
            except (ConflictError, InvalidError) as error:
                obj = await _seen_again(resources, obj, error, is_last=attempt == _ATTEMPTS - 1)
    except NotFoundError:
        return  # what is gone has no finalizers


def _addition(obj: Object, finalizer: str) -> list[dict[str, Any]]:
    """The whole list is tested, since two replicas may add the same name, and since an ``add`` may overwrite."""
    if obj.metadata.finalizers:
        test = {"op": "test", "path": _LIST, "value": list(obj.metadata.finalizers)}
        return [_same_object(obj), test, {"op": "add", "path": f"{_LIST}/-", "value": finalizer}]
    # Whether a test for null passes where the member is missing depends on the server's library: test the version.
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version}
    return [_same_object(obj), version, {"op": "add", "path": _LIST, "value": [finalizer]}]


def _removal(obj: Object, finalizer: str) -> list[dict[str, Any]]:
    path = f"{_LIST}/{obj.metadata.finalizers.index(finalizer)}"
    test = {"op": "test", "path": path, "value": finalizer}
    return [_same_object(obj), test, {"op": "remove", "path": path}]


def _same_object(obj: Object) -> dict[str, Any]:
    return {"op": "test", "path": "/metadata/uid", "value": obj.metadata.uid}


async def _seen_again(resources: FinalizerClient, obj: Object, error: ApiError, *, is_last: bool) -> Object:
    """The object as it is now, or the ``error`` where looking again cannot help.

    A failed test and a patch that breaks a rule are one status, 422. What tells them apart is whether the object
    has changed since.
    """
    fresh = await resources.get(obj.key)
    if fresh.metadata.uid != obj.metadata.uid:
        raise NotFoundError(
            404, "NotFound", f"{obj.kind} {obj.key} is another object now: it was made anew"
        ) from error
    if is_last or fresh.metadata.resource_version == obj.metadata.resource_version:
        raise error
    return fresh
