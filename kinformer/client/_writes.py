"""Writes: each verb that sends an object, made into a call, with the object checked against where it goes. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinformer.client._body import Body, encode_body, encode_patch
from kinformer.client._calls import PATCHES, Call, PatchKind
from kinformer.client._target import Target
from kinformer.meta import ObjectKey

__all__ = ["apply_call", "create_call", "patch_call", "replace_call"]


def create_call(target: Target, obj: Body, namespace: str | None, params: Mapping[str, str]) -> Call:
    """POST to the collection; of a subresource, to that of the object which the body names.

    Raises:
        TypeError: See ``encode_body``.
        ValueError: The body is of another kind, or nobody says where to.
    """
    body = encode_body(obj, target.objects)
    if target.subresource:
        path = target.item_of(body, namespace)
    else:
        path = target.where(target.home_of(body, namespace), None, None).collection()
    return Call("POST", path, params, body.content)


def replace_call(target: Target, obj: Body, namespace: str | None, params: Mapping[str, str]) -> Call:
    """PUT.

    Raises:
        TypeError: See ``encode_body``.
        ValueError: As for ``create_call``, or the body has no name.
    """
    body = encode_body(obj, target.objects)
    return Call("PUT", target.item_of(body, namespace), params, body.content)


def patch_call(
    target: Target,
    key: ObjectKey | str,
    patch: Body | Sequence[Mapping[str, Any]],
    kind: PatchKind,
    params: Mapping[str, str],
) -> Call:
    """PATCH of any kind but apply.

    Raises:
        TypeError: See ``encode_patch``.
        ValueError: There is no such kind, or the patch has not its shape.
    """
    if kind not in PATCHES:
        raise ValueError(f"patch kind {kind!r} must be one of {', '.join(PATCHES)}")
    content = encode_patch(patch, is_list=kind == "json")
    return Call("PATCH", target.item(key), params, content, PATCHES[kind])


def apply_call(target: Target, obj: Body, namespace: str | None, params: Mapping[str, str]) -> Call:
    """PATCH by server-side apply; JSON is YAML.

    Raises:
        TypeError: See ``encode_body``.
        ValueError: As for ``replace_call``, or nobody is applying.
    """
    if not params.get("fieldManager"):
        raise ValueError("apply needs a field_manager: a name for who is applying, such as your controller's")
    body = encode_body(obj, target.objects)
    path = target.item_of(body, namespace)
    return Call("PATCH", path, params, body.content, "application/apply-patch+yaml")
