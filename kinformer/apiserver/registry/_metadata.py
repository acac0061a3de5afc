"""Validating metadata, which is the same for every kind (rules W-6 and W-11)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kinformer.apiserver.registry._errors import FieldProblem
from kinformer.apiserver.registry._names import check_label_value, check_name, check_qualified_name
from kinformer.apiserver.registry._served import Served

__all__ = ["check_metadata", "check_metadata_update"]

_MOST_ANNOTATIONS: Final = 256 * 1024
_GC_FINALIZERS: Final = {"foregroundDeletion", "orphan"}


def check_metadata(served: Served, metadata: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Everything that is wrong with the metadata of an object that is to be stored; its fields are of the right types."""
    if not (name := metadata.get("name", "")):
        yield FieldProblem.required("metadata.name", "name or generateName is required")
    elif text := check_name(served.traits.name_rule, name):
        yield FieldProblem.invalid("metadata.name", name, text)
    yield from _check_labels(metadata.get("labels") or {})
    yield from _check_annotations(metadata.get("annotations") or {})
    yield from _check_finalizers(metadata.get("finalizers") or [])
    yield from _check_owners(metadata.get("ownerReferences") or [])


def check_metadata_update(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Everything that an update of the metadata must not do."""
    for field in ("name", "namespace", "uid"):
        if new.get(field) != old.get(field):
            yield FieldProblem.invalid(f"metadata.{field}", new.get(field), "field is immutable")
    if old.get("deletionTimestamp"):
        added = [name for name in new.get("finalizers") or [] if name not in (old.get("finalizers") or [])]
        if added:
            quoted = ", ".join(f'"{name}"' for name in added)
            text = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{quoted}}}"
            )
            yield FieldProblem.forbidden("metadata.finalizers", text)


def _check_labels(labels: Mapping[str, str]) -> Iterator[FieldProblem]:
    for key, value in labels.items():
        if text := check_qualified_name(key):
            yield FieldProblem.invalid("metadata.labels", key, text)
        if text := check_label_value(value):
            yield FieldProblem.invalid("metadata.labels", value, text)


def _check_annotations(annotations: Mapping[str, str]) -> Iterator[FieldProblem]:
    for key in annotations:
        if text := check_qualified_name(key.lower()):
            yield FieldProblem.invalid("metadata.annotations", key, text)
    if sum(len(key) + len(value) for key, value in annotations.items()) > _MOST_ANNOTATIONS:
        yield FieldProblem.too_long("metadata.annotations", _MOST_ANNOTATIONS)


def _check_finalizers(finalizers: list[str]) -> Iterator[FieldProblem]:
    for name in finalizers:
        if text := check_qualified_name(name):
            yield FieldProblem.invalid("metadata.finalizers", name, text)
    if set(finalizers) >= _GC_FINALIZERS:
        text = "finalizer foregroundDeletion and orphan cannot be both set"
        yield FieldProblem.invalid("metadata.finalizers", finalizers, text)


def _check_owners(owners: list[dict[str, Any]]) -> Iterator[FieldProblem]:
    for index, owner in enumerate(owners):
        for field, text in (
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ):
            if not owner.get(field):
                yield FieldProblem.invalid(
                    f"metadata.ownerReferences[{index}].{field}", owner.get(field, ""), text
                )
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        text = f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        yield FieldProblem.invalid("metadata.ownerReferences", owners, text)
