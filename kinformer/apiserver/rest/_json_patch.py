"""JSON patch: RFC 6902, by the jsonpatch library (rule P-3)."""

from typing import Any, Final

import jsonpatch
import jsonpointer

from kinformer.apiserver.registry import StatusError, bad_request, unprocessable

__all__ = ["json_patch"]

_MOST_OPERATIONS: Final = 10_000


def json_patch(target: dict[str, Any], patch: Any) -> dict[str, Any]:
    """What an object becomes by a list of operations; ``target`` is not changed.

    Raises:
        StatusError: It is no list of operations (400), or of too many (413), or one of them fails (422).
    """
    if not isinstance(patch, list):
        raise bad_request("a JSON patch must be a list of operations")
    if len(patch) > _MOST_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(patch)}"
        raise StatusError(413, "RequestEntityTooLarge", text)
    try:
        operations = jsonpatch.JsonPatch(patch)
    except (jsonpatch.InvalidJsonPatch, jsonpointer.JsonPointerException, TypeError, AttributeError) as error:
        raise bad_request(f"the JSON patch cannot be read: {error}") from error
    try:
        patched = operations.apply(target)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, ValueError) as error:
        raise unprocessable() from error
    if not isinstance(patched, dict):
        raise unprocessable()
    return patched
