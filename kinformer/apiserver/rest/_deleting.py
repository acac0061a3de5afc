"""Deleter: delete and deletecollection. Rules W-16 to W-24, N-1, N-2, C-5."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import (
    CLEANUP_FINALIZER,
    Served,
    StatusError,
    conflict,
    forbidden,
    method_not_allowed,
    not_found,
)
from kinformer.apiserver.rest._definitions import Definitions, is_definition
from kinformer.apiserver.rest._objects import Objects, decode
from kinformer.apiserver.rest._options import DeleteOptions, Listing, ListOptions, Propagation, Target
from kinformer.apiserver.rest._reading import Reader
from kinformer.apiserver.rest._strategy import timestamp
from kinformer.apiserver.storage import KeyValue, StaleError

__all__ = ["Deleter"]

_GC_FINALIZERS: Final[Mapping[Propagation, str]] = {
    "Foreground": "foregroundDeletion",
    "Orphan": "orphan",
}
_PROTECTED: Final = {"default", "kube-system", "kube-public"}
_JOB_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)

Content = dict[str, Any]


class Deleter:
    """Takes objects away, or marks them where somebody has to be waited for."""

    def __init__(self, objects: Objects, definitions: Definitions, reader: Reader) -> None:
        self._objects = objects
        self._definitions = definitions
        self._reader = reader

    async def delete(self, target: Target, options: DeleteOptions) -> StoredObject | Content:
        """Delete an object: gives a Status, or the object where the kind answers so or it goes on living."""
        served = target.served
        while True:
            value = await self._objects.find(target)
            if value is None:
                raise not_found(served, target.name)
            old = decode(value)
            _check_preconditions(served, old["metadata"], options)
            _check_namespace(served, old)
            new = self._marked(served, old, options)
            try:
                if _has_to_wait(served, new):
                    return await self._mark(target, value, old, new, options)
                return await self._remove(target, value, new, options)
            except StaleError:
                continue

    async def delete_collection(self, target: Target, options: ListOptions, delete: DeleteOptions) -> Listing:
        """Delete all that match, one after the other (rule W-24); gives what was matched."""
        if "deletecollection" not in target.served.verbs:
            raise method_not_allowed(target.served, "deletecollection", is_custom=target.served.is_custom)
        found = await self._reader.list(target, options)
        for item in found.items:
            metadata = item.content["metadata"]
            one = replace(target, namespace=metadata.get("namespace", ""), name=metadata["name"])
            try:
                await self.delete(one, delete)
            except StatusError as error:
                if error.code != 404:  # somebody else was faster: gone is gone
                    raise
        return found

    def _marked(self, served: Served, old: Content, options: DeleteOptions) -> Content:
        """The object with its deletion written into it."""
        now = self._objects.clock.now()
        metadata = dict(old["metadata"])
        metadata.pop("resourceVersion", None)
        finalizers = _finalizers(served, metadata.get("finalizers") or [], options)
        if is_definition(served) and "deletionTimestamp" not in metadata:
            finalizers.append(CLEANUP_FINALIZER)
        metadata.pop("finalizers", None)
        if finalizers:
            metadata["finalizers"] = finalizers
        grace = _grace(served, old, options)
        is_first = "deletionTimestamp" not in metadata
        if is_first and metadata.get("generation"):
            metadata["generation"] += 1
        if is_first or grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
            metadata["deletionGracePeriodSeconds"] = grace
        new = {**old, "metadata": metadata}
        if served.plural == "namespaces" and served.group == "":
            new["status"] = {**new.get("status", {}), "phase": "Terminating"}
        if is_definition(served) and is_first:
            new["status"] = {**new.get("status", {}), "conditions": list(new["status"].get("conditions", ()))}
            self._definitions.mark(new, now)
        return new

    async def _mark(
        self, target: Target, value: KeyValue, old: Content, new: Content, options: DeleteOptions
    ) -> StoredObject:
        served = target.served
        old["metadata"].pop("resourceVersion")
        if options.dry_run:
            return StoredObject.of(new, value.mod_revision)
        with self._objects.unbroken() if is_definition(served) else nullcontext():
            if new != old:
                value = await self._definitions.store(served, value.key, new, expected=value.mod_revision)
            if is_definition(served):
                await self._definitions.sweep(new, self.delete)
        return self._objects.view(served, value)

    async def _remove(
        self, target: Target, value: KeyValue, new: Content, options: DeleteOptions
    ) -> StoredObject | Content:
        served, version = target.served, value.mod_revision
        if not options.dry_run:
            is_pod = served.plural == "pods" and served.group == ""
            with self._objects.unbroken() if is_pod else nullcontext():
                # The real server marks a pod before it removes it, and watchers see both (rule W-21).
                if is_pod and value.value != StoredObject.encode(new):
                    value = await self._definitions.store(served, value.key, new, expected=value.mod_revision)
                version = await self._definitions.remove(served, value)
        if served.traits.returns_deleted:
            return StoredObject.of({**new, "apiVersion": served.api_version}, version)
        details = {
            "name": target.name,
            "group": served.group,
            "kind": served.plural,
            "uid": new["metadata"]["uid"],
        }
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: text for key, text in details.items() if text},
        }


def _check_preconditions(served: Served, metadata: Content, options: DeleteOptions) -> None:
    """Rule W-17."""
    name = metadata["name"]
    if options.uid and options.uid != metadata["uid"]:
        text = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(served, name, text, subject=served.kind)
    if options.version and options.version != metadata["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise conflict(served, name, text, subject=served.kind)


def _check_namespace(served: Served, old: Content) -> None:
    """Rules N-1 and N-2."""
    if served.plural != "namespaces" or served.group:
        return
    name = old["metadata"]["name"]
    if name in _PROTECTED:
        raise forbidden(served, name, "this namespace may not be deleted")
    if "deletionTimestamp" in old["metadata"] and (old.get("spec") or {}).get("finalizers"):
        text = (
            "The system is ensuring all content is removed from this namespace.  Upon completion, this namespace will "
            "automatically be purged by the system."
        )
        raise conflict(served, name, text)


def _finalizers(served: Served, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """What is left to wait for, given how dependents are to be treated (rule W-18)."""
    propagation = options.propagation
    if propagation is None and served.traits.orphans_by_default and not _has_gc_finalizer(finalizers):
        propagation = "Orphan"
        if served.plural == "jobs":
            options.warn(_JOB_WARNING)
    if propagation is None:
        return list(finalizers)
    others = [name for name in finalizers if name not in _GC_FINALIZERS.values()]
    return [*others, _GC_FINALIZERS[propagation]] if propagation in _GC_FINALIZERS else others


def _has_gc_finalizer(finalizers: list[str]) -> bool:
    return any(name in finalizers for name in _GC_FINALIZERS.values())


def _grace(served: Served, old: Content, options: DeleteOptions) -> int:
    """Seconds that the object gets; only a pod that runs somewhere gets any (rule W-21)."""
    if served.plural != "pods" or served.group:
        return 0
    spec, phase = old.get("spec") or {}, (old.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in {"Succeeded", "Failed"}:
        return 0
    grace = options.grace_period
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", 30)
    return grace if grace >= 0 else 1


def _has_to_wait(served: Served, new: Content) -> bool:
    metadata = new["metadata"]
    is_held = served.plural == "namespaces" and not served.group and (new.get("spec") or {}).get("finalizers")
    return bool(metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or is_held)
