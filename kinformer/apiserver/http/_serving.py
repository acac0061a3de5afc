"""Serving: an ASGI application on a socket, by uvicorn, inside our own task group."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Receive, Scope, Send

from kinformer.apiserver.http._certificates import make_identity
from kinformer.apiserver.http._kubeconfig import kubeconfig_text, write_kubeconfig
from kinformer.apiserver.http._watching import STREAMS, Streams
from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    import uvicorn

__all__ = ["Endpoint", "serve"]

_GRACE: Final = 0.5
"""Seconds that requests get to end by themselves when the server stops; then their connections are reset."""

_KEEP_ALIVE: Final = 120
"""Seconds that an idle connection stays open: longer than Go's clients keep theirs (90)."""


_BACKLOG: Final = 128
"""Connections that may wait to be accepted."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens.

    Attributes:
        host: As it was asked for.
        port: The port, never 0.
        authority: Who signed its certificate, as PEM text: what clients must trust. ``""`` where it speaks plain HTTP.
        token: What the kubeconfig's user shows; ``""`` for nothing.
    """

    host: str
    port: int
    authority: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.authority else 'http'}://{host}:{self.port}"

    def write_kubeconfig(self, path: str | os.PathLike[str]) -> Path:
        """Write a kubeconfig that leads here, mode 0600, in one step; gives its path.

        Raises:
            FileExistsError: There is a file that kinformer did not write; it is left as it is.
            OSError: The place cannot be written to.
        """
        text = kubeconfig_text(self.url, authority=self.authority, token=self.token)
        return write_kubeconfig(path, text)


@asynccontextmanager
async def serve(
    app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0, tls: bool = False, token: str = ""
) -> AsyncIterator[Endpoint]:
    """Serve ``app`` until the block ends; port 0 takes a free one. Without signal handlers.

    At the end no connection is accepted any more, watches end properly at once, other requests get half a second, and
    what is left is reset. Real time, whatever clock the application has: sockets know no other.

    Args:
        app: The application.
        host: The address.
        port: The port.
        tls: Whether to speak HTTPS, with a certificate of an authority made for this.
        token: What the endpoint's kubeconfig has.

    Raises:
        OSError: The address cannot be listened on, for instance because it is in use.
    """
    listener = _listen(host, port)
    try:
        identity = make_identity(host) if tls else None
        serving = _Serving(app, identity.context if identity else None)
    except BaseException:
        listener.close()
        raise
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serving.run, listener)
        try:
            yield Endpoint(host, listener.getsockname()[1], identity.authority if identity else "", token)
        except Exception as error:  # noqa: BLE001 -- the block's own, on its way out; the task group would wrap it
            failure = error
        finally:
            tasks.start_soon(serving.stop)  # which no cancellation of the block's own task may break off
    if failure is not None:
        raise failure


class _Serving:
    """One uvicorn server, and the requests in it."""

    def __init__(self, app: ASGIApp, context: ssl.SSLContext | None) -> None:
        self._app = app
        self._server = _uvicorn_server(self._request, context)
        self._streams = Streams()
        self._requests: set[anyio.CancelScope] = set()
        self._finished = anyio.Event()

    async def run(self, listener: socket.socket) -> None:
        """Serve until ``stop``; a cancellation waits for that, since uvicorn leaves its listener open otherwise."""
        try:
            with anyio.CancelScope(shield=True):
                await self._server.serve(sockets=[listener])
        finally:
            listener.close()
            self._finished.set()

    async def stop(self) -> None:
        """End everything within a second; not cut short by a cancellation."""
        clock = SystemClock()
        self._server.should_exit = True
        self._streams.end_all()
        with anyio.CancelScope(shield=True):
            with clock.move_on_after(_GRACE):
                await self._finished.wait()
            if self._finished.is_set():
                return
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()
            await checkpoint()  # so that uvicorn knows of the disconnects before the requests end
            self._server.force_exit = True
            for scope in list(self._requests):
                scope.cancel()
            await self._finished.wait()

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), STREAMS: self._streams}
        with anyio.CancelScope() as request:
            self._requests.add(request)
            try:
                await self._app(scope, receive, send)
            finally:
                self._requests.discard(request)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only for sockets that say TCP; measured: 44 ms
    # for each request on a kept connection otherwise.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        advice = "choose another port, or port 0 for a free one"
        raise OSError(
            error.errno, f"cannot listen on {host}:{port}: {error.strerror or error}; {advice}"
        ) from error
    except BaseException:
        listener.close()
        raise
    return listener


def _uvicorn_server(
    app: Callable[[Scope, Receive, Send], Awaitable[None]], context: ssl.SSLContext | None
) -> "uvicorn.Server":
    import uvicorn  # costs 50 ms, and a server in memory does without
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Protocol(HttpToolsProtocol):
        """Leaves no timer behind where a connection is reset; uvicorn's own keeps that of an idle one, and all it holds."""

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.timeout_keep_alive_task is not None:
                self.timeout_keep_alive_task.cancel()

    class Server(uvicorn.Server):
        """Leaves the signals to whoever runs the program."""

        def capture_signals(self) -> Any:
            return nullcontext()

    config = uvicorn.Config(
        cast("Any", app),  # uvicorn's own types for ASGI differ from Starlette's
        http=Protocol,
        ws="none",
        interface="asgi3",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    config.load()
    config.ssl = context
    return Server(config)
