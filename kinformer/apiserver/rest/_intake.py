"""Taking in what a client sent: does it belong to this place, and is it of this kind (rules H-10, W-2, W-9)."""

from typing import Any

from kinformer.apiserver.registry import Served, bad_request
from kinformer.apiserver.rest._options import Target

__all__ = ["drop_empty", "take_in"]


def take_in(target: Target, sent: dict[str, Any]) -> dict[str, Any]:
    """The object in the form in which the server works on it: its own top level and metadata, both filled in.

    Raises:
        StatusError: It is of another kind or version, or for another namespace or name: 400.
    """
    if not isinstance(sent, dict):
        raise bad_request(f"the body must be an object, not {type(sent).__name__}")
    served = target.served
    metadata = sent.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise bad_request(f"metadata must be an object, not {type(metadata).__name__}")
    metadata = {key: value for key, value in metadata.items() if value is not None}
    content = {**sent, "metadata": metadata}
    _check_kind(served, content)
    _check_place(target, metadata)
    if not served.is_custom:
        drop_empty(content)
    return {
        "kind": content.pop("kind"),
        "apiVersion": content.pop("apiVersion"),
        "metadata": content.pop("metadata"),
        **content,
    }


def drop_empty(value: Any) -> None:
    """Drop the nulls of a built-in object, in place, as decoding into a Go type would (rule H-11)."""
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if item is None]:
            del value[key]
        for item in value.values():
            drop_empty(item)
    elif isinstance(value, list):
        for item in value:
            drop_empty(item)


def _check_kind(served: Served, content: dict[str, Any]) -> None:
    for field, called, own in (
        ("kind", "Kind", served.kind),
        ("apiVersion", "apiVersion", served.api_version),
    ):
        if not content.get(field):
            if served.is_custom:
                raise bad_request(f"Object '{called}' is missing in the body")
            content[field] = own
    if content["apiVersion"] != served.api_version:
        raise bad_request(
            f"the API version in the data ({content['apiVersion']}) does not match "
            f"the expected API version ({served.api_version})"
        )
    if content["kind"] != served.kind:
        raise bad_request(
            f'{content["kind"]} in version "{served.version}" cannot be handled as a {served.kind}: '
            f"the body must be of kind {served.kind}"
        )


def _check_place(target: Target, metadata: dict[str, Any]) -> None:
    if not target.served.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = target.namespace
    elif metadata["namespace"] != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not target.name:
        return
    name = metadata.get("name", "")
    if not name:
        raise bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
