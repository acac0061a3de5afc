"""Patcher: one patch, in any of its four forms. Rules P-1 and P-2."""

from typing import Any

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import FieldProblem, StatusError, bad_request, invalid_options
from kinformer.apiserver.rest._applying import Applier
from kinformer.apiserver.rest._intake import drop_empty
from kinformer.apiserver.rest._json_patch import json_patch
from kinformer.apiserver.rest._merge_patch import merge_patch
from kinformer.apiserver.rest._options import PatchKind, Target, WriteOptions
from kinformer.apiserver.rest._strategic import strategic_merge
from kinformer.apiserver.rest._writing import Writer

__all__ = ["Patcher"]


class Patcher:
    """Changes objects by patches."""

    def __init__(self, writer: Writer, applier: Applier) -> None:
        self._writer = writer
        self._applier = applier

    async def patch(
        self, target: Target, kind: PatchKind, patch: Any, options: WriteOptions
    ) -> tuple[StoredObject, bool]:
        """Change an object, on whatever is stored when the write succeeds; the flag tells whether it is new."""
        if kind is PatchKind.APPLY:
            return await self._applier.apply(target, patch, options)
        if options.force is not None:
            problem = FieldProblem.forbidden("force", "may not be specified for non-apply patch")
            raise invalid_options("PatchOptions", [problem])
        if kind is PatchKind.STRATEGIC and target.served.is_custom:
            raise unsupported(target)
        if kind is not PatchKind.JSON and not isinstance(patch, dict):
            raise bad_request(f"a merge patch must be an object, not {type(patch).__name__}")
        return await self._writer.change(
            target, lambda old: patched(target, kind, old, patch), options
        ), False


def patched(target: Target, kind: PatchKind, old: dict[str, Any], patch: Any) -> dict[str, Any]:
    """What a stored object becomes by a patch; it must still be the object that the request is about.

    Raises:
        StatusError: The patch cannot be applied, or it changes what the object is.
    """
    match kind:
        case PatchKind.JSON:
            new = json_patch(old, patch)
        case PatchKind.STRATEGIC:
            new = strategic_merge(old, patch, target.served.shape)
        case _:
            new = merge_patch(old, patch)
    metadata = new.get("metadata")
    if not isinstance(metadata, dict):
        raise bad_request("the patch leaves the object without metadata")
    for field in ("kind", "apiVersion"):
        if new.get(field) != old[field]:
            raise bad_request(f"the patch must not change {field} from {old[field]!r} to {new.get(field)!r}")
    if metadata.get("name") != target.name:
        raise bad_request(
            f"the name of the object ({metadata.get('name')}) does not match the name on the URL ({target.name})"
        )
    if not target.served.is_custom:
        drop_empty(new)
    return new


def unsupported(target: Target) -> StatusError:
    """415: this kind does not take this patch (rule H-9)."""
    accepted = [kind for kind in PatchKind if not (target.served.is_custom and kind is PatchKind.STRATEGIC)]
    text = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", text + ", ".join(accepted))
