"""Lister: reading an informer's store, as objects of its model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from kinformer.errors import DecodeError, NotSyncedError
from kinformer.hooks import Hooks, ObjectQuarantined
from kinformer.informer._views import Views
from kinformer.meta import LabelSelector, ObjectKey, Record, Resource
from kinformer.store import NAMESPACE_INDEX, OWNER_INDEX, Store

__all__ = ["Lister"]

T = TypeVar("T")
U = TypeVar("U")


class Lister(Generic[T]):
    """The content of a cache, never waiting and never asking a server.

    What it gives is made for each call. Lists are in no particular order. An object that does not fit the model is
    left out of lists, and the hook ``object_quarantined`` hears of it.

    Every method raises ``NotSyncedError`` before the first list has arrived: an empty answer would be a lie. So it does
    with ``ClosedError`` after the last holder has let go of an informer that came from a factory.
    """

    def __init__(
        self,
        store: Store,
        views: Views[T],
        *,
        resource: Resource,
        name: str,
        is_synced: Callable[[], bool],
        hooks: Hooks,
    ) -> None:
        self.resource: Final = resource
        self._store = store
        self._views = views
        self._name = name
        self._is_synced = is_synced
        self._hooks = hooks

    def get(self, key: ObjectKey | str) -> T | None:
        """The object of this key, or ``None``.

        Raises:
            ValueError: The text is no key, or does not fit the scope of the resource.
            DecodeError: The object does not fit the model.
            NotSyncedError: It is too early to tell.
        """
        record = self._content.get(self.resource.key(key) if isinstance(key, str) else key)
        return None if record is None else self._views.of(record)

    def list(
        self, *, namespace: str | None = None, labels: LabelSelector | str | None = None
    ) -> tuple[T, ...]:
        """The objects of one namespace or of all, that match the selector.

        Raises:
            ValueError: The selector is none, or the resource has no namespaces.
            NotSyncedError: It is too early to tell.
        """
        if namespace and not self.resource.namespaced:
            raise ValueError(f"{self.resource} is cluster-scoped, so it has no namespace {namespace!r}")
        selector = LabelSelector.parse(labels) if isinstance(labels, str) else labels
        store = self._content
        records: Iterable[Record] = store.by_index(NAMESPACE_INDEX, namespace) if namespace else store
        if selector is not None and selector.requirements:
            records = (record for record in records if selector.matches(record.metadata.labels))
        return tuple(self._made(records))

    def by_namespace(self, namespace: str) -> tuple[T, ...]:
        """The objects of one namespace, as ``list(namespace=...)`` gives them.

        Raises:
            ValueError: The resource has no namespaces.
            NotSyncedError: It is too early to tell.
        """
        return self.list(namespace=namespace)

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        """The objects that the index ``name`` finds under ``value``.

        Raises:
            LookupError: The informer has no such index.
            NotSyncedError: It is too early to tell.
        """
        return tuple(self._made(self._content.by_index(name, value)))

    def by_indexes(self, values: Mapping[str, str]) -> tuple[T, ...]:
        """The objects that each of several indexes finds under its value, such as ``{"node": "n1", "namespace": "a"}``.

        Costs as much as the index that finds fewest. All objects where no index is named.

        Raises:
            LookupError: The informer has no such index.
            NotSyncedError: It is too early to tell.
        """
        return tuple(self._made(self._content.by_indexes(values)))

    def by_owner(self, uid: str) -> tuple[T, ...]:
        """The objects that have the object of this uid among their owners.

        Raises:
            NotSyncedError: It is too early to tell.
        """
        return self.by_index(OWNER_INDEX, uid)

    def typed(self, model: type[U]) -> "Lister[U]":
        """A lister of the same cache that gives objects of another model."""
        return Lister(
            self._store,
            Views(model),
            resource=self.resource,
            name=self._name,
            is_synced=self._is_synced,
            hooks=self._hooks,
        )

    def over(self, store: Store) -> "Lister[T]":
        """A lister like this one, of another store."""
        return Lister(
            store,
            self._views,
            resource=self.resource,
            name=self._name,
            is_synced=self._is_synced,
            hooks=self._hooks,
        )

    def __len__(self) -> int:
        return len(self._content)

    def __contains__(self, key: object) -> bool:
        return key in self._content

    @property
    def _content(self) -> Store:
        if not self._is_synced():
            raise NotSyncedError(
                f"the cache {self._name} was asked before its first list: await the informer's wait_synced() before"
            )
        return self._store

    def _made(self, records: Iterable[Record]) -> Iterator[T]:
        for record in records:
            try:
                yield self._views.of(record)
            except DecodeError as error:
                self._hooks.object_quarantined(ObjectQuarantined(self._name, error.key, error))
