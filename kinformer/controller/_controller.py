"""Controller: a reconciler, and what makes it run, declared once; a ``Manager`` runs it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self, TypeVar, get_args

from kinformer.controller._consistency import Consistency
from kinformer.controller._permissions import Permission, least, to_own, to_read, to_tell, to_write
from kinformer.controller._reconcile import Reconciler
from kinformer.controller._sources import (
    EventSource,
    KeyMap,
    Predicate,
    Scope,
    checked_functions,
    keys_of_owners,
    own_key,
)
from kinformer.controller._threads import PlainReconciler, name_of, reconciler_of
from kinformer.controller._triggers import Events, checked_events
from kinformer.controller._worker import Item
from kinformer.meta import LabelSelector, Resource
from kinformer.workqueue import Limiter

__all__ = ["Controller", "Declaration", "Written"]

F = TypeVar("F", bound=Reconciler | PlainReconciler)


@dataclass(frozen=True, slots=True)
class Written:
    """A resource that a controller says it writes, for permissions: the object itself, or subresources of it."""

    resource: Resource
    subresources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """A controller that is complete: what ``Controller.declaration`` gives to whoever runs it."""

    name: str
    watched: Resource
    reconcile: Reconciler
    sources: tuple[EventSource, ...]
    scopes: Mapping[Resource, Scope]
    events: tuple[Events, ...] = ()


class Controller:
    """Makes the world match what the objects of one kind ask for.

    Says which kind that is (``watches``), which other events matter (``owns``, ``watches`` with ``map``), what else is
    read from caches (``reads``), and what is written (``writes``). Each returns the controller, so that they chain. A
    controller holds no state of a run: that is made anew each time a manager runs.

    Reads go to a cache, which shows what this controller has written, and may be behind what others have; the event of
    that brings the key back. Write so that doing it twice does no harm, best with ``apply``.

    Args:
        name: Names the controller in logs and metrics; unique in a manager.
        reconcile: The function of one ``Request``; or leave it to the decorator ``reconciler``. An ``async def``, or a plain
            one, of which each call has a thread (``PlainReconciler``).
        workers: How many keys are reconciled at once; one key never is.
        limiter: How long a failed key waits; the default is exponential with jitter, from 0.1 s to 5 min, and parks a
            key after 50 failures in a row until something happens to it (``workqueue.controller_default``).
        timeout: Seconds for one call, after which it is cancelled and counts as failed; infinity for no limit. The log
            warns of a call that takes longer than a minute.
        consistency: How the caches are read after the controller's own writes; see ``Consistency``.

    Raises:
        TypeError: The reconciler is no function, cannot be called with one request, or yields.
        ValueError: A number is out of range, or the name is empty.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconciler | PlainReconciler | None = None,
        *,
        workers: int = 4,
        limiter: Limiter[Item] | None = None,
        timeout: float = 300.0,
        consistency: Consistency = "overlay",
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name={name!r} must be a text, for logs and metrics")
        if not name or not name.isprintable():
            raise ValueError(f"name={name!r}: a controller needs a name in one line, for logs and metrics")
        if not isinstance(workers, int):
            raise TypeError(f"controller {name}: workers={workers!r} must be a whole number")
        if workers < 1:
            raise ValueError(f"controller {name}: workers={workers} must be at least 1")
        if not timeout > 0:
            raise ValueError(
                f"controller {name}: timeout={timeout} must be more than 0; math.inf means no limit"
            )
        if consistency not in get_args(Consistency):
            raise ValueError(
                f"controller {name}: consistency={consistency!r} must be one of {', '.join(get_args(Consistency))}"
            )
        self.name: Final = name
        self.workers: Final = workers
        self.limiter: Final = limiter
        self.timeout: Final = timeout
        self.consistency: Final[Consistency] = consistency
        self._reconcile = None if reconcile is None else reconciler_of(reconcile)
        self._watched: Resource | None = None
        self._sources: list[Callable[[Resource], EventSource]] = []
        self._scopes: dict[Resource, Scope] = {}
        self._events: list[Events] = []
        self._written: list[Written] = []
        self._owned: list[Resource] = []

    def reconciler(self, function: F) -> F:
        """Decorate the reconciler, where it was not given to the constructor; the function stays what it is.

        ```python
        controller = Controller("website").watches(WEBSITES)

        @controller.reconciler
        async def reconcile(request: Request) -> None: ...
        ```

        Raises:
            TypeError: It is no function, cannot be called with one request, or yields.
            ValueError: The controller has one already.
        """
        if self._reconcile is not None:
            raise ValueError(
                f"controller {self.name} has a reconciler already, {name_of(self._reconcile)}: call both from one "
                f"function, or make another controller for {name_of(function)}"
            )
        self._reconcile = reconciler_of(function)
        return function

    def watches(
        self,
        resource: Resource,
        *,
        map: KeyMap | None = None,  # noqa: A002 -- the field's word, and a keyword
        namespaces: Iterable[str] = (),
        labels: LabelSelector | str | None = None,
        when: Predicate | Iterable[Predicate] = (),
    ) -> Self:
        """Reconcile the objects of ``resource``; or, with ``map``, those that its objects concern.

        Args:
            resource: Whose events matter.
            map: From an object of ``resource`` to keys of the watched kind; called for the old and the new object of
                an update. Without it, ``resource`` is the watched kind itself, and exactly one call is without it.
            namespaces: Cache these namespaces only, with a watch for each; none named means all. Work begins once all
                of them can be read; one that is forbidden, or gone, later stops no other.
            labels: Cache objects with these labels only.
            when: Predicates, which must all pass. They save reconciles, not memory.

        Raises:
            TypeError: An argument is of another type, or a function is async.
            ValueError: A second kind is to be watched, or the resource is declared with another scope already.
        """
        if map is None:
            if self._watched is not None:
                raise ValueError(
                    f"controller {self.name} watches {self._watched} already: one controller reconciles one kind; "
                    f"for events of {resource} give map=, or make another controller"
                )
        else:
            checked_functions("map", (map,))
        predicates = checked_functions("when", when)
        self._declare(resource, namespaces, labels)
        if map is None:
            self._watched = resource
        self._sources.append(lambda _: EventSource(resource, map or own_key, predicates))
        return self

    def owns(
        self,
        resource: Resource,
        *,
        any_owner: bool = False,
        namespaces: Iterable[str] = (),
        labels: LabelSelector | str | None = None,
    ) -> Self:
        """Reconcile the owner when an object of ``resource`` that it owns changes or vanishes.

        Args:
            resource: The kind of what is owned.
            any_owner: Go by every owner reference to the watched kind, not only by the one marked as controller.
            namespaces: See ``watches``.
            labels: See ``watches``.

        Raises:
            TypeError: See ``watches``.
            ValueError: The resource is declared with another scope already.
        """
        self._declare(resource, namespaces, labels)
        self._owned.append(resource)
        self._sources.append(
            lambda watched: EventSource(resource, keys_of_owners(watched, any_owner=any_owner))
        )
        return self

    def listens_to(self, events: Events) -> Self:
        """Reconcile what something outside of the cluster is about: a broker, a webhook, another API, a timer.

        ```python
        async def messages(trigger: Trigger) -> None:
            async for message in broker.subscribe():
                trigger(ObjectKey("default", message.name))

        Controller("mail", reconcile).watches(MAILBOXES).listens_to(messages)
        ```

        It runs as a task beside the workers, where there is an election in the leader only, and is cancelled at the end. It
        may return; an error from it ends the manager.

        Raises:
            TypeError: It is not an ``async def``.
        """
        self._events.append(checked_events(events))
        return self

    def reads(
        self,
        resource: Resource,
        *,
        namespaces: Iterable[str] = (),
        labels: LabelSelector | str | None = None,
    ) -> Self:
        """Keep a cache of ``resource`` for ``request.lister``; its events make nothing run.

        Raises:
            TypeError: See ``watches``.
            ValueError: The resource is declared with another scope already.
        """
        self._declare(resource, namespaces, labels)
        return self

    def writes(self, resource: Resource, *subresources: str) -> Self:
        """Say that objects of ``resource``, or only subresources of them, are written; a record for permissions.

        ```python
        Controller("site", reconcile).watches(SITES).writes(SITES, "status", "finalizers").owns(DEPLOYMENTS)
        ```

        ``"finalizers"`` is what ``add_finalizer`` and ``remove_finalizer`` do. What ``owns`` names needs no word of its own.

        Raises:
            TypeError: It is no ``Resource``.
        """
        self._written.append(Written(self._checked(resource), subresources))
        return self

    @property
    def written(self) -> tuple[Written, ...]:
        """What ``writes`` has recorded."""
        return tuple(self._written)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """The least that its account needs, in order: lists and watches of what it declares, and writes.

        Written is what ``writes`` says, and whatever it owns, unless ``writes`` says of that more exactly what. Events are told
        where it watches.
        """
        return least(self._permissions())

    @property
    def scopes(self) -> Mapping[Resource, Scope]:
        """The resources of which a cache is needed, with what it holds."""
        return MappingProxyType(self._scopes)

    def declaration(self) -> Declaration:
        """The controller as it is declared by now, ready to run.

        Raises:
            ValueError: It has no reconciler, or watches no kind.
        """
        if self._reconcile is None:
            raise ValueError(
                f"controller {self.name} has no reconciler: give it to the constructor, "
                "or decorate one with @controller.reconciler"
            )
        if self._watched is None:
            raise ValueError(
                f"controller {self.name} does not say what it reconciles: call .watches(resource) without map="
            )
        watched = self._watched
        sources = tuple(source(watched) for source in self._sources)
        return Declaration(
            self.name, watched, self._reconcile, sources, dict(self._scopes), tuple(self._events)
        )

    def _permissions(self) -> Iterator[Permission]:
        for resource, scope in self._scopes.items():
            yield from to_read(resource, scope.namespaces)
        for written in self._written:
            yield from to_write(written.resource, self._home(written.resource), *written.subresources)
        said = {written.resource for written in self._written}
        for resource in self._owned:
            if resource not in said:
                yield from to_write(resource, self._home(resource))
        if self._watched is not None:
            if self._owned:
                yield from to_own(self._watched, self._home(self._watched))
            yield from to_tell(self._home(self._watched))

    def _home(self, resource: Resource) -> tuple[str, ...]:
        """The namespaces that it is cached in, since what is written elsewhere would never be read again; none for all."""
        return self._scopes.get(resource, Scope()).namespaces

    def _declare(
        self, resource: Resource, namespaces: Iterable[str], labels: LabelSelector | str | None
    ) -> None:
        scope = Scope.of(namespaces, labels)
        if scope.namespaces and not self._checked(resource).namespaced:
            raise ValueError(f"{resource} is cluster-scoped, so it cannot be narrowed to {scope.namespaces}")
        known = self._scopes.setdefault(self._checked(resource), scope)
        if known != scope:
            raise ValueError(
                f"controller {self.name} declares {resource} twice, with different namespaces or labels: "
                "a controller has one cache of a resource, so declare it with the same everywhere"
            )

    def _checked(self, resource: Resource) -> Resource:
        if not isinstance(resource, Resource):
            raise TypeError(
                f"controller {self.name} takes a Resource, such as Resource.builtin('ConfigMap'), not {resource!r}"
            )
        return resource

    def __repr__(self) -> str:
        return f"<Controller {self.name}>"
