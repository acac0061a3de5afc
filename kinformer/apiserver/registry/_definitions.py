"""Custom resource definitions: filled in, judged, and turned into what is served (rules C-1 to C-7)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kinformer.apiserver.registry._builtin_shapes import METADATA
from kinformer.apiserver.registry._errors import FieldProblem
from kinformer.apiserver.registry._names import check_name
from kinformer.apiserver.registry._served import PrinterColumn, ScalePaths, Served, Traits
from kinformer.apiserver.registry._shapes import custom_shape
from kinformer.apiserver.registry._structural import check_structural

__all__ = [
    "CLEANUP_FINALIZER",
    "DEFINITIONS",
    "check_definition",
    "check_definition_update",
    "prepare_definition",
    "served_by",
    "set_condition",
]

DEFINITIONS: Final = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
"""Group, version and plural of the definitions themselves."""

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
"""What holds a definition until its objects are gone."""

_COLUMN_TYPES: Final = ("integer", "number", "string", "boolean", "date")
_PROTECTED_GROUPS: Final = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_APPROVAL: Final = "api-approved.kubernetes.io"


def prepare_definition(content: dict[str, Any], *, taken: Iterable[Served], now: str) -> None:
    """Fill in the names and the status, in place.

    The conditions are set at once, with the write itself, so that there is no moment in which a definition exists but
    is not yet served; a real server needs some milliseconds and one or two more events for it.

    Args:
        content: The definition.
        taken: What is served by others in any group: their names cannot be had twice (rule C-4).
        now: The time for the conditions.
    """
    spec = content.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
        return
    names = spec["names"]
    kind = str(names.get("kind", ""))
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    status = content.setdefault("status", {})
    stored = [
        version["name"] for version in _versions(content) if version.get("storage") and "name" in version
    ]
    status["storedVersions"] = list(dict.fromkeys([*(status.get("storedVersions") or []), *stored]))
    reason, text = _collision(content, taken)
    if reason:
        set_condition(content, "NamesAccepted", False, reason, text, now)
        if not _has_condition(content, "Established"):
            set_condition(content, "Established", False, "NotAccepted", "not all names are accepted", now)
        return
    status["acceptedNames"] = dict(names)
    set_condition(content, "NamesAccepted", True, "NoConflicts", "no conflicts found", now)
    set_condition(
        content, "Established", True, "InitialNamesAccepted", "the initial names have been accepted", now
    )


def set_condition(
    content: dict[str, Any], kind: str, is_true: bool, reason: str, message: str, now: str
) -> None:
    """Set a condition of the status, in place; the time of the last transition moves only when the status does."""
    conditions = content.setdefault("status", {}).setdefault("conditions", [])
    status = "True" if is_true else "False"
    old: dict[str, Any] = next((each for each in conditions if each.get("type") == kind), {})
    since = old.get("lastTransitionTime", now) if old.get("status") == status else now
    new = {"lastTransitionTime": since, "message": message, "reason": reason, "status": status, "type": kind}
    if old:
        conditions[conditions.index(old)] = new
    else:
        conditions.append(new)


def check_definition(content: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """What is wrong with a definition (rule C-2)."""
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        yield FieldProblem.required("spec")
        return
    name, group, names = content["metadata"].get("name", ""), spec.get("group", ""), spec.get("names") or {}
    if not group:
        yield FieldProblem.required("spec.group")
    elif text := check_name("subdomain", group):
        yield FieldProblem.invalid("spec.group", group, text)
    elif "." not in group:
        yield FieldProblem.invalid("spec.group", group, "should be a domain with at least one dot")
    elif _PROTECTED_GROUPS.fullmatch(group) and _APPROVAL not in (
        content["metadata"].get("annotations") or {}
    ):
        text = "protected groups must have approval annotation, see https://github.com/kubernetes/enhancements/pull/1111"
        yield FieldProblem.required(f"metadata.annotations[{_APPROVAL}]", text)
    if name != f"{names.get('plural', '')}.{group}":
        yield FieldProblem.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in {"Namespaced", "Cluster"}:
        yield FieldProblem.unsupported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    yield from _check_names(names)
    yield from _check_versions(_versions(content))


def check_definition_update(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """What an update of a definition must not do: take away a version that objects may be stored in."""
    names = {version.get("name") for version in _versions(new)}
    for index, version in enumerate((old.get("status") or {}).get("storedVersions") or ()):
        if version not in names:
            text = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
            )
            text += "spec.versions until a storage migration ensures no data remains persisted in it and removes it "
            text += "from status.storedVersions"
            yield FieldProblem.invalid(f"status.storedVersions[{index}]", version, text)


def served_by(content: Mapping[str, Any], *, every_version: bool = False) -> tuple[Served, ...]:
    """What a definition makes the server serve; nothing before its names are accepted.

    Args:
        content: The definition.
        every_version: Also those with ``served: false``, and whatever the conditions say: to clean up.
    """
    if not every_version and not _has_condition(content, "Established"):
        return ()
    spec = content["spec"]
    versions = _versions(content)
    storage = next((version["name"] for version in versions if version.get("storage")), "")
    names = spec["names"]
    common = Served(
        spec["group"],
        "v1",
        names["plural"],
        names["kind"],
        spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        is_custom=True,
        storage_version=storage,
        is_terminating="deletionTimestamp" in content["metadata"],
        traits=Traits(generation=True, unconditional_update=False),
    )
    return tuple(_served(common, version) for version in versions if version.get("served") or every_version)


def _served(common: Served, version: Mapping[str, Any]) -> Served:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    shape = custom_shape(schema)
    warning = ""
    if version.get("deprecated"):
        default = f"{common.group}/{version['name']} {common.kind} is deprecated"
        warning = version.get("deprecationWarning") or default
    return replace(
        common,
        version=version["name"],
        subresources=tuple(name for name in ("status", "scale") if name in subresources),
        printer_columns=tuple(
            PrinterColumn(
                column["name"],
                column.get("type", "string"),
                column["jsonPath"],
                column.get("description", ""),
                column.get("format", ""),
                column.get("priority", 0),
            )
            for column in version.get("additionalPrinterColumns") or ()
        ),
        schema=schema,
        scale=scale
        and ScalePaths(
            scale.get("specReplicasPath", ""),
            scale.get("statusReplicasPath", ""),
            scale.get("labelSelectorPath", ""),
        ),
        deprecation=warning,
        traits=replace(
            common.traits,
            fields=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
        ),
        shape=replace(shape, fields={**shape.fields, "metadata": METADATA}),
    )


def _versions(content: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    versions = (content.get("spec") or {}).get("versions")
    return (
        [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []
    )


def _has_condition(content: Mapping[str, Any], kind: str) -> bool:
    conditions = (content.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


def _collision(content: Mapping[str, Any], taken: Iterable[Served]) -> tuple[str, str]:
    """The reason and text of the first name that another resource of the group has; empty when all are free."""
    group, names = content["spec"].get("group", ""), content["spec"]["names"]
    others = [
        served
        for served in taken
        if served.group == group and f"{served.plural}.{group}" != content["metadata"].get("name")
    ]
    words = {word for served in others for word in (served.plural, served.singular, *served.short_names)}
    kinds = {kind for served in others for kind in (served.kind, served.list_kind)}
    claims: list[tuple[str, Any, set[str]]] = [
        ("PluralConflict", names.get("plural"), words),
        ("SingularConflict", names.get("singular"), words),
        *(("ShortNamesConflict", name, words) for name in names.get("shortNames") or ()),
        ("KindConflict", names.get("kind"), kinds),
        ("ListKindConflict", names.get("listKind"), kinds),
    ]
    for claim, name, used in claims:
        if name in used:
            return claim, f'"{name}" is already in use'
    return "", ""


def _check_names(names: Mapping[str, Any]) -> Iterator[FieldProblem]:
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field, "")
        if not isinstance(value, str) or not value:
            yield FieldProblem.required(f"spec.names.{field}")
        elif text := check_name("service", value.lower() if field.lower().endswith("kind") else value):
            yield FieldProblem.invalid(f"spec.names.{field}", value, text)
    for index, value in enumerate(names.get("shortNames") or ()):
        if text := check_name("service", value):
            yield FieldProblem.invalid(f"spec.names.shortNames[{index}]", value, text)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield FieldProblem.invalid(
            "spec.names.listKind", names["listKind"], "kind and listKind may not be the same"
        )


def _check_versions(versions: Sequence[Mapping[str, Any]]) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    if sum(bool(version.get("storage")) for version in versions) != 1:
        names = [version.get("name") for version in versions]
        yield FieldProblem.invalid(
            "spec.versions", names, "must have exactly one version marked as storage version"
        )
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        if text := check_name("service", name):
            yield FieldProblem.invalid(f"{path}.name", name, text)
        if name in seen:
            yield FieldProblem.invalid("spec.versions", name, "must contain unique version names")
        seen.add(name)
        yield from _check_version(version, path)


def _check_version(version: Mapping[str, Any], path: str) -> Iterator[FieldProblem]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not isinstance(schema, Mapping):
        yield FieldProblem.required(f"{path}.schema.openAPIV3Schema", "schemas are required")
    else:
        yield from check_structural(schema, f"{path}.schema.openAPIV3Schema")
    for place, column in enumerate(version.get("additionalPrinterColumns") or ()):
        here = f"{path}.additionalPrinterColumns[{place}]"
        for field in ("name", "jsonPath"):
            if not column.get(field):
                yield FieldProblem.required(f"{here}.{field}")
        if column.get("type") not in _COLUMN_TYPES:
            yield FieldProblem.unsupported(f"{here}.type", column.get("type", ""), _COLUMN_TYPES)
    if scale := (version.get("subresources") or {}).get("scale"):
        for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
            value = scale.get(field, "")
            if not value:
                yield FieldProblem.required(f"{path}.subresources.scale.{field}")
            elif not value.startswith(root):
                text = f"should be a json path under {root[:-1]}"
                yield FieldProblem.invalid(f"{path}.subresources.scale.{field}", value, text)
    if len(version.get("selectableFields") or ()) > 8:
        yield FieldProblem.too_many(f"{path}.selectableFields", len(version["selectableFields"]), 8)
