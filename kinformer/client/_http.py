"""One request, one stream: what lies between the verbs and httpx.

All failures of httpx, and all answers other than success, become the errors that ``_failures`` makes of them.
Retries are performed here and decided in ``_retry``.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Final, Self, TypeVar
from urllib.parse import quote

import anyio
import httpx
import tenacity

from kinformer.client._auth import Authentication
from kinformer.client._calls import Call
from kinformer.client._chunks import Chunks
from kinformer.client._config import Config
from kinformer.client._failures import FAILURES, answer_error, transport_error
from kinformer.client._proxies import Proxy, proxy_for
from kinformer.client._rate_limit import RateLimit
from kinformer.client._receiving import Receiver, Whole, body_of
from kinformer.client._retry import delay_before, is_worth_retrying
from kinformer.client._transports import Streaming, transport_for
from kinformer.client._turns import Turns
from kinformer.client._warnings import Warnings
from kinformer.clock import Clock
from kinformer.errors import ClosedError, RequestError, TransportError
from kinformer.hooks import Hooks, RequestFinished, together

__all__ = ["Http"]

T = TypeVar("T")

_logger: Final = logging.getLogger("kinformer.client")

_CONNECT: Final = 10.0
"""Seconds to reach the server, name look-up and TLS included."""

_CLOSE: Final = 5.0
"""Seconds that closing a stream may take."""

_LONG_WAIT: Final = 1.0
"""Seconds in line for the rate limit that are worth a line in the log."""

_ERROR_BODY: Final = 1024 * 1024
"""Bytes of a refusal that are read."""


class Http:
    """The connection pool of one client, open between ``open`` and ``aclose``, once."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None,
        *,
        timeout: float,
        clock: Clock,
        random: Random,
        hooks: Hooks,
        rate_limit: RateLimit | None = None,
        streaming: Streaming = "kinformer",
    ) -> None:
        self._transport = transport
        self._streaming: Final = streaming
        self._timeout = timeout
        self._random = random
        self._hooks = hooks
        self._warnings = Warnings(hooks)
        self._turns = Turns(rate_limit, clock) if rate_limit else None
        self._pool: httpx.AsyncClient | None = None
        self._url = self._host = ""
        self._proxy: Proxy | None = None
        self._is_closed = False
        self.clock: Final = clock

    async def open(self, config: Config) -> None:
        """Get ready; nothing is sent yet.

        Raises:
            ConfigError: A file of the TLS settings, or the proxy, cannot be used.
        """
        if config.url.startswith("https:") and not config.tls.verify:
            _logger.warning(
                "the certificate of %s is not verified: anybody in between can read and write", config.url
            )
        transport = self._transport
        if transport is None:
            transport = transport_for(config, streaming=self._streaming, clock=self.clock)
            self._proxy = proxy_for(config.url, config.proxy)
        pool = httpx.AsyncClient(
            auth=Authentication(config.credentials, self._opened),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none, as client-go
            headers=[("User-Agent", _user_agent()), *config.headers],
            timeout=httpx.Timeout(None, connect=_CONNECT),  # the total is bounded on our clock
            trust_env=False,  # what counts of it is in the transport
            transport=transport,
        )
        await pool.__aenter__()
        self._pool, self._url, self._host = pool, config.url, httpx.URL(config.url).netloc.decode("ascii")

    async def aclose(self) -> None:
        """Close all connections; what is under way fails."""
        pool, self._pool, self._is_closed = self._pool, None, True
        if pool is not None:
            await pool.__aexit__(None, None, None)

    def told_to(self, hooks: Hooks) -> Self:
        """The same, open by now, that tells these hooks as well; the connections are shared, and the other's to close."""
        other = copy(self)
        other._hooks = together(self._hooks, hooks)
        other._warnings = Warnings(other._hooks)
        return other

    async def request(self, call: Call, *, retries: bool = True) -> bytes:
        """Make a request and return the body of its answer.

        Raises:
            ApiError: The server refused.
            TransportError: No answer came, or not in time.
        """
        return await self.receive(call, Whole, retries=retries)

    async def receive(self, call: Call, receiver: Callable[[], Receiver[T]], *, retries: bool = True) -> T:
        """Make a request and return what a receiver makes of the body of its answer, while that arrives.

        Args:
            call: What to ask.
            receiver: Makes one for each try.
            retries: Whether to try again what is worth it.

        Raises:
            ApiError: The server refused.
            TransportError: No answer came, or not in time.
        """
        await self.take_turn()
        if not retries:
            return await self._once(call, receiver, 1)
        started = self.clock.monotonic()
        tries = tenacity.AsyncRetrying(
            sleep=self._pause,
            retry=lambda state: self._is_worth_retrying(call, state, started),
            wait=self._wait,
            reraise=True,
        )
        try:
            async for attempt in tries:
                with attempt:
                    return await self._once(call, receiver, attempt.retry_state.attempt_number)
        except RequestError as error:
            # Its traceback begins here: what lies below is ours and tenacity's, and says nothing to who called.
            raise error.with_traceback(None)  # noqa: B904 -- its own cause stays
        raise AssertionError("the last try either returned or raised")

    def stream(self, call: Call, *, within: float) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Make one try at a request whose answer has no end, and read it in the chunks in which it arrives.

        Closing ends the connection, at once, also when the block is cancelled.

        Args:
            call: What to ask.
            within: Seconds after which the server should long have ended the stream; then iteration raises.

        Raises:
            ApiError: From entering: the server refused.
            TransportError: From entering and from the iteration.
        """
        return self._stream(call, within)

    async def take_turn(self) -> None:
        """Wait until the rate limit lets one more request through; ``request`` does so before each try."""
        if self._turns is None:
            return
        started = self.clock.monotonic()
        await self._turns.take()
        if (waited := self.clock.monotonic() - started) > _LONG_WAIT:
            _logger.debug("waited %.1f s for a turn, since the client has a rate limit", waited)

    async def _once(self, call: Call, receiver: Callable[[], Receiver[T]], attempt: int) -> T:
        pool = self._opened()
        started, code, response, body = self.clock.monotonic(), 0, None, None
        wanted, refusal = receiver(), Whole()
        try:
            with self.clock.move_on_after(self._timeout):
                response = await pool.send(self._built(pool, call), stream=True)
                received = wanted if response.is_success else refusal
                body = body_of(response)
                async for chunk in body:
                    received.feed(chunk)
                code = response.status_code
        except (*FAILURES, httpx.InvalidURL) as error:
            raise transport_error(call, error, self._proxy) from error
        finally:
            if response is not None:
                await self._leave(response, body, is_whole=code != 0)
            self._finished(call, code, started, attempt)
        if response is None or not code:
            raise TransportError(f"{call}: no answer within {self._timeout:g} s")
        self._warnings.take(call.path, response.headers.get_list("warning"))
        if not response.is_success:
            raise answer_error(call, code, refusal.finish(), response.headers, self._proxy)
        return wanted.finish()

    @asynccontextmanager
    async def _stream(self, call: Call, within: float) -> AsyncGenerator[AsyncIterator[bytes]]:
        pool = self._opened()
        started, code, response, chunks = self.clock.monotonic(), 0, None, None
        try:
            try:
                with self.clock.move_on_after(self._timeout):
                    request = self._built(pool, call, {"Accept-Encoding": "identity"})
                    response = await pool.send(request, stream=True)
            except (*FAILURES, httpx.InvalidURL) as error:
                raise transport_error(call, error, self._proxy) from error
            if response is None:
                raise TransportError(f"{call}: no answer within {self._timeout:g} s")
            code = response.status_code
            self._warnings.take(call.path, response.headers.get_list("warning"))
            chunks = Chunks(call, response, self.clock, started + within, self._proxy)
            if code != 200:
                body = await chunks.some(_ERROR_BODY, self._timeout)
                raise answer_error(call, code, body, response.headers, self._proxy)
            yield chunks
        finally:
            if response is not None:
                source, is_whole = (chunks.source, chunks.is_whole) if chunks is not None else (None, False)
                await self._leave(response, source, is_whole=is_whole)
            self._finished(call, code, started, 1, is_stream=True)

    async def _leave(
        self, response: httpx.Response, body: AsyncIterator[bytes] | None, *, is_whole: bool
    ) -> None:
        """Be done with an answer, read or not."""
        with anyio.CancelScope(shield=True), self.clock.move_on_after(_CLOSE):
            if isinstance(body, AsyncGenerator):
                await body.aclose()
            connection = response.extensions.get("network_stream")
            if connection is not None and not is_whole and response.http_version != "HTTP/2":
                # httpcore loses sight of its connection, and leaves it open, where Task.cancel comes while it closes it.
                await connection.aclose()
            await response.aclose()

    def _opened(self) -> httpx.AsyncClient:
        if self._pool is None:
            if self._is_closed:
                raise ClosedError("this client is closed: make a new one")
            raise RuntimeError("this client is not open: write 'async with Client(...) as client'")
        return self._pool

    def _built(
        self, pool: httpx.AsyncClient, call: Call, headers: Mapping[str, str] | None = None
    ) -> httpx.Request:
        sent = {"Accept": call.accept, **(headers or {})}
        if call.content:
            sent["Content-Type"] = call.content_type
        return pool.build_request(
            call.method,
            self._url + quote(call.path, safe="/:"),
            params={name: value for name, value in call.params.items() if value} or None,
            content=call.content or None,
            headers=sent,
        )

    def _is_worth_retrying(self, call: Call, state: tenacity.RetryCallState, started: float) -> bool:
        error = state.outcome.exception() if state.outcome else None
        spent = self.clock.monotonic() - started
        return error is not None and is_worth_retrying(
            call.method, error, attempt=state.attempt_number, spent=spent
        )

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, RequestError)  # noqa: S101 -- nothing else is retried
        delay = delay_before(state.attempt_number + 1, error, self._random)
        _logger.debug("trying again in %.2f s: %s", delay, error)
        return delay

    async def _pause(self, delay: float) -> None:
        await self.clock.sleep(delay)
        await self.take_turn()

    def _finished(
        self, call: Call, code: int, started: float, attempt: int, *, is_stream: bool = False
    ) -> None:
        duration = self.clock.monotonic() - started
        self._hooks.request_finished(
            RequestFinished(call.method, call.path, code, duration, attempt, self._host, is_stream)
        )


@cache
def _user_agent() -> str:
    try:
        return f"kinformer/{version('kinformer')}"
    except PackageNotFoundError:
        return "kinformer/source"
