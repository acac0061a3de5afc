import socket
import threading

import anyio
import pytest

from kinformer.observe import Address, HttpServer, ListenError
from kinformer.observe._answers import Answer
from kinformer.testing import FakeClock, settle
from tests.unit.observe.pipe import Pipe, Refusing

QUESTION = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n"


def server(clock: FakeClock | None = None) -> HttpServer:
    return HttpServer(Address("", 0), {"/a": lambda: Answer("hello")}, clock=clock or FakeClock())


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        (":8080", "", 8080, ":8080"),
        ("127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0"),
        ("[::1]:65535", "::1", 65535, "[::1]:65535"),
        ("localhost:80", "localhost", 80, "localhost:80"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int, shown: str) -> None:
    address = Address.parse(text)
    assert address == (host, port)
    assert str(address) == shown


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "must be 'host:port'"),
        ("8080", "must be 'host:port'"),
        ("::1:8080", "must be 'host:port'"),
        ("host:", "has the port ''"),
        ("host:http", "has the port 'http'"),
        ("host:65536", "from 0 to 65535"),
        ("host:-1", "has the port '-1'"),
        ("http://host:80", "must be 'host:port'"),
    ],
)
def test_what_is_no_address_is_refused_with_what_would_be_one(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Address.parse(text)


def test_a_port_alone_is_no_address() -> None:
    with pytest.raises(TypeError, match="must be a text such as ':8080'"):
        Address.parse(8080)  # type: ignore[arg-type]  # a user's mistake


async def test_questions_on_one_connection_are_answered_in_turn_until_the_client_has_enough() -> None:
    pipe = Pipe(QUESTION + QUESTION, LAST[:20], LAST[20:])
    await server().converse(pipe)
    assert pipe.sent.count(b"HTTP/1.1 200 OK") == pipe.sent.count(b"hello") == 3
    assert pipe.is_closed


async def test_a_head_has_no_body() -> None:
    pipe = Pipe(LAST.replace(b"GET", b"HEAD"))
    await server().converse(pipe)
    assert pipe.sent.endswith(b"\r\n\r\n")
    assert b"Content-Length: 5" in pipe.sent


async def test_what_takes_long_to_make_is_made_in_a_thread() -> None:
    here, there = threading.get_ident(), list[int]()

    def make() -> bytes:
        there.append(threading.get_ident())
        return b"made"

    pipe = Pipe(LAST)
    await HttpServer(Address("", 0), {"/a": lambda: Answer(make)}, clock=FakeClock()).converse(pipe)
    assert pipe.sent.endswith(b"\r\n\r\nmade")
    assert b"Content-Length: 4" in pipe.sent
    assert there != [here]


async def test_what_is_no_request_is_told_so_and_the_connection_closed() -> None:
    pipe = Pipe(QUESTION, b"\x16\x03\x01", QUESTION)
    await server().converse(pipe)
    assert pipe.sent.count(b"HTTP/1.1") == 2
    assert b"400 Bad Request" in pipe.sent
    assert pipe.is_closed


@pytest.mark.parametrize("said", [(), (QUESTION,), (b"GET /",)], ids=["at once", "after one", "midway"])
async def test_a_client_that_hangs_up_is_let_go(said: tuple[bytes, ...]) -> None:
    pipe = Pipe(*said)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server().converse, pipe)
        await settle()
        pipe.hang_up()
    assert pipe.is_closed


async def test_a_client_that_is_gone_before_its_answer_is_no_error() -> None:
    pipe = Pipe(QUESTION, is_gone=True)
    await server().converse(pipe)
    assert pipe.is_closed


async def test_an_idle_connection_is_closed_after_75_seconds() -> None:
    clock, pipe = FakeClock(), Pipe(QUESTION)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server(clock).converse, pipe)
        await clock.advance(74.0)
        pipe.say(QUESTION)
        await clock.advance(74.0)
        assert not pipe.is_closed
        await clock.advance(1.0)
        assert pipe.is_closed
    assert pipe.sent.count(b"hello") == 2


async def test_a_question_that_comes_letter_by_letter_must_be_whole_in_ten_seconds() -> None:
    clock, pipe = FakeClock(), Pipe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server(clock).converse, pipe)
        await clock.advance(20.0)
        for letter in range(9):
            pipe.say(QUESTION[letter : letter + 1])
            await clock.advance(1.0)
        assert not pipe.is_closed
        pipe.say(QUESTION[9:10])
        await clock.advance(1.0)
        assert pipe.is_closed
    assert pipe.sent == b""


async def test_a_client_that_does_not_read_is_left_after_ten_seconds() -> None:
    clock, pipe = FakeClock(), Pipe(QUESTION, is_stuck=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server(clock).converse, pipe)
        await clock.advance(9.0)
        assert not pipe.is_closed
        await clock.advance(1.0)
        assert pipe.is_closed


async def test_one_connection_too_many_takes_the_place_of_the_one_that_is_quiet_for_longest() -> None:
    one = server()
    pipes = [Pipe() for _ in range(64)]
    async with anyio.create_task_group() as tasks:
        for pipe in pipes:
            tasks.start_soon(one.converse, pipe)
        await settle()
        pipes[0].say(QUESTION)
        await settle()
        probe = Pipe(LAST)
        await one.converse(probe)
        assert b"hello" in probe.sent
        await settle()
        assert [pipe.is_closed for pipe in pipes] == [False, True] + [False] * 62
        pipes.append(Pipe())
        tasks.start_soon(one.converse, pipes[-1])
        await settle()
        assert [pipe.is_closed for pipe in pipes] == [False, True] + [False] * 63
        tasks.cancel_scope.cancel()


async def test_one_connection_too_many_is_closed_where_all_others_wait_for_their_answer() -> None:
    one = server()
    pipes = [Pipe(QUESTION, is_stuck=True) for _ in range(64)]
    async with anyio.create_task_group() as tasks:
        for pipe in pipes:
            tasks.start_soon(one.converse, pipe)
        await settle()
        late = Pipe(LAST)
        await one.converse(late)
        assert late.is_closed
        assert late.sent == b""
        assert not any(pipe.is_closed for pipe in pipes)
        tasks.cancel_scope.cancel()


async def test_an_answer_that_fails_in_its_thread_ends_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> bytes:
        raise OSError("a collector is broken")

    routes = {"/a": lambda: Answer(fail), "/b": lambda: Answer("hello")}
    pipe = Pipe(QUESTION, LAST.replace(b"/a", b"/b"))
    await HttpServer(Address("", 0), routes, clock=FakeClock()).converse(pipe)
    assert b"500 Internal Server Error" in pipe.sent
    assert pipe.sent.endswith(b"hello")
    assert "a collector is broken" in caplog.text


async def test_an_address_in_use_is_told_with_what_to_do() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        busy = HttpServer(Address("127.0.0.1", port), {}, clock=FakeClock())
        with pytest.raises(
            ListenError, match=f"cannot listen on address='127.0.0.1:{port}': .* in use; choose another"
        ):
            await busy.run()


async def test_a_server_that_cannot_accept_tries_again_each_second(caplog: pytest.LogCaptureFixture) -> None:
    clock, listener = FakeClock(), Refusing()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server(clock)._accept, listener, tasks)
        await clock.advance(2.5)
        tasks.cancel_scope.cancel()
    assert listener.tries == 3
    assert "Too many open files" in caplog.text


async def test_closing_before_it_runs_is_harmless() -> None:
    server().close()
