"""Client: one cluster, from inside a program."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from copy import copy
from datetime import datetime
from functools import partial
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from kinformer.client._calls import Call
from kinformer.client._config import Config, load_config
from kinformer.client._kubeconfig import Kubeconfig
from kinformer.client._logs import log_call, open_log
from kinformer.client._mapper import Mapper
from kinformer.client._rate_limit import RateLimit
from kinformer.client._resource import ResourceClient
from kinformer.client._target import Target
from kinformer.client._witness import Witness
from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, guarded
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    import httpx

__all__ = ["Client"]

T = TypeVar("T")

_TIMEOUT = 65.0
"""Seconds: a server gives up on a request after 60 (``--request-timeout``)."""


class Client:
    """Speaks to one cluster while it is entered: ``async with Client() as client: ...``.

    Entering finds the configuration and reads its files; it sends nothing. Leaving closes all connections. A client
    is entered once. All of it belongs to one event loop.

    Args:
        config: Where the cluster is: a ``Config``, a ``Kubeconfig``, a URL, or ``None`` for in-cluster, else the
            current context of the kubeconfig.
        transport: What carries the requests instead of sockets, such as ``kinformer.testing.AppTransport``; it is
            entered and closed together with the client.
        timeout: Seconds that one try of one request may take in all, watches excepted.
        clock: Measures timeouts and waits before retries.
        random: Spreads the retries.
        hooks: Hear of each try and of the server's warnings.
        rate_limit: How many requests the client may make; ``None`` for no bound. Each try of each request takes its turn,
            first come, first served, before its ``timeout`` begins; watches do not count (as in client-go).
        streaming: Whose HTTP carries lists, watches and all else that is read: ``"kinformer"`` is our own transport, which
            is several times cheaper for each event, ``"httpx"`` is that of httpx, which carries all else in any case, and
            everything where there is a proxy. It says nothing where a ``transport`` is given.
    """

    def __init__(
        self,
        config: Config | Kubeconfig | str | None = None,
        *,
        transport: "httpx.AsyncBaseTransport | None" = None,
        timeout: float = _TIMEOUT,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
        rate_limit: RateLimit | None = None,
        streaming: Literal["kinformer", "httpx"] = "kinformer",
    ) -> None:
        # With it come httpx and tenacity: only for those who speak to a server, not for all who import kinformer.
        from kinformer.client._discovery import discover
        from kinformer.client._http import Http

        if config is not None and not isinstance(config, Config | Kubeconfig | str):
            raise TypeError(
                f"config={config!r} must be a Config, a Kubeconfig, a URL, or None to look for one; "
                "a file is given as Kubeconfig(path)"
            )
        if isinstance(config, str) and "://" not in config:
            shown = "" if "@" in config else f"={config!r}"  # it may hold a password
            raise ValueError(
                f"config{shown} must be a URL like 'https://host:6443'; a file is given as Kubeconfig(path)"
            )
        if not timeout > 0:
            raise ValueError(f"timeout={timeout!r} must be seconds above 0")
        if rate_limit is not None and not isinstance(rate_limit, RateLimit):
            raise TypeError(
                f"rate_limit={rate_limit!r} must be a RateLimit(rate, burst), or None for no bound"
            )
        if streaming not in {"kinformer", "httpx"}:
            raise ValueError(f"streaming={streaming!r} must be 'kinformer' or 'httpx'")
        self._given = Config(config) if isinstance(config, str) else config
        self._config = self._given if isinstance(self._given, Config) else None
        self._clock = clock or SystemClock()
        self._http = Http(
            transport,
            timeout=timeout,
            clock=self._clock,
            random=random or Random(),  # noqa: S311 -- spreads retries, keeps no secret
            hooks=guarded(hooks),
            rate_limit=rate_limit,
            streaming=streaming,
        )
        self._mapper = Mapper(partial(discover, self._http), clock=self._clock)
        self._is_entered = False
        self._is_closed = False

    @property
    def config(self) -> Config:
        """The configuration in use.

        Raises:
            RuntimeError: The client was given none, and has not been entered, so that it has not looked for one.
        """
        if self._config is None:
            raise RuntimeError(
                "this client has not looked for its configuration: it does so when it is entered"
            )
        return self._config

    @property
    def clock(self) -> Clock:
        """The clock that the client measures by."""
        return self._clock

    @property
    def mapper(self) -> Mapper:
        """Finds resources by name or kind, and remembers what the server serves."""
        return self._mapper

    async def __aenter__(self) -> Self:
        if self._is_closed:
            raise ClosedError("this client is closed: make a new one")
        if self._is_entered:
            raise RuntimeError("this client is entered already: use it inside its one 'async with' block")
        self._is_entered = True
        if isinstance(self._given, Kubeconfig):
            self._config = await self._given.load(clock=self._clock)
        elif self._config is None:
            self._config = await load_config(clock=self._clock)
        await self._http.open(self._config)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_closed = True
        await self._http.aclose()

    @overload
    def resource(self, resource: Resource) -> ResourceClient[Object]: ...
    @overload
    def resource(self, resource: Resource, model: type[T]) -> ResourceClient[T]: ...
    def resource(self, resource: Resource, model: type[Any] = Object) -> ResourceClient[Any]:
        """The verbs of one resource.

        Args:
            resource: Which one; ``Resource.builtin("Pod")`` for those that every cluster has.
            model: What objects are decoded into: ``Object``, or a type that ``Object.decode`` takes.
        """
        return ResourceClient(self._http, Target(resource), model)

    def witnessed(self, witness: Witness) -> "Client":
        """This client, once it is entered, with somebody who hears of all that it writes, and may object.

        It shares the connections, and ends with this one; it is not entered by itself.

        Raises:
            RuntimeError: The client is not entered.
        """
        from kinformer.client._witnessed import WitnessedHttp

        if not self._is_entered:
            raise RuntimeError("enter this client before it gets a witness")
        other = copy(self)
        other._http = WitnessedHttp(self._http, witness)  # noqa: SLF001 -- a copy of ours
        return other

    def told_to(self, hooks: Hooks) -> "Client":
        """This client, once it is entered, with hooks that hear of its requests beside its own.

        It shares the connections, and ends with this one; it is not entered by itself.

        Raises:
            RuntimeError: The client is not entered.
        """
        if not self._is_entered:
            raise RuntimeError("enter this client before it tells others")
        other = copy(self)
        other._http = self._http.told_to(hooks)
        return other

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes = b"",
        content_type: str = "application/json",
    ) -> bytes:
        """Ask for a path that belongs to no resource, such as ``/version``, and return the body of the answer.

        Raises:
            RequestError: As for the verbs of a resource; retried by the same rules.
            ValueError: The path does not begin with a slash: it would be read as a part of the server's name.
        """
        if not path.startswith("/"):
            raise ValueError(f"path {path!r} must begin with a slash, as '/version' does")
        return await self._http.request(Call(method, path, params or {}, content, content_type))

    def logs(
        self,
        pod: ObjectKey | str,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since_seconds: int = 0,
        since_time: datetime | None = None,
        tail_lines: int | None = None,
        limit_bytes: int = 0,
        timestamps: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Read a container's log as it comes: ``async with client.logs(...) as chunks: async for chunk in chunks: ...``.

        A chunk is what one read gave, and may begin and end anywhere in a line. It is tried once, and not gone on with
        when the connection is lost; there is no limit of time. Leaving the block closes the connection.

        Args:
            pod: ``"namespace/name"`` of the pod.
            container: Which one; needed where the pod has several, and none is annotated as its default.
            follow: Go on until the container ends; else until what is there has been read.
            previous: That of the instance before, such as one that crashed.
            since_seconds: Only what is younger; 0 for all.
            since_time: Only what is younger than this moment, in whole seconds.
            tail_lines: Only so many lines from the end; ``None`` for all.
            limit_bytes: Stop after so many; 0 for no limit.
            timestamps: Begin each line with its time, in RFC 3339.

        Raises:
            BadRequestError: From entering: the container has not been chosen, or has not started.
            NotFoundError: From entering: there is no such pod.
            TransportError: From entering or iterating: no connection, or it was lost.
            ValueError: At once: a number is negative, a time has no zone, or both beginnings are given.
        """
        call = log_call(
            pod,
            container=container,
            follow=follow,
            previous=previous,
            since_seconds=since_seconds,
            since_time=since_time,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            timestamps=timestamps,
        )
        return open_log(self._http, call)

    async def read_logs(
        self,
        pod: ObjectKey | str,
        *,
        container: str = "",
        previous: bool = False,
        since_seconds: int = 0,
        since_time: datetime | None = None,
        tail_lines: int | None = None,
        limit_bytes: int = 0,
        timestamps: bool = False,
    ) -> bytes:
        """Read what a container has written, as a whole, with the arguments of ``logs``.

        It is a request like any other: within the client's ``timeout``, and tried again by the same rules.

        Raises:
            RequestError: As from entering ``logs``.
            ValueError: As for ``logs``.
        """
        call = log_call(
            pod,
            container=container,
            follow=False,
            previous=previous,
            since_seconds=since_seconds,
            since_time=since_time,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            timestamps=timestamps,
        )
        return await self._http.request(call)
