"""Applier: server-side apply. Rules P-7 to P-15.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from collections.abc import Mapping
from typing import Any, Final

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import (
    FieldProblem,
    StatusError,
    bad_request,
    conflict,
    invalid_options,
    not_found,
)
from kinformer.apiserver.rest._field_paths import Paths, compare, field_set, spelled
from kinformer.apiserver.rest._intake import drop_empty
from kinformer.apiserver.rest._merging import lay_over, remove_paths
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.rest._options import Target, WriteOptions
from kinformer.apiserver.rest._ownership import (
    Manager,
    Owned,
    compare_owned,
    read_owners,
    visible,
    without,
    write_owners,
)
from kinformer.apiserver.rest._strategy import timestamp
from kinformer.apiserver.rest._writing import Writer

__all__ = ["Applier"]

_BEFORE_FIRST: Final = "before-first-apply"

Content = dict[str, Any]


class Applier:
    """Makes objects what their managers say, and remembers who said what."""

    def __init__(self, objects: Objects, writer: Writer) -> None:
        self._objects = objects
        self._writer = writer

    async def apply(self, target: Target, config: Any, options: WriteOptions) -> tuple[StoredObject, bool]:
        """Apply a configuration; the flag tells whether the object is new."""
        _check(target, config, options)
        claims = self._claims(target, config)
        while True:
            if await self._objects.find(target) is not None:
                try:
                    return await self._change(target, config, claims, options), False
                except StatusError as error:
                    if error.code != 404 or await self._objects.find(target) is not None:
                        raise
            if target.subresource:
                raise not_found(target.served, target.name)
            if uid := config["metadata"].get("uid"):
                text = (
                    f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                )
                raise conflict(target.served, target.name, text)
            try:
                return await self._create(target, config, claims, options), True
            except StatusError as error:
                if error.reason != "AlreadyExists" or await self._objects.find(target) is None:
                    raise

    async def _create(
        self, target: Target, config: Content, claims: Paths, options: WriteOptions
    ) -> StoredObject:
        def track(_: Mapping[str, Any] | None, new: Content) -> None:
            owned = Owned(claims, target.served.api_version, self._now())
            write_owners(new["metadata"], {self._manager(target, options): owned})

        return await self._writer.create(target, config, options, track)

    async def _change(
        self, target: Target, config: Content, claims: Paths, options: WriteOptions
    ) -> StoredObject:
        served, manager = target.served, self._manager(target, options)

        def make(live: Content) -> Content:
            owners = _owners(target, live, self._now())
            before = owners[manager].paths if manager in owners else frozenset()
            others = {other: owned for other, owned in owners.items() if other != manager}
            merged = lay_over(live, _stripped(target, config), served.shape)
            shown = visible(served, merged, target.subresource)
            kept = claims.union(*(owned.paths for owned in others.values()))
            pruned = remove_paths(shown, _unwanted(before - claims, kept), served.shape, held=kept)
            merged = _replaced(merged, shown, pruned)
            if not served.is_custom:
                drop_empty(merged)
            contested = _contested(target, live, merged, others)
            if contested and not options.force:
                raise _conflict(contested)
            return merged

        def track(live: Mapping[str, Any] | None, new: Content) -> None:
            assert live is not None  # noqa: S101 -- a change has something to change
            owners = _owners(target, live, self._now())
            difference = compare_owned(served, live, new, target.subresource)
            taken = frozenset().union(*_contested(target, live, new, owners).values())
            owners = without(owners, taken | difference.removed, spare=manager)
            old = owners.get(manager)
            is_new = old is None or old.paths != claims
            owners[manager] = Owned(
                claims, served.api_version, self._now() if is_new or old is None else old.time
            )
            write_owners(new["metadata"], {each: owned for each, owned in owners.items() if owned.paths})

        return await self._writer.change(target, make, options, track)

    def _claims(self, target: Target, config: Content) -> Paths:
        """The fields that the configuration has an opinion on, as far as they can be owned here."""
        shown = visible(target.served, _stripped(target, config), target.subresource)
        if not shown.get("metadata", True):
            del shown["metadata"]
        return field_set(shown, target.served.shape) - {()}

    def _manager(self, target: Target, options: WriteOptions) -> Manager:
        return Manager(options.field_manager, "Apply", "", target.subresource)

    def _now(self) -> str:
        return timestamp(self._objects.clock.now())


def _check(target: Target, config: Any, options: WriteOptions) -> None:
    """Rule P-7."""
    served = target.served
    if not options.field_manager:
        raise invalid_options(
            "PatchOptions", [FieldProblem.required("fieldManager", "is required for apply patch")]
        )
    if not isinstance(config, dict) or not isinstance(config.get("metadata", {}), dict):
        raise bad_request("an apply patch must be an object with metadata")
    if config.get("kind") != served.kind:
        raise bad_request(f"invalid object type: {config.get('kind')!r} is not {served.kind}")
    if config.get("apiVersion") != served.api_version:
        raise bad_request(
            "Incorrect version specified in apply patch. Specified patch version: "
            f"{config.get('apiVersion')}, expected: {served.api_version}"
        )
    metadata = config.setdefault("metadata", {})
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    metadata.pop("managedFields", None)
    if metadata.setdefault("name", target.name) != target.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        )


def _stripped(target: Target, config: Content) -> Content:
    """The configuration without what the endpoint resets anyway (rule P-10)."""
    if target.subresource == "status":
        wanted = {"kind", "apiVersion", "status"}
        return {**{key: value for key, value in config.items() if key in wanted}, "metadata": {}}
    return {key: value for key, value in config.items() if key != "status" or not target.served.has_status}


def _owners(target: Target, live: Mapping[str, Any], now: str) -> dict[Manager, Owned]:
    """Who owns what; an object that nobody tracked belongs to ``before-first-apply`` (rule P-12.1)."""
    owners = read_owners(live["metadata"])
    if owners:
        return owners
    served = target.served
    shown = visible(served, live, target.subresource)
    paths = compare({}, shown, served.shape).added
    first = Manager(_BEFORE_FIRST, "Update", served.api_version, target.subresource)
    return {first: Owned(paths, served.api_version, now)} if paths else {}


def _unwanted(candidates: Paths, kept: Paths) -> Paths:
    """The paths that nobody wants any more: neither they nor anything in them (rule P-12.4)."""
    wanted = {path[:depth] for path in kept for depth in range(1, len(path) + 1)}
    return frozenset(path for path in candidates if path not in wanted)


def _replaced(merged: Content, shown: Content, pruned: Content) -> Content:
    """The whole object again, with what could be seen of it replaced by what is left of that."""
    whole = {
        key: value for key, value in merged.items() if key == "metadata" or key not in shown or key in pruned
    }
    whole |= {key: value for key, value in pruned.items() if key != "metadata"}
    if "metadata" in shown:
        gone = set(shown["metadata"]) - set(pruned.get("metadata", {}))
        hidden = {key: value for key, value in merged["metadata"].items() if key not in gone}
        whole["metadata"] = {**hidden, **pruned.get("metadata", {})}
    return whole


def _contested(
    target: Target, live: Mapping[str, Any], new: Content, others: Mapping[Manager, Owned]
) -> dict[Manager, Paths]:
    """What would be taken from whom: their fields whose value is another now (rule P-12.5)."""
    difference = compare_owned(target.served, live, new, target.subresource)
    written = difference.added | difference.changed
    found = {manager: owned.paths & written for manager, owned in others.items()}
    return {manager: paths for manager, paths in found.items() if paths}


def _conflict(contested: Mapping[Manager, Paths]) -> StatusError:
    """Rule P-13."""
    causes = []
    groups = []
    for manager in sorted(contested, key=lambda each: (each.name, each.api_version, each.subresource)):
        words = f'"{manager.name}"'
        words += f' with subresource "{manager.subresource}"' if manager.subresource else ""
        words += f" using {manager.api_version}" if manager.operation == "Update" else ""
        fields = sorted(spelled(path) for path in contested[manager])
        causes += [
            {"reason": "FieldManagerConflict", "message": f"conflict with {words}", "field": field}
            for field in fields
        ]
        groups.append((words, fields))
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        listed = "\n".join(
            f"conflicts with {words}:\n" + "\n".join(f"- {f}" for f in fields) for words, fields in groups
        )
        text = f"Apply failed with {len(causes)} conflicts: {listed}"
    return StatusError(409, "Conflict", text, details={"causes": causes})
