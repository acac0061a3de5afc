"""Ownership: ``managedFields``, which says who set what (rules P-8 and P-11).

Pure: objects in, objects out. The rules are those of ``apimachinery/pkg/util/managedfields``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from kinformer.apiserver.registry import Served
from kinformer.apiserver.rest._field_paths import Difference, Paths, compare, from_fields_v1, to_fields_v1

__all__ = [
    "Manager",
    "Owned",
    "Owners",
    "compare_owned",
    "read_owners",
    "track_update",
    "visible",
    "write_owners",
]

_MOST_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"
_SYSTEM: Final = frozenset(
    [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ]
)


class Manager(NamedTuple):
    """Who: two entries of one name are two managers where the operation or the subresource differs.

    ``api_version`` belongs to the identity of an updater only; it is ``""`` for ``Apply``.
    """

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """What a manager owns, written in which version, and when it last gained something."""

    paths: Paths
    api_version: str
    time: str


Owners = Mapping[Manager, Owned]


def visible(served: Served, content: Mapping[str, Any], subresource: str) -> dict[str, Any]:
    """The part of an object that can be owned through an endpoint: what it does not set by itself or reset."""
    if subresource == "status":
        return {"status": content["status"]} if "status" in content else {}
    hidden = {"apiVersion", "kind", *(("status",) if served.has_status else ())}
    shown = {key: value for key, value in content.items() if key not in hidden}
    shown["metadata"] = {key: value for key, value in content["metadata"].items() if key not in _SYSTEM}
    return shown


def compare_owned(
    served: Served, old: Mapping[str, Any], new: Mapping[str, Any], subresource: str
) -> Difference:
    """How two objects differ in what can be owned."""
    return compare(visible(served, old, subresource), visible(served, new, subresource), served.shape)


def read_owners(metadata: Mapping[str, Any]) -> dict[Manager, Owned] | None:
    """What ``managedFields`` says; ``None`` where it is absent or cannot be read."""
    if "managedFields" not in metadata:
        return None
    owners: dict[Manager, Owned] = {}
    try:
        for entry in metadata["managedFields"]:
            operation, api_version = entry["operation"], entry.get("apiVersion", "")
            own_version = api_version if operation == "Update" else ""
            manager = Manager(entry["manager"], operation, own_version, entry.get("subresource", ""))
            owners[manager] = Owned(
                from_fields_v1(entry.get("fieldsV1") or {}), api_version, entry.get("time", "")
            )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return owners


def write_owners(metadata: dict[str, Any], owners: Owners) -> None:
    """Write ``managedFields`` in the order of rule P-8; nobody leaves it out."""
    entries = []
    for manager, owned in sorted(
        owners.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time,
            item[0].name,
            item[1].api_version,
            item[0].subresource,
        ),
    ):
        entry: dict[str, Any] = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(owned.paths),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    metadata.pop("managedFields", None)
    if entries:
        metadata["managedFields"] = entries


def track_update(
    served: Served,
    old: Mapping[str, Any] | None,
    new: dict[str, Any],
    manager: Manager,
    now: str,
) -> None:
    """Credit what a write other than an apply has set, and write it into ``new`` (rule P-11).

    Args:
        served: The kind, in the version of the request.
        old: The stored object; ``None`` for a create.
        new: The object to be stored; the ``managedFields`` that it holds, if any, are the base.
        manager: Who writes.
        now: The time to note.
    """
    if new["metadata"].get("managedFields") in ([], [{}]):  # the documented way to reset the tracking
        del new["metadata"]["managedFields"]
        return
    before = read_owners(old["metadata"]) if old else {}
    owners = read_owners(new["metadata"])
    owners = before if owners is None else owners
    if owners is None:
        new["metadata"].pop("managedFields", None)
        return
    baseline: Mapping[str, Any] = old or {"metadata": {}}
    difference = compare_owned(served, baseline, new, manager.subresource)
    write_owners(new["metadata"], _limited(_credited(owners, difference, manager, served.api_version, now)))


def without(owners: Owners, paths: Paths, *, spare: Manager | None = None) -> dict[Manager, Owned]:
    """The owners after these paths were taken from all of them, save one; who owns nothing is gone."""
    kept = {
        manager: owned if manager == spare else replace(owned, paths=owned.paths - paths)
        for manager, owned in owners.items()
    }
    return {manager: owned for manager, owned in kept.items() if owned.paths}


def _credited(
    owners: Owners, difference: Difference, manager: Manager, api_version: str, now: str
) -> dict[Manager, Owned]:
    written = difference.added | difference.changed
    kept = without(owners, written | difference.removed)
    before = owners[manager].paths if manager in owners else frozenset()
    paths = (before | written) - difference.removed
    if paths:
        gained = paths - before
        kept[manager] = Owned(paths, api_version, now if gained else owners[manager].time)
    return kept


def _limited(owners: dict[Manager, Owned]) -> dict[Manager, Owned]:
    """Merge the oldest updaters of one version into one, once there are too many."""
    updaters = sorted((m for m in owners if m.operation == "Update"), key=lambda m: owners[m].time)
    for manager in updaters[: max(0, len(updaters) - _MOST_UPDATERS)]:
        owned = owners.pop(manager)
        ancient = Manager(_ANCIENT, "Update", owned.api_version, manager.subresource)
        merged: Iterable[Owned] = [owners[ancient]] if ancient in owners else []
        owners[ancient] = replace(owned, paths=owned.paths.union(*(other.paths for other in merged)))
    return owners
