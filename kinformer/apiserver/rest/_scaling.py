"""Scaler: the scale subresource, a small object that stands for the replicas of a large one (rule W-15)."""

from collections.abc import Callable, Mapping
from typing import Any

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import FieldProblem, ScalePaths, Served, StatusError, bad_request, invalid
from kinformer.apiserver.rest._json_patch import json_patch
from kinformer.apiserver.rest._merge_patch import merge_patch
from kinformer.apiserver.rest._options import PatchKind, Target, WriteOptions
from kinformer.apiserver.rest._reading import Reader
from kinformer.apiserver.rest._writing import Writer
from kinformer.meta import LabelSelector

__all__ = ["Scaler"]

Content = dict[str, Any]


class Scaler:
    """Reads and writes scales."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    async def get(self, target: Target, version: str) -> StoredObject:
        """The scale of an object."""
        return _scale_view(target.served, await self._reader.get(target, version))

    async def update(self, target: Target, sent: Content, options: WriteOptions) -> StoredObject:
        """Set the replicas of an object to those of a scale."""
        return await self._change(target, lambda _: sent, options)

    async def patch(self, target: Target, kind: PatchKind, patch: Any, options: WriteOptions) -> StoredObject:
        """Set the replicas of an object to those of its patched scale."""
        match kind:
            case PatchKind.JSON:
                return await self._change(target, lambda scale: json_patch(scale, patch), options)
            case PatchKind.APPLY:
                text = "the scale of an object cannot be applied here; patch it, or apply the object"
                raise StatusError(415, "UnsupportedMediaType", text)
            case _:
                if not isinstance(patch, dict):
                    raise bad_request(f"a merge patch must be an object, not {type(patch).__name__}")
                return await self._change(target, lambda scale: merge_patch(scale, patch), options)

    async def _change(
        self, target: Target, make: Callable[[Content], Content], options: WriteOptions
    ) -> StoredObject:
        paths = _paths(target.served)

        def rescaled(parent: Content) -> Content:
            scale = make(_scale_of(target.served, parent))
            sent, spec = scale.get("metadata") or {}, scale.get("spec") or {}
            if not (isinstance(sent, dict) and isinstance(spec, dict)):
                raise bad_request("metadata and spec of a Scale must be objects")
            replicas = spec.get("replicas") or 0
            if type(replicas) is not int or replicas < 0:
                text = "must be greater than or equal to 0"
                problem = FieldProblem.invalid("spec.replicas", replicas, text)
                raise invalid(target.served, target.name, [problem])
            for field in ("uid", "resourceVersion"):
                if sent.get(field):
                    parent["metadata"][field] = sent[field]
            _write(parent, paths.spec_replicas, replicas)
            return parent

        return _scale_view(target.served, await self._writer.change(target, rescaled, options))


def _paths(served: Served) -> ScalePaths:
    if served.scale is None:
        raise StatusError(404, "NotFound", "the server could not find the requested resource", details={})
    return served.scale


def _scale_view(served: Served, parent: StoredObject) -> StoredObject:
    return StoredObject.of(_scale_of(served, parent.content), parent.version)


def _scale_of(served: Served, parent: Mapping[str, Any]) -> Content:
    paths, metadata = _paths(served), parent["metadata"]
    replicas = _read(parent, paths.spec_replicas)
    if replicas is None:
        text = f'the spec replicas field "{paths.spec_replicas}" does not exist'
        raise StatusError(
            500, "InternalError", f"Internal error occurred: {text}", details={"causes": [{"message": text}]}
        )
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status = {"replicas": _read(parent, paths.status_replicas) or 0}
    if selector := _selector(_read(parent, paths.label_selector) if paths.label_selector else None):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in shown if field in metadata},
        "spec": {"replicas": replicas},
        "status": status,
    }


def _selector(value: Any) -> str:
    """A selector as text: custom kinds hold the text, replication controllers a plain map of labels."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else ""
    try:
        if "matchLabels" in value or "matchExpressions" in value:
            return str(LabelSelector.from_object(value))
        return str(LabelSelector.from_labels(value))
    except ValueError:
        return ""


def _read(content: Mapping[str, Any], path: str) -> Any:
    value: Any = content
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _write(content: Content, path: str, value: int) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        if not isinstance(content.get(part), dict):
            content[part] = {}
        content = content[part]
    content[last] = value
