"""What others see a manager through, cancelled wherever it waits: no connection and no socket is left open."""

import anyio
from anyio.lowlevel import checkpoint

from kinformer.observe import Address, HttpServer, Observation, Report
from kinformer.observe._answers import Answer
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock
from tests.scenario.cancelling.sweep import Sweep
from tests.unit.observe.pipe import Pipe, Refusing

GOOD = b"GET /a HTTP/1.1\r\n\r\n"
ROUTES = {"/a": lambda: Answer(b"hello".upper)}  # made in a thread
REPORT = Report("running", (), (), ())


async def conversations(sweep: Sweep) -> None:
    """Clients that ask well and badly, in memory."""
    pipes: list[Pipe] = []

    async def converse() -> None:
        clock = FakeClock()
        server = HttpServer(Address("", 0), ROUTES, clock=clock)
        async with anyio.create_task_group() as tasks:
            for said in (GOOD, b"nonsense"):
                pipes.append(Pipe(said, yields=True))
                tasks.start_soon(server.converse, pipes[-1])
            while not pipes[-2].sent:  # a thread takes its time
                await checkpoint()
            await clock.advance(80.0)

    async def all_are_closed() -> None:
        assert all(pipe.is_closed for pipe in pipes)
        pipes.clear()

    await sweep.of(converse, whole=all_are_closed)


async def servers(sweep: Sweep) -> None:
    """On a socket, with a client; and one that cannot accept."""

    async def serve() -> None:
        server = Observation(Address("127.0.0.1", 0), lambda: REPORT, load=dict, clock=SystemClock())
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run)
            port = int(server.url.rpartition(":")[2])
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(GOOD)
                await stream.receive()
            server.close()

    async def accept() -> None:
        clock, listener = FakeClock(), Refusing()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(HttpServer(Address("", 0), ROUTES, clock=clock)._accept, listener, tasks)
            await clock.advance(2.0)
            tasks.cancel_scope.cancel()

    await sweep.of(serve)
    await sweep.of(accept)
