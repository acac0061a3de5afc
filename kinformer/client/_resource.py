"""ResourceClient: the verbs of one resource."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kinformer.client._body import Body
from kinformer.client._calls import (
    Call,
    FieldValidation,
    PatchKind,
    Propagation,
    delete_options,
    write_params,
)
from kinformer.client._codec import is_status
from kinformer.client._filters import Fields, Labels
from kinformer.client._reader import ResourceReader
from kinformer.client._writes import apply_call, create_call, patch_call, replace_call
from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["ResourceClient"]

T = TypeVar("T")


class ResourceClient(ResourceReader[T]):
    """Reads, watches and writes the objects of one resource as ``T``. ``Client.resource`` makes it.

    Whatever writes takes, beside what its method says, ``field_manager``: who owns the fields that are set, where ``""``
    means what the user agent says; ``field_validation``: what becomes of fields that the server does not know, where
    ``None`` means its default, ``"Warn"``; and ``dry_run``: do everything but store it.
    """

    __slots__ = ()

    @property
    def status(self) -> "ResourceClient[T]":
        """The same objects' ``status`` subresource: ``get``, ``replace``, ``patch``, ``apply``."""
        return ResourceClient(self._http, self._target.below("status"), self._model, retries=self._retries)

    @property
    def scale(self) -> "ResourceClient[Object]":
        """The ``scale`` subresource, whose objects are ``Scale`` of ``autoscaling/v1``."""
        return ResourceClient(self._http, self._target.below("scale"), Object, retries=self._retries)

    def subresource(self, name: str, objects: Resource | None = None) -> "ResourceClient[Object]":
        """Any other subresource, such as ``"eviction"`` or ``"ephemeralcontainers"``; not exec, attach and port-forward.

        Its ``create`` takes the object by the name in the body, and where the server answers with a ``Status`` alone, as
        it does for evictions and bindings, it returns the object as it was sent.

        Args:
            name: As the path says.
            objects: What it exchanges. Left out, that is ``Scale``, ``Eviction``, ``Binding`` or ``TokenRequest`` for the
                subresources ``scale``, ``eviction``, ``binding`` and ``token``, else the resource itself.

        Raises:
            ValueError: This is a subresource already, or the name could not stand in a path.
        """
        target = self._target.below(name, objects)
        return ResourceClient(self._http, target, Object, retries=self._retries)

    @property
    def untyped(self) -> "ResourceClient[Object]":
        """One that gives ``Object`` instead of ``T``."""
        return ResourceClient(self._http, self._target, Object, retries=self._retries)

    async def create(
        self,
        obj: Body,
        *,
        namespace: str | None = None,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> T:
        """Create an object and return it as the server stored it.

        Args:
            obj: The object. It may have ``metadata.generateName`` instead of a name.
            namespace: Where to, if the object does not say so itself.
            field_manager: As for all that writes, and so are the others.
            field_validation: Likewise.
            dry_run: Likewise.

        Raises:
            AlreadyExistsError: There is one of this name.
            InvalidError: The server found a fault in it.
            BadRequestError: It has unknown fields, and ``field_validation`` is ``"Strict"``.
            ValueError: The object and ``namespace`` disagree, or neither says where to.
        """
        params = write_params(field_manager, field_validation, dry_run=dry_run)
        call = create_call(self._target, obj, namespace, params)
        answer = await self._send(call)
        return self._decode(call.content if self._target.subresource and is_status(answer) else answer)

    async def replace(
        self,
        obj: Body,
        *,
        namespace: str | None = None,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> T:
        """Put an object in the place of the one that has its name, and return it as the server stored it.

        Raises:
            ConflictError: The object has a ``metadata.resourceVersion``, and it is not that of the stored one.
            NotFoundError: There is no such object.
            ValueError: It has no name, or as for ``create``.
        """
        params = write_params(field_manager, field_validation, dry_run=dry_run)
        return self._decode(await self._send(replace_call(self._target, obj, namespace, params)))

    async def patch(
        self,
        key: ObjectKey | str,
        patch: Body | Sequence[Mapping[str, Any]],
        *,
        kind: PatchKind = "merge",
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> T:
        """Change parts of an object and return it as the server stored it.

        A patch does not conflict with other writes, unless it contains a ``metadata.resourceVersion``.

        Args:
            key: Which one.
            patch: For ``"json"`` a list of operations, else a mapping or model of what changes.
            kind: How it is meant.
            field_manager: As for all that writes, and so are the others.
            field_validation: Likewise.
            dry_run: Likewise.

        Raises:
            NotFoundError: There is no such object.
            InvalidError: The patch does not apply, or what comes out of it is not valid.
        """
        params = write_params(field_manager, field_validation, dry_run=dry_run)
        return self._decode(await self._send(patch_call(self._target, key, patch, kind, params)))

    async def apply(
        self,
        obj: Body,
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> T:
        """Make an object have these fields, creating it if need be (server-side apply).

        https://kubernetes.io/docs/reference/using-api/server-side-apply/

        Args:
            obj: What the manager has an opinion about, and nothing else.
            field_manager: Who is applying; the same name at each call.
            force: Take fields away from other managers instead of failing.
            namespace: Where to, if the object does not say so itself.
            field_validation: As for all that writes.
            dry_run: Likewise.

        Raises:
            ConflictError: Another manager owns a field and has another value for it; ``details["causes"]`` names them.
            ValueError: As for ``replace``, or ``field_manager`` is empty.
        """
        params = write_params(field_manager, field_validation, dry_run=dry_run, force=force)
        return self._decode(await self._send(apply_call(self._target, obj, namespace, params)))

    async def delete(
        self,
        key: ObjectKey | str,
        *,
        uid: str | None = None,
        version: str | None = None,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for an object to go. It lives on while it has finalizers, or a pod until it has stopped.

        Args:
            key: Which one.
            uid: Only if it is this very object, and not a later one of its name.
            version: Only if it has not changed since.
            propagation: What happens to what it owns; ``None`` is the kind's default, mostly ``"Background"``.
            grace_period: Seconds that a pod gets to stop; 0 means now.
            dry_run: Do everything but delete it.

        Raises:
            NotFoundError: There is no such object.
            ConflictError: It is another one, or it has changed.
        """
        options = delete_options(
            uid=uid, version=version, propagation=propagation, grace_period=grace_period, dry_run=dry_run
        )
        # In the body, since a server that finds one ignores the query.
        await self._send(Call("DELETE", self._target.item(key), content=options))

    async def delete_collection(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for all objects that match to go, one after the other; without a selector, for all there are.

        Raises:
            ValueError: A namespaced resource was given no namespace: no server deletes across namespaces.
        """
        target = self._target.where(namespace, labels, fields)
        if target.resource.namespaced and not target.filters.namespace:
            raise ValueError(f"delete_collection of {target.resource} needs namespace=: it works in one only")
        options = delete_options(propagation=propagation, grace_period=grace_period, dry_run=dry_run)
        await self._send(Call("DELETE", target.collection(), target.filters.params, options))
