"""Housekeeping: the task that follows the storage and does what the pure loops decide."""

import logging
import math
from contextlib import suppress
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import TaskStatus

from kinformer.apiserver.loops._actions import (
    Action,
    CreateAccount,
    Delete,
    Detach,
    FinalizeNamespace,
    ReleaseFinalizer,
    Unblock,
)
from kinformer.apiserver.loops._namespaces import NamespaceLedger
from kinformer.apiserver.loops._nodes import Node, read_node
from kinformer.apiserver.loops._owners import OwnerGraph, Scope
from kinformer.apiserver.registry import Registry, StatusError
from kinformer.apiserver.rest import DeleteOptions, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import KV, Batch, CompactedError, KeyRange, UnavailableError
from kinformer.clock import Clock

__all__ = ["Housekeeping"]

_log = logging.getLogger("kinformer.apiserver")

_KEYS: Final = KeyRange.prefix("/registry/")
_RETRY: Final = 1.0
"""Seconds until an action that failed for no good reason is tried again."""
_OUTDATED: Final = {404, 409}
"""Answers that say that the object is no longer what the decision was made for: its next event is under way."""
_TERMINATING: Final = 403
"""The answer to whoever creates something in a namespace that has begun to go."""
_OPTIONS: Final = WriteOptions(field_manager="kinformer-housekeeping")


class Housekeeping:
    """What a cluster does by itself: the lifecycle of namespaces, and garbage collection by owner references.

    One watch over the whole storage feeds two pure decision makers, and what they decide is done through the verbs,
    with preconditions, as any client would do it.

    Args:
        kv: The storage to follow.
        registry: Tells what lies where.
        verbs: Does the work.
        clock: Measures the pause before a retry.
        has_accounts: Whether each namespace gets a ServiceAccount ``default``.
    """

    def __init__(
        self, kv: KV, registry: Registry, verbs: Verbs, *, clock: Clock, has_accounts: bool = False
    ) -> None:
        self._kv = kv
        self._registry = registry
        self._verbs = verbs
        self._clock = clock
        self._nodes: dict[str, Node] = {}
        self._owners = OwnerGraph(self._scope_of)
        self._has_accounts = has_accounts
        self._namespaces = NamespaceLedger(has_accounts=has_accounts)
        self._failed: list[Node] = []
        self._generation = -1
        self._has_begun = False
        self._is_waiting = False

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Work until cancelled; ``started()`` once everything in the storage has been looked at.

        Raises:
            UnavailableError: The storage cannot be read at the beginning. Later it is waited for.
        """
        while True:
            try:
                await self._follow(await self._begin(), task_status)
            except CompactedError as error:
                _log.warning("housekeeping fell behind and starts over: %s", error)
            except UnavailableError as error:
                if not self._has_begun:
                    raise
                if not self._is_waiting:
                    _log.warning("housekeeping waits for the storage: %s", error)
                self._is_waiting = True
                await self._clock.sleep(_RETRY)

    async def _begin(self) -> int:
        """Read everything; gives the revision that was read."""
        present = await self._kv.range(_KEYS)
        self._nodes.clear()
        self._owners = OwnerGraph(self._scope_of)
        self._namespaces = NamespaceLedger(has_accounts=self._has_accounts)
        await self._verbs.reload()
        for item in present.items:
            self._put(item.key, item.value)
        return present.revision

    async def _follow(self, revision: int, task_status: TaskStatus[None]) -> None:
        async with self._kv.watch(_KEYS, revision + 1) as watch:
            await self._work()
            if not self._has_begun:
                self._has_begun = True
                task_status.started()
            self._is_waiting = False
            while True:
                with self._clock.move_on_after(_RETRY if self._failed else math.inf) as pause:
                    self._apply(await anext(watch))
                if pause.cancelled_caught:
                    self._concern_failed()
                await self._work()

    def _apply(self, batch: Batch) -> None:
        for change in batch.changes:
            with suppress(msgspec.DecodeError):  # of which a line is written below
                self._verbs.follow(change)
            if change.current is not None:
                self._put(change.key, change.current.value)
            else:
                self._remove(change.key)

    def _put(self, place: str, value: bytes) -> None:
        try:
            node = read_node(place, value)
        except msgspec.DecodeError:
            _log.warning("what lies at %s is no object", place)
            return
        before = self._nodes.get(place)
        if before is not None and before.uid != node.uid:
            self._remove(place)
        if before != node:
            self._nodes[place] = node
            self._owners.put(node)
            self._namespaces.put(node)

    def _remove(self, place: str) -> None:
        node = self._nodes.pop(place, None)
        if node is not None:
            self._owners.remove(place)
            self._namespaces.remove(node)

    def _concern_failed(self) -> None:
        failed, self._failed = self._failed, []
        for node in failed:
            self._owners.concern(node.place)
            self._namespaces.concern(node)

    def _scope_of(self, api_version: str, kind: str) -> Scope:
        served = self._registry.find_kind(api_version, kind)
        if served is None:
            return Scope.UNKNOWN
        return Scope.NAMESPACED if served.namespaced else Scope.CLUSTER

    async def _work(self) -> None:
        """Do all that is decided; what fails is kept for later."""
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._owners.concern_all()
        for action in [*self._owners.decide(), *self._namespaces.decide()]:
            try:
                await self._perform(action)
            except StatusError as error:
                if error.code not in _OUTDATED:
                    _log.warning("housekeeping could not %s: %s", type(action).__name__, error.message)
                    self._failed.append(action.node)
            except UnavailableError as error:
                _log.warning("housekeeping could not %s: %s", type(action).__name__, error)
                self._failed.append(action.node)

    async def _perform(self, action: Action) -> None:
        found = self._registry.locate(action.node.place)
        if found is None:
            return  # its kind is not served any more
        served, namespace, name = found
        target = Target(served, namespace, name)
        if isinstance(action, Delete):
            await self._verbs.delete(
                target, DeleteOptions(propagation=action.propagation, uid=action.node.uid)
            )
            return
        if isinstance(action, CreateAccount):
            await self._create_account(name)
            return
        content = dict((await self._verbs.get(target)).content)
        if content["metadata"].get("uid") != action.node.uid:
            return
        if isinstance(action, FinalizeNamespace):
            target = Target(served, namespace, name, "finalize")
            spec = content.get("spec") or {}
            content["spec"] = {**spec, "finalizers": _without(spec, "kubernetes")}
        else:
            content["metadata"] = _changed(content["metadata"], action)
        await self._verbs.update(target, content, _OPTIONS)

    async def _create_account(self, namespace: str) -> None:
        accounts = self._registry.find("", "v1", "serviceaccounts")
        assert accounts is not None  # noqa: S101 -- a built-in kind
        content = {"metadata": {"name": "default"}}
        try:
            await self._verbs.create(Target(accounts, namespace), content, _OPTIONS)
        except StatusError as error:
            if error.code != _TERMINATING:
                raise


def _changed(metadata: dict[str, Any], action: Detach | Unblock | ReleaseFinalizer) -> dict[str, Any]:
    owners = metadata.get("ownerReferences") or []
    match action:
        case Detach(_, uids):
            return {
                **metadata,
                "ownerReferences": [owner for owner in owners if owner.get("uid") not in uids],
            }
        case Unblock():
            return {
                **metadata,
                "ownerReferences": [{**owner, "blockOwnerDeletion": False} for owner in owners],
            }
        case ReleaseFinalizer(_, finalizer):
            return {**metadata, "finalizers": _without(metadata, finalizer)}


def _without(parent: dict[str, Any], finalizer: str) -> list[Any]:
    return [one for one in parent.get("finalizers") or [] if one != finalizer]
