from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kinformer.client import Catalog, Client, Mapper, ServedResource
from kinformer.errors import AmbiguousError, NoMatchError, TransportError
from kinformer.meta import Resource
from kinformer.testing import FakeClock, settle
from tests.unit.client.discovery_stage import ALL_AT_ONCE, Served

PODS = Resource.builtin("Pod")
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")


class Server:
    """Serves some resources, in so many seconds."""

    def __init__(self, *resources: Resource, latency: float = 0.0) -> None:
        self.clock = FakeClock()
        self.resources = list(resources)
        self.latency = latency
        self.failure: Exception | None = None
        self.asked: list[float] = []
        self.mapper = Mapper(self.read, clock=self.clock)

    async def read(self) -> Catalog:
        self.asked.append(self.clock.monotonic())
        failure, catalog = self.failure, Catalog(tuple(map(ServedResource, self.resources)))
        await self.clock.sleep(self.latency)
        if failure is not None:
            raise failure
        return catalog


async def outcome(question: Awaitable[Any]) -> Any:
    try:
        return await question
    except (LookupError, TransportError) as error:
        return error


class Asking:
    """Questions that run beside the test; ``found`` is what came of each, and when."""

    def __init__(self, server: Server, tasks: anyio.abc.TaskGroup) -> None:
        self.server = server
        self.tasks = tasks
        self.scopes: list[anyio.CancelScope] = []
        self.found: dict[int, tuple[Any, float]] = {}

    async def ask(self, *names: str) -> None:
        for name in names:
            scope = anyio.CancelScope()
            self.scopes.append(scope)
            self.tasks.start_soon(self._ask, len(self.scopes) - 1, name, scope)
        await settle()

    async def _ask(self, number: int, name: str, scope: anyio.CancelScope) -> None:
        with scope:
            found = await outcome(self.server.mapper.find(name))
            self.found[number] = (found, self.server.clock.monotonic())


async def test_what_is_known_is_found_without_asking_again() -> None:
    server = Server(PODS, WIDGETS)
    mapper = server.mapper
    assert await mapper.find("pods") == PODS
    assert await mapper.find("Widget.example.dev") == WIDGETS
    assert await mapper.find_kind("example.dev/v1", "Widget") == WIDGETS
    assert [one.resource for one in (await mapper.catalog()).resources] == [PODS, WIDGETS]
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "question", [lambda m: m.find("widgets"), lambda m: m.find_kind("example.dev/v1", "Widget")]
)
async def test_what_was_just_defined_is_found(question: Callable[[Mapper], Awaitable[Resource]]) -> None:
    server = Server(PODS)
    assert isinstance(await outcome(question(server.mapper)), NoMatchError)
    server.resources.append(WIDGETS)
    assert await question(server.mapper) == WIDGETS
    assert len(server.asked) == 2


async def test_an_ambiguous_name_is_no_reason_to_ask_again() -> None:
    server = Server(WIDGETS, Resource("other.dev", "v1", "widgets", "Widget"))
    for _ in range(5):
        with pytest.raises(AmbiguousError):
            await server.mapper.find("widgets")
    assert len(server.asked) == 1


async def test_misses_ask_three_times_and_then_every_five_seconds() -> None:
    server = Server(PODS)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        for _ in range(6):
            await asking.ask("nothings")
            await server.clock.advance(1.0)
        await server.clock.advance(60.0)
    assert server.asked == [0.0, 0.0 + 1.0, 2.0, 5.0, 10.0]
    assert [moment for _, moment in asking.found.values()] == [0.0, 1.0, 2.0, 5.0, 5.0, 10.0]


async def test_those_who_miss_together_share_one_refresh() -> None:
    server = Server(PODS, latency=1.0)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        await asking.ask("pods")
        await server.clock.advance(1.0)
        await asking.ask(*["nothings"] * 50, "widgets")
        server.resources.append(WIDGETS)
        await server.clock.advance(10.0)
    assert (
        len(server.asked) == 1 + 2
    )  # the first began with the first who missed: for the others it is too old
    assert asking.found[51] == (WIDGETS, 3.0)
    assert all(isinstance(found, NoMatchError) for found, _ in list(asking.found.values())[1:51])


async def test_those_who_begin_together_share_the_first_answer() -> None:
    server = Server(PODS, WIDGETS, latency=1.0)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        await asking.ask(*["pods", "widgets"] * 25)
        await server.clock.advance(1.0)
    assert len(server.asked) == 1
    assert {moment for _, moment in asking.found.values()} == {1.0}


async def test_those_who_wait_for_their_turn_share_it_too() -> None:
    server = Server(PODS)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        for _ in range(3):
            await asking.ask("nothings")
        await asking.ask("widgets")
        await server.clock.advance(2.0)
        await asking.ask("widgets", "nothings")
        server.resources.append(WIDGETS)
        await server.clock.advance(60.0)
    assert server.asked == [0.0, 0.0, 0.0, 5.0]
    assert [asking.found[number] for number in (3, 4)] == [(WIDGETS, 5.0)] * 2


@pytest.mark.parametrize("cancelled", range(4))
async def test_whoever_is_cancelled_disturbs_no_other(cancelled: int) -> None:
    server = Server(PODS, latency=1.0)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        await asking.ask(*["pods"] * 4)
        await server.clock.advance(0.5)
        asking.scopes[cancelled].cancel()
        await server.clock.advance(10.0)
    assert len(server.asked) == (2 if cancelled == 0 else 1)
    assert sorted(asking.found) == [number for number in range(4) if number != cancelled]
    assert {found for found, _ in asking.found.values()} == {PODS}
    assert server.clock.next_timer is None


async def test_whoever_is_cancelled_in_line_leaves_the_turn_to_another() -> None:
    server = Server(PODS)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        for _ in range(5):
            await asking.ask("nothings")
        asking.scopes[3].cancel()
        await server.clock.advance(5.0)
    assert 3 not in asking.found
    assert asking.found[4][1] == 5.0
    assert server.clock.next_timer is None


async def test_a_failure_is_told_to_all_who_asked_and_the_next_one_asks_again() -> None:
    server = Server(PODS, latency=1.0)
    server.failure = TransportError("reset")
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        await asking.ask("pods")
        await server.clock.advance(0.5)
        await asking.ask("pods", "pods")
        server.failure = None
        await server.clock.advance(10.0)
    assert isinstance(asking.found[0][0], TransportError)
    assert [asking.found[number] for number in (1, 2)] == [(PODS, 2.0)] * 2
    assert len(server.asked) == 2


async def test_a_failure_leaves_what_is_known() -> None:
    server = Server(PODS)
    await server.mapper.find("pods")
    server.failure = TransportError("reset")
    with pytest.raises(TransportError):
        await server.mapper.find("widgets")
    assert await server.mapper.find("pods") == PODS
    server.failure = None
    with pytest.raises(NoMatchError):
        await server.mapper.find("widgets")


async def test_an_outage_is_not_made_worse() -> None:
    server = Server(PODS)
    server.failure = TransportError("reset")
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        for _ in range(60):
            await asking.ask("pods", "widgets")
            await server.clock.advance(1.0)
    assert len(server.asked) <= 3 + 12


async def test_what_is_withdrawn_is_remembered_until_it_is_forgotten() -> None:
    server = Server(PODS, WIDGETS)
    assert await server.mapper.find("widgets") == WIDGETS
    server.resources.remove(WIDGETS)
    assert await server.mapper.find("widgets") == WIDGETS
    server.mapper.invalidate()
    with pytest.raises(NoMatchError):
        await server.mapper.find("widgets")
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda m: m.find(""), "name '' must be like"),
        (lambda m: m.find("  "), "name '  ' must be like"),
        (lambda m: m.find("pods."), "must be like 'deployments'"),
        (lambda m: m.find("a b"), "must be like 'deployments'"),
        (lambda m: m.find("apps/v1"), "there is find_kind"),
        (lambda m: m.find_kind("a/b/c", "X"), "api_version 'a/b/c' must be like 'apps/v1'"),
        (lambda m: m.find_kind("", "X"), "api_version '' must be"),
        (lambda m: m.find_kind("/v1", "X"), "api_version '/v1' must be"),
        (lambda m: m.find_kind("v1", " "), "kind ' ' must be like 'Deployment'"),
        (lambda m: m.find_kind("v1", "apps/Deployment"), "kind 'apps/Deployment' must be"),
    ],
)
async def test_what_nothing_can_be_called_is_refused_at_once(
    question: Callable[[Mapper], Awaitable[Resource]], message: str
) -> None:
    server = Server(PODS)
    with pytest.raises(ValueError, match=message):
        await question(server.mapper)
    assert server.asked == []


async def test_whoever_forgets_is_answered_at_once_however_many_missed() -> None:
    server = Server(PODS)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        for _ in range(3):
            await asking.ask("nothings")
        await asking.ask("widgets")
        await server.clock.advance(1.0)
        server.resources.append(WIDGETS)
        server.mapper.invalidate()
        await asking.ask("pods")
    assert server.asked == [0.0, 0.0, 0.0, 1.0]
    assert [asking.found[number] for number in (3, 4)] == [(WIDGETS, 1.0), (PODS, 1.0)]
    assert server.clock.next_timer is None


async def test_a_loop_that_forgets_is_held_back() -> None:
    server = Server(PODS)

    async def loop() -> None:
        while True:
            server.mapper.invalidate()
            await server.mapper.find("pods")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loop)
        await server.clock.advance(10.0)
        tasks.cancel_scope.cancel()
    assert server.asked[:7] == [0.0] * 6 + [1.0]
    assert len(server.asked) <= 3 + 2 + 3 + 10


async def test_what_was_read_before_it_was_forgotten_is_not_believed() -> None:
    server = Server(WIDGETS, latency=1.0)
    async with anyio.create_task_group() as tasks:
        asking = Asking(server, tasks)
        await asking.ask("widgets")
        await server.clock.advance(0.5)
        server.resources.remove(WIDGETS)
        server.mapper.invalidate()
        await asking.ask("widgets")
        await server.clock.advance(10.0)
    assert isinstance(asking.found[1][0], NoMatchError)
    assert len(server.asked) == 2


async def test_an_unforeseen_error_is_told_to_whoever_meets_it() -> None:
    server = Server(PODS)
    server.failure = RuntimeError("this client is not open")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not open"):
            await server.mapper.find("pods")
    server.failure = None
    assert await server.mapper.find("pods") == PODS


async def test_a_client_has_one_that_asks_its_server() -> None:
    served = Served(ALL_AT_ONCE)
    client = Client("http://server", transport=served)
    with pytest.raises(RuntimeError, match="not open"):
        await client.mapper.find("deploy")
    async with client:
        assert await client.mapper.find("deploy") == Resource.builtin("Deployment")
        assert await client.mapper.find_kind("v1", "Node") == Resource.builtin("Node")
    assert served.asked == ["/api", "/apis"]
