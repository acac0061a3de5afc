"""InformerFactory: one watch for each thing that is watched, however many ask for it, and in whatever model."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, Protocol, TypeVar, Unpack, overload

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks
from kinformer.informer._cache import Cache
from kinformer.informer._informer import SharedInformer
from kinformer.informer._options import CacheOptions, completed
from kinformer.meta import FieldSelector, LabelSelector, Object, Resource, check_model
from kinformer.reflector import Source
from kinformer.tasks import open_task_group

__all__ = ["Filterable", "InformerFactory", "Sources"]

T = TypeVar("T")

_DEFINITIONS: Final = Resource.builtin("CustomResourceDefinition")


class Filterable(Protocol):
    """What narrows a source down; a ``ResourceClient`` fits."""

    def where(
        self, *, namespace: str | None = None, labels: str | None = None, fields: str | None = None
    ) -> Source:
        """A source of what passes these filters; ``None`` filters nothing."""


class Sources(Protocol):
    """What has a source for each resource; a ``Client`` fits."""

    def resource(self, resource: Resource, /) -> Filterable:
        """The source of all objects of a resource."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What one cache holds; selectors are in their normal form."""

    resource: Resource
    namespaces: tuple[str, ...]
    labels: str
    fields: str


class _Held:
    """A cache, what it was made with, and its views by model, each with the number of its holders."""

    __slots__ = ("cache", "holders", "options", "views")

    def __init__(self, cache: Cache, options: CacheOptions) -> None:
        self.cache: Final = cache
        self.options: Final = options
        self.views: Final[dict[type, SharedInformer[Any]]] = {}
        self.holders: Final[Counter[type]] = Counter()

    def enter(self, model: type[T]) -> SharedInformer[T]:
        """The view in this model, which has one more holder now."""
        view = self.views.get(model)
        if view is None:
            view = self.views[model] = SharedInformer._of(self.cache, model)
        self.holders[model] += 1
        return view

    def leave(self, model: type) -> None:
        """End the view in this model if that was its last holder, and the cache if that was its last view."""
        self.holders[model] -= 1
        if not self.holders[model]:
            del self.holders[model]
            self.views.pop(model)._release()
        if not self.views:
            self.cache.close()
            self.cache.forget()


class InformerFactory:
    """Caches by what they hold, their views by model, counted, and run by one task group.

    Invariant: every cache has a view, every view a holder, and every cache runs while the factory does.

    Args:
        client: Where the sources come from.
        clock: The time, for every informer.
        random: Chance, for every informer.
        hooks: Who hears of what happens in every informer.
    """

    def __init__(
        self,
        client: Sources,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._random = random
        self._hooks = hooks
        self._held: dict[_Key, _Held] = {}
        self._tasks: TaskGroup | None = None
        self._has_run = False
        self._is_closed = False

    @overload
    def acquire(
        self,
        resource: Resource,
        *,
        namespaces: Collection[str] = (),
        labels: LabelSelector | str | None = None,
        fields: FieldSelector | str | None = None,
        **options: Unpack[CacheOptions],
    ) -> AbstractContextManager[SharedInformer[Object]]: ...
    @overload
    def acquire(
        self,
        resource: Resource,
        model: type[T],
        *,
        namespaces: Collection[str] = (),
        labels: LabelSelector | str | None = None,
        fields: FieldSelector | str | None = None,
        **options: Unpack[CacheOptions],
    ) -> AbstractContextManager[SharedInformer[T]]: ...

    def acquire(
        self,
        resource: Resource,
        model: type[Any] = Object,
        *,
        namespaces: Collection[str] = (),
        labels: LabelSelector | str | None = None,
        fields: FieldSelector | str | None = None,
        **options: Unpack[CacheOptions],
    ) -> AbstractContextManager[SharedInformer[Any]]:
        """Hold an informer while the block runs; the same one as everybody who asks for the same.

        Who asks for the same in another model gets another view of the same watch and the same store.

        It starts when the factory runs, at once if that does already. When the last holder of a view lets go, that
        view ends, with the handlers that were added to it; with the last view the watch ends, and the memory is free.
        So read it while you hold it; after that a lister raises ``ClosedError``.
        A handler of yours outlives your block if others hold the same view: remove it.

        Args:
            resource: What to watch.
            model: What listers and handlers give; decoded for each of them, from what is stored once.
            namespaces: None named is all of them. Of those that are, each has a watch of its own in the one informer.
            labels: Only objects whose labels match.
            fields: Only objects whose fields match; which fields may be asked for is the server's matter.
            options: What the cache is like; see ``SharedInformer``.

        Raises:
            TypeError: ``namespaces`` is one text instead of a collection, or holds something that is no text; the model
                is none, or what should be a plain function.
            ValueError: The same is held already with other options; a selector is none; a namespace is empty, or is
                named for a cluster-scoped resource.
            ClosedError: The factory has ended.
        """
        names = _names(resource, namespaces)
        check_model(model)
        label_selector = LabelSelector.parse(labels) if isinstance(labels, str) else labels
        field_selector = FieldSelector.parse(fields) if isinstance(fields, str) else fields
        key = _Key(resource, names, str(label_selector or ""), str(field_selector or ""))
        return self._hold(key, model, completed(options))

    async def wait_synced(self) -> None:
        """Wait until every informer that is held now has synced, or has been let go.

        Raises:
            ClosedError: The factory ended before that.
        """
        for key, held in tuple(self._held.items()):
            try:
                await held.cache.wait_synced()
            except ClosedError:
                if self._held.get(key) is held:  # nobody has let it go, so it ended with the factory
                    raise

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run all informers until cancelled; reports the start once those held now have synced.

        Raises:
            RuntimeError: It ran before.
        """
        if self._has_run:
            raise RuntimeError("an informer factory runs once: make another")
        self._has_run = True
        try:
            async with open_task_group() as tasks:
                self._tasks = tasks
                for held in self._held.values():
                    tasks.start_soon(_run, held.cache)
                await self.wait_synced()
                task_status.started()
                await anyio.sleep_forever()
        finally:
            self._tasks = None
            self._is_closed = True

    @contextmanager
    def _hold(self, key: _Key, model: type[T], options: CacheOptions) -> Iterator[SharedInformer[T]]:
        if self._is_closed:
            raise ClosedError("the informer factory has ended: informers can be acquired before that")
        held = self._held.get(key) or _Held(self._make(key, options), options)
        if held.options != options:
            raise ValueError(
                f"an informer of {key.resource} is held with {_difference(held.options, options)}: ask for the same, or "
                "make a factory of your own"
            )
        view = held.enter(model)
        try:
            if key not in self._held:
                self._held[key] = held
                if self._tasks is not None:
                    self._tasks.start_soon(_run, held.cache)
            yield view
        finally:
            held.leave(model)
            if not held.views:
                del self._held[key]

    def _make(self, key: _Key, options: CacheOptions) -> Cache:
        where = partial(
            self._client.resource(key.resource).where, labels=key.labels or None, fields=key.fields or None
        )
        return Cache(
            {name: where(namespace=name) for name in key.namespaces} or where(),
            definitions=self._definitions_of(key.resource),
            clock=self._clock,
            random=self._random,
            hooks=self._hooks,
            **options,
        )

    def _definitions_of(self, resource: Resource) -> Source | None:
        """The definition of a custom resource, and no other; the groups of custom resources have a dot in them."""
        if "." not in resource.group:
            return None
        name = f"metadata.name={resource.plural}.{resource.group}"
        return self._client.resource(_DEFINITIONS).where(fields=name)


async def _run(cache: Cache) -> None:
    if not cache.is_closed:  # its last holder may have let go before this task had its first turn
        await cache.run()


def _names(resource: Resource, namespaces: Collection[str]) -> tuple[str, ...]:
    if isinstance(namespaces, str):
        raise TypeError(f"namespaces={namespaces!r} must be a collection: write [{namespaces!r}]")
    found = set(namespaces)
    for name in found:
        if not isinstance(name, str):  # None would be taken for all namespaces
            raise TypeError(f"namespaces={namespaces!r} must hold names, not {name!r}")
    names = sorted(found)
    if names and not resource.namespaced:
        raise ValueError(f"{resource} is cluster-scoped: leave namespaces out")
    if "" in names:
        raise ValueError("a namespace must not be empty: leave namespaces out to mean all of them")
    return tuple(names)


def _difference(held: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    names = [name for name in held if held[name] != wanted[name]]
    return " and ".join(
        ", ".join(f"{name}={options[name]!r}" for name in names) + how
        for options, how in ((held, ""), (wanted, " is asked for"))
    )
