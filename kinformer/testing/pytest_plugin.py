"""The pytest plugin: a ``cluster`` fixture for tests that run under pytest-asyncio.

pytest-asyncio runs the setup of a fixture, the test, and the teardown as three tasks, so a fixture that yields inside
a task group leaves the group in another task than it entered, and a failure of the group never reaches the test
(https://github.com/pytest-dev/pytest-asyncio/issues/1191). Here the cluster lives in a task of its own instead.

Imported whenever pytest starts, in projects that never heard of clusters, too; so it is cheap, and imports the server
only inside the fixture.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
import pytest

if TYPE_CHECKING:
    from kinformer.testing import Cluster

__all__ = ["cluster", "cluster_for"]

C = TypeVar("C")

try:
    import pytest_asyncio
except ImportError:

    @pytest.fixture
    def cluster() -> None:
        """Say what is missing."""
        raise RuntimeError("the cluster fixture needs pytest-asyncio: pip install 'kinformer[test]'")

else:

    @pytest_asyncio.fixture
    async def cluster(  # type: ignore[misc]  # one of the two, never both
        request: pytest.FixtureRequest,
    ) -> "AsyncIterator[Cluster]":
        """An empty ``Cluster``, new for each test; see ``cluster_for`` for one with content."""
        from kinformer.testing import Cluster

        async with cluster_for(request, Cluster()) as opened:
            yield opened


@asynccontextmanager
async def cluster_for(
    request: pytest.FixtureRequest, cluster: AbstractAsyncContextManager[C]
) -> AsyncIterator[C]:
    """Keep a cluster open around the ``yield`` of a fixture of your own.

    .. code-block:: python

        @pytest_asyncio.fixture
        async def shop(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
            async with cluster_for(request, Cluster(CRD, pod("web"))) as cluster:
                yield cluster

    A failure inside the cluster cancels the test at once, and fails it with that failure as the cause.

    Args:
        request: The ``request`` of a fixture of function scope.
        cluster: A ``Cluster`` that has not been entered.

    Raises:
        RuntimeError: The cluster failed, and the test has not reported it.
    """
    keeper = _Keeper(cluster)
    opened = await keeper.open()
    try:
        with _watched(request.node, keeper):
            yield opened
    finally:
        await keeper.close()


class _Keeper(Generic[C]):
    """The one task of ours without a task group: it enters the cluster, waits to be told, and leaves it.

    Its owner is the fixture: ``open`` and ``close`` may run in different tasks of one event loop, and whatever ends the
    task is kept here until it has been reported.
    """

    def __init__(self, cluster: AbstractAsyncContextManager[C]) -> None:
        self._cluster = cluster
        self._loop = asyncio.get_running_loop()
        self._closing = anyio.Event()
        self._opened: asyncio.Future[C] = self._loop.create_future()
        self._task: asyncio.Task[None] | None = None
        self._test: asyncio.Task[Any] | None = None
        self._failure: BaseException | None = None

    async def open(self) -> C:
        """Start the task, and return what the cluster gave on entry."""
        self._task = self._loop.create_task(self._keep(), name="the cluster fixture")
        try:
            return await self._opened
        except BaseException:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise

    async def close(self) -> None:
        """Let the task leave the cluster, and wait until it has; raise what went wrong, unless the test did."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task})
        self._report()

    async def watch(self, test: Callable[[], Awaitable[None]]) -> None:
        """Be the test: end early, and as a failure, when the cluster fails."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "the test runs in another event loop than its cluster: give both the same loop scope, for example by "
                "asyncio_default_fixture_loop_scope and asyncio_default_test_loop_scope"
            )
        self._test = asyncio.current_task()
        try:
            if self._failure is None:
                await test()
        finally:
            self._test = None
            self._report()

    async def _keep(self) -> None:
        try:
            async with self._cluster as opened:
                self._opened.set_result(opened)
                await self._closing.wait()
        except BaseException as failure:  # noqa: BLE001 -- handed to whoever can report it; nobody awaits this task
            if not self._opened.done():
                self._opened.set_exception(failure)
                return
            self._failure = failure
            if self._test is not None:
                self._test.cancel()

    def _report(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise RuntimeError("the cluster failed while the test was running") from failure


@contextmanager
def _watched(item: pytest.Item, keeper: _Keeper[Any]) -> Iterator[None]:
    """Put the keeper between pytest-asyncio and the test function, which is the only way to know the test's task."""
    function: Callable[..., Any] | None = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(function):
        yield
        return

    @wraps(function)
    async def watched(*args: Any, **kwargs: Any) -> None:
        await keeper.watch(partial(function, *args, **kwargs))

    item.obj = watched  # type: ignore[attr-defined]  # what pytest-asyncio reads when it runs the test
    try:
        yield
    finally:
        item.obj = function  # type: ignore[attr-defined]  # likewise
