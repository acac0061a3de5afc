import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, cast

import anyio
import pytest
from anyio import from_thread

from kinformer.client import Client
from kinformer.controller import Controller, Manager, PlainReconciler, Request, RequeueAfter
from kinformer.controller._threads import name_of, reconciler_of
from kinformer.meta import ObjectKey, Resource
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")
REQUEST = Request("", ObjectKey("default", "a"), cast("Client", None))


async def asynchronous(request: Request) -> None: ...


async def call(plain: PlainReconciler) -> None:
    await reconciler_of(plain)(REQUEST)


class Instance:
    async def __call__(self, request: Request) -> None: ...

    async def reconcile(self) -> None: ...


@pytest.mark.parametrize("function", [asynchronous, partial(asynchronous), Instance(), Instance().__call__])
def test_an_async_function_stays_what_it_is(function: Any) -> None:
    assert reconciler_of(function) is function


@pytest.mark.parametrize("wrong", [None, 5, "reconcile"])
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a reconciler is a function of one request, not"):
        reconciler_of(wrong)


async def nothing() -> None: ...


def too_much(request: Request, key: ObjectKey) -> None: ...


async def handler(*, spec: dict[str, Any], name: str, **_: Any) -> None: ...


def yielding(request: Request) -> Iterator[None]:
    yield


async def yielding_later(request: Request) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (nothing, r"reconciler nothing\(\).* must take one argument, the request, and no other: what"),
        (
            too_much,
            r"reconciler too_much\(request: .* must take one argument, the request, and no other: what it is about",
        ),
        (handler, r"reconciler handler\(\*, spec: .* must take one argument, the request"),
        (Instance().reconcile, r"reconciler Instance.reconcile\(\).* must take one argument"),
        (Instance, "reconciler Instance is a class: give an instance of it, or one of its methods"),
        (yielding, "reconciler yielding yields: return None or RequeueAfter"),
        (yielding_later, "reconciler yielding_later yields: return None or RequeueAfter"),
    ],
)
def test_what_cannot_be_called_with_one_request_is_refused(wrong: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        reconciler_of(wrong)


def defaults(request: Request, *, dry: bool = False) -> None: ...


@pytest.mark.parametrize("function", [defaults, partial(too_much, key=REQUEST.key), lambda *args: None, max])
def test_whatever_one_request_is_enough_for_will_do(function: Any) -> None:
    assert reconciler_of(function) is not None


def test_a_plain_function_keeps_its_name() -> None:
    assert name_of(reconciler_of(defaults)) == "defaults"


async def test_a_plain_function_is_called_in_a_thread_and_answers() -> None:
    threads: list[int] = []

    def plain(request: Request) -> RequeueAfter:
        threads.append(threading.get_ident())
        return RequeueAfter(30)

    assert await reconciler_of(plain)(REQUEST) == RequeueAfter(30)
    assert threads != [threading.get_ident()]


async def test_its_error_comes_as_itself() -> None:
    def plain(request: Request) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await reconciler_of(plain)(REQUEST)


async def test_a_call_is_waited_for_even_where_it_is_cancelled() -> None:
    entered, go_on, ended = threading.Event(), threading.Event(), list[str]()

    def plain(request: Request) -> None:
        entered.set()
        assert go_on.wait(5)
        ended.append("done")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, plain)
        await anyio.to_thread.run_sync(entered.wait)
        tasks.cancel_scope.cancel()
        go_on.set()
    assert ended == ["done"], "or else its key could be in two hands"


async def test_a_long_call_may_ask_whether_it_should_end() -> None:
    entered, go_on, ended = threading.Event(), threading.Event(), list[str]()

    def plain(request: Request) -> None:
        entered.set()
        assert go_on.wait(5)
        try:
            from_thread.check_cancelled()
        finally:
            ended.append("asked")
        ended.append("never")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, plain)
        await anyio.to_thread.run_sync(entered.wait)
        tasks.cancel_scope.cancel()
        go_on.set()
    assert ended == ["asked"]


READS: list[Callable[[Request], Any]] = [
    lambda request: request.lister(CONFIG_MAPS).get("default/a").metadata.name,  # type: ignore[union-attr]
    lambda request: [obj.metadata.name for obj in request.lister(CONFIG_MAPS).list(namespace="default")],
    lambda request: len(request.lister(CONFIG_MAPS).by_namespace("default")),
    lambda request: len(request.lister(CONFIG_MAPS).by_index("namespace", "default")),
    lambda request: len(request.lister(CONFIG_MAPS).by_indexes({"namespace": "default"})),
    lambda request: len(request.lister(CONFIG_MAPS).by_owner("nobody")),
    lambda request: request.lister(CONFIG_MAPS, dict).list()[0]["kind"],
    lambda request: len(request.lister(CONFIG_MAPS)),
    lambda request: request.key in request.lister(CONFIG_MAPS),
    lambda request: request.lister(CONFIG_MAPS).resource.kind,
    lambda request: request.run(request.client.resource(CONFIG_MAPS).get, request.key).metadata.name,
]


async def test_in_a_thread_everything_can_be_read_as_in_the_event_loop() -> None:
    found: list[Any] = []
    controller = Controller("maps", timeout=60).watches(CONFIG_MAPS)

    @controller.reconciler
    def plain(request: Request) -> None:
        found.extend(read(request) for read in READS)

    async with Cluster(config_map("a")) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: len(found) == len(READS))
            manager.stop()
    assert found == ["a", ["a"], 1, 1, 1, 0, "ConfigMap", 1, True, "ConfigMap", "a"]


async def test_outside_of_such_a_thread_run_says_so() -> None:
    with pytest.raises(RuntimeError):
        REQUEST.run(asynchronous, REQUEST)
