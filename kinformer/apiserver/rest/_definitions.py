"""Definitions: what the life of a custom resource definition makes of what is served (rules C-3 to C-5)."""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import (
    CLEANUP_FINALIZER,
    DEFINITIONS,
    Served,
    StatusError,
    prepare_definition,
    served_by,
    set_condition,
)
from kinformer.apiserver.rest._objects import Objects, decode
from kinformer.apiserver.rest._options import DeleteOptions, Target
from kinformer.apiserver.rest._strategy import timestamp
from kinformer.apiserver.storage import Change, KeyRange, KeyValue, StaleError

__all__ = ["Definitions", "is_definition"]


def is_definition(served: Served) -> bool:
    """Whether a resource is that of the definitions themselves."""
    return not served.is_custom and (served.group, served.version, served.plural) == DEFINITIONS


class Definitions:
    """Keeps the registry equal to the stored definitions, and ends a definition once its objects are gone.

    What is written here is served at once; what others write into the same storage, when ``follow`` hears of it. So each
    name has the revision that its entry comes from, and nothing older takes its place.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._revisions: dict[str, int] = {}

    async def load(self) -> None:
        """Serve what the storage holds, and nothing else."""
        found = await self._objects.kv.range(KeyRange.prefix(self._served.prefix()))
        for value in found.items:
            self.publish(decode(value), value.mod_revision)
        names = {self._name(value.key) for value in found.items}
        for name in self._revisions.keys() - names:
            self._remove(name, found.revision)

    def follow(self, change: Change) -> None:
        """Serve what a change of the storage says, where it is one of a definition that is not known yet."""
        if not change.key.startswith(self._served.prefix()):
            return
        if change.current is not None:
            self.publish(decode(change.current), change.revision)
        else:
            self._remove(self._name(change.key), change.revision)

    def prepare(self, content: dict[str, Any], now: datetime) -> None:
        """Fill in what the server adds to a definition, in place."""
        content["status"] = deepcopy(
            content.get("status") or {}
        )  # that of the stored object, which is compared with
        prepare_definition(content, taken=self._objects.registry.served(), now=timestamp(now))

    def publish(self, content: dict[str, Any], revision: int) -> None:
        """Serve what a definition says, now that it is stored; unless something newer is served."""
        name = content["metadata"]["name"]
        if revision > self._revisions.get(name, 0):
            self._revisions[name] = revision
            self._objects.registry.put_custom(name, served_by(content))

    async def store(self, served: Served, key: str, content: dict[str, Any], *, expected: int) -> KeyValue:
        """Write an object; a definition is served from then on.

        Raises:
            StaleError: Somebody was faster.
        """
        encoded = StoredObject.encode(content)
        if not is_definition(served):
            return await self._objects.kv.put(key, encoded, expected=expected)
        with self._objects.unbroken():
            value = await self._objects.kv.put(key, encoded, expected=expected)
            self.publish(content, value.mod_revision)
        return value

    async def remove(self, served: Served, value: KeyValue) -> int:
        """Take an object away, and do what follows from it: a definition may go, or may wait for its last object.

        Returns:
            The revision of the removal.

        Raises:
            StaleError: Somebody was faster.
        """
        if not (served.is_custom or is_definition(served)):
            return await self._delete(value)
        with self._objects.unbroken():
            revision = await self._delete(value)
            if served.is_custom:
                await self._finish(served)
            else:
                await self._withdraw(value.key.removeprefix(served.prefix()), revision)
        return revision

    async def _delete(self, value: KeyValue) -> int:
        change = await self._objects.kv.delete(value.key, expected=value.mod_revision)
        assert change is not None  # noqa: S101 -- a missing key would have been stale
        return change.revision

    def _remove(self, name: str, revision: int) -> None:
        if revision > self._revisions.get(name, 0):
            self._revisions[name] = revision
            self._objects.registry.remove_custom(name)

    def _name(self, key: str) -> str:
        return key.removeprefix(self._served.prefix())

    async def _withdraw(self, name: str, revision: int) -> None:
        """Serve it no longer, now that it is gone, and let those have its names that waited for them (rule C-4)."""
        self._remove(name, revision)
        for value in (await self._objects.kv.range(KeyRange.prefix(self._served.prefix()))).items:
            content = decode(value)
            before = deepcopy(content)
            self.prepare(content, self._objects.clock.now())
            if content == before:
                continue
            try:
                stored = await self._objects.kv.put(
                    value.key, StoredObject.encode(content), expected=value.mod_revision
                )
            except StaleError:
                continue  # whoever came in between has decided on the same names
            self.publish(content, stored.mod_revision)

    def mark(self, content: dict[str, Any], now: datetime) -> None:
        """Note in a definition that is being deleted what is being waited for, in place."""
        text = "CustomResource deletion is pending"
        set_condition(content, "Terminating", True, "InstanceDeletionPending", text, timestamp(now))

    async def sweep(
        self, content: dict[str, Any], delete: Callable[[Target, DeleteOptions], Awaitable[object]]
    ) -> None:
        """Delete all objects of a definition that is being deleted, and the definition once none is left."""
        custom = served_by(content, every_version=True)[0]
        found = await self._objects.kv.range(KeyRange.prefix(custom.prefix()))
        for value in found.items:
            namespace, _, name = value.key.removeprefix(custom.prefix()).rpartition("/")
            try:
                await delete(Target(custom, namespace, name), DeleteOptions())
            except StatusError as error:
                if error.code != 404:  # somebody else was faster: gone is gone
                    raise
        await self._finish(custom)

    async def _finish(self, custom: Served) -> None:
        """Remove the definition of a resource if it is being deleted and nothing of it is left."""
        served, name = self._served, f"{custom.plural}.{custom.group}"
        while True:
            value = await self._objects.kv.get(served.key("", name))
            if value is None:
                return
            content = decode(value)
            finalizers = content["metadata"].get("finalizers") or []
            if "deletionTimestamp" not in content["metadata"] or CLEANUP_FINALIZER not in finalizers:
                return
            if (await self._objects.kv.range(KeyRange.prefix(custom.prefix()), count_only=True)).count:
                return
            finalizers.remove(CLEANUP_FINALIZER)
            now = timestamp(self._objects.clock.now())
            text = "removed all instances"
            set_condition(content, "Terminating", False, "InstanceDeletionCompleted", text, now)
            try:
                if finalizers:
                    await self._objects.kv.put(
                        value.key, StoredObject.encode(content), expected=value.mod_revision
                    )
                else:
                    await self._withdraw(name, await self._delete(value))
            except StaleError:
                continue
            return

    @property
    def _served(self) -> Served:
        found = self._objects.registry.find(*DEFINITIONS)
        assert found is not None  # noqa: S101 -- a built-in kind
        return found
