"""Writer: create and update. Rules W-1 to W-14 and W-23."""

import uuid
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import (
    FieldProblem,
    Served,
    StatusError,
    already_exists,
    bad_request,
    check_types,
    conflict,
    forbidden,
    generate_name,
    invalid,
    not_found,
    shape_custom,
)
from kinformer.apiserver.rest._definitions import Definitions, is_definition
from kinformer.apiserver.rest._intake import take_in
from kinformer.apiserver.rest._objects import Objects, decode
from kinformer.apiserver.rest._options import Target, WriteOptions
from kinformer.apiserver.rest._ownership import Manager, track_update
from kinformer.apiserver.rest._strategy import bump_generation, for_create, for_update, timestamp
from kinformer.apiserver.rest._validation import check_object
from kinformer.apiserver.storage import KeyValue, StaleError

__all__ = ["Tracking", "Writer", "manager_of"]

_ATTEMPTS: Final = 8
"""How often a name is generated before the server gives up (rule W-7)."""

Content = dict[str, Any]
Tracking = Callable[[Mapping[str, Any] | None, Content], None]
"""Writes ``managedFields`` into the second, given what was stored before."""


class Writer:
    """Stores what clients send: decides in plain functions, then compares and puts.

    Between the read of a stored object and the put stands the revision: when another write came in between, the put
    fails and everything is decided again on what is there now.
    """

    def __init__(self, objects: Objects, definitions: Definitions, *, random: Random) -> None:
        self._objects = objects
        self._definitions = definitions
        self._random = random

    async def create(
        self, target: Target, sent: Content, options: WriteOptions, track: Tracking | None = None
    ) -> StoredObject:
        """Create an object of what was sent; ``track`` replaces the usual crediting of fields."""
        served = target.served
        content = take_in(target, sent)
        check_types(served, content)
        metadata = content["metadata"]
        if metadata.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        await self._admit(target, metadata.get("name") or metadata.get("generateName", ""))
        prefix = "" if metadata.get("name") else metadata.get("generateName", "")
        track = track or self._tracking(target, options)
        for _ in range(_ATTEMPTS):
            if prefix:
                metadata["name"] = generate_name(prefix, self._random)
            new = self._created(served, content, options)
            track(None, new)
            check_object(served, target.subresource, None, new)
            options.check(None, new)
            name = new["metadata"]["name"]
            if options.dry_run:
                return StoredObject.of(new)
            try:
                value = await self._put(served, served.key(target.namespace, name), new, expected=0)
            except StaleError as error:
                if prefix:
                    continue
                existing = decode(error.current) if error.current else {"metadata": {}}
                is_deleting = "deletionTimestamp" in existing["metadata"]
                raise already_exists(served, name, is_deleting=is_deleting) from error
            return self._objects.view(served, value)
        error_ = already_exists(served, metadata["name"])
        text = f"{error_.message}, the server was not able to generate a unique name for the object"
        raise StatusError(409, "AlreadyExists", text, details=error_.details, retry_after=1)

    async def update(self, target: Target, sent: Content, options: WriteOptions) -> tuple[StoredObject, bool]:
        """Replace an object, or the part of it that a subresource stands for; the flag tells whether it is new."""
        content = take_in(target, sent)
        is_conditional = bool(content["metadata"].get("resourceVersion"))

        def replaced(stored: Content) -> Content:  # noqa: ARG001 -- whatever is stored, but something must be
            if not is_conditional and not target.served.traits.unconditional_update:
                text = "must be specified for an update"
                problem = FieldProblem.invalid("metadata.resourceVersion", 0, text)
                raise invalid(target.served, target.name, [problem])
            return content

        try:
            return await self.change(target, replaced, options), False
        except StatusError as error:
            is_missing = error.code == 404 and await self._objects.find(target) is None
            if not (is_missing and target.served.traits.create_on_update and not target.subresource):
                raise
        content["metadata"].pop("resourceVersion", None)
        return await self.create(target, content, options), True

    async def change(
        self,
        target: Target,
        make: Callable[[Content], Content],
        options: WriteOptions,
        track: Tracking | None = None,
    ) -> StoredObject:
        """Store what ``make`` makes of the stored object, again and again until nobody else came in between.

        Args:
            target: The object, and the endpoint that it is changed through.
            make: Pure; gets a private copy of the object with its resourceVersion.
            options: How to write.
            track: Replaces the usual crediting of fields.
        """
        while True:
            value = await self._objects.find(target)
            if value is None:
                raise not_found(target.served, target.name)
            sent = make(self._shown(target.served, value))
            old = self._shown(target.served, value)
            new = self._changed(target, old, sent, options, track or self._tracking(target, options))
            try:
                return await self._commit(target, value, old, new, options)
            except StaleError:
                continue

    async def _commit(
        self, target: Target, value: KeyValue, old: Content, new: Content, options: WriteOptions
    ) -> StoredObject:
        served = target.served
        if _is_same(old, new):
            return self._objects.view(served, value)
        if options.dry_run:
            return StoredObject.of(new, value.mod_revision)
        if _is_finished(new):
            return StoredObject.of(new, await self._definitions.remove(served, value))
        return self._objects.view(
            served, await self._put(served, value.key, new, expected=value.mod_revision)
        )

    async def _put(self, served: Served, key: str, content: Content, *, expected: int) -> KeyValue:
        group = f"{served.group}/" if served.group else ""
        stored = {**content, "apiVersion": f"{group}{served.storage_version}"}
        return await self._definitions.store(served, key, stored, expected=expected)

    async def _admit(self, target: Target, name: str) -> None:
        """Whether something new may come into this namespace, or of this kind (rules W-7, C-5)."""
        served = target.served
        if served.is_terminating:
            raise forbidden(
                served, name, "create not allowed while custom resource definition is terminating"
            )
        namespaces = self._objects.registry.find("", "v1", "namespaces")
        if not served.namespaced or namespaces is None:
            return
        value = await self._objects.kv.get(namespaces.key("", target.namespace))
        if value is None:
            raise not_found(namespaces, target.namespace)
        if "deletionTimestamp" in decode(value)["metadata"]:
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {target.namespace} is being terminated",
                "field": "metadata.namespace",
            }
            text = (
                f"unable to create new content in namespace {target.namespace} because it is being terminated"
            )
            raise forbidden(served, name, text, causes=[cause])

    def _created(self, served: Served, content: Content, options: WriteOptions) -> Content:
        now = self._objects.clock.now()
        uid = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        new = for_create(served, content, uid=uid, now=now)
        self._shape(served, new, options)
        return new

    def _changed(
        self, target: Target, old: Content, sent: Content, options: WriteOptions, track: Tracking
    ) -> Content:
        served = target.served
        check_types(served, sent)
        _check_identity(served, old["metadata"], sent["metadata"])
        new = for_update(served, target.subresource, old, sent)
        new["metadata"].pop("resourceVersion", None)
        self._shape(served, new, options)
        bump_generation(served, old, new)
        track(old, new)
        check_object(served, target.subresource, old, new)
        options.check(old, new)
        return new

    def _shape(self, served: Served, new: Content, options: WriteOptions) -> None:
        dropped = [f'unknown field "{path}"' for path in shape_custom(served, new)]
        if is_definition(served):
            self._definitions.prepare(new, self._objects.clock.now())
        if dropped and options.field_validation == "Strict":
            text = f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: '
            raise bad_request(f"{text}strict decoding error: {', '.join(dropped)}")
        if options.field_validation != "Ignore":
            for warning in dropped:
                options.warn(warning)

    def _shown(self, served: Served, value: KeyValue) -> Content:
        """A private copy of a stored object, in the version of the request."""
        content = decode(value)
        content["apiVersion"] = served.api_version
        shape_custom(served, content)
        return content

    def _tracking(self, target: Target, options: WriteOptions) -> Tracking:
        served = target.served
        manager = Manager(manager_of(options), "Update", served.api_version, target.subresource)
        now = timestamp(self._objects.clock.now())
        return lambda old, new: track_update(served, old, new, manager, now)


def manager_of(options: WriteOptions) -> str:
    """Who writes (rule W-3)."""
    agent = "".join(char for char in options.user_agent.partition("/")[0] if char.isprintable())
    return options.field_manager or agent[:128] or "unknown"


def _check_identity(served: Served, old: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
    """Whether the client speaks of the object that is stored (rules W-9, W-10)."""
    name, uid, version = old["name"], sent.get("uid"), sent.get("resourceVersion")
    if uid and uid != old["uid"]:
        key = served.key(old.get("namespace", ""), name)
        text = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['uid']}"
        )
        raise conflict(served, name, text)
    if version and version != old["resourceVersion"]:
        text = "the object has been modified; please apply your changes to the latest version and try again"
        raise conflict(served, name, text)


def _is_same(old: Content, new: Content) -> bool:
    """Whether nothing would change but the times in ``managedFields`` (rule W-12)."""
    return {**old, "metadata": _timeless(old["metadata"])} == {**new, "metadata": _timeless(new["metadata"])}


def _timeless(metadata: Mapping[str, Any]) -> Content:
    kept = {key: value for key, value in metadata.items() if key not in {"resourceVersion", "managedFields"}}
    entries = metadata.get("managedFields") or ()
    return {**kept, "managedFields": [{**entry, "time": ""} for entry in entries]}


def _is_finished(content: Content) -> bool:
    """Whether an object that is being deleted has nothing more to wait for (rule W-23)."""
    metadata = content["metadata"]
    waits = (
        metadata.get("finalizers")
        or metadata.get("deletionGracePeriodSeconds")
        or (content["kind"] == "Namespace" and (content.get("spec") or {}).get("finalizers"))
    )
    return "deletionTimestamp" in metadata and not waits
