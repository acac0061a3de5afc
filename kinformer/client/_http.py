"""One request, one stream: what lies between the verbs and httpx.

All failures of httpx, and all answers other than success, become the errors that ``_failures`` makes of them.
Retries are performed here and decided in ``_retry``.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Final
from urllib.parse import quote

import anyio
import httpx
import tenacity

from kinformer.client._auth import Authentication
from kinformer.client._calls import Call
from kinformer.client._config import Config
from kinformer.client._failures import FAILURES, answer_error, transport_error
from kinformer.client._proxies import Proxy, proxy_for
from kinformer.client._rate_limit import RateLimit
from kinformer.client._retry import delay_before, is_worth_retrying
from kinformer.client._transports import Streaming, transport_for
from kinformer.client._turns import Turns
from kinformer.client._warnings import Warnings
from kinformer.clock import Clock
from kinformer.errors import ClosedError, RequestError, TransportError
from kinformer.hooks import Hooks, RequestFinished

__all__ = ["Http"]

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
        self._url = ""
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
        self._pool, self._url = pool, config.url

    async def aclose(self) -> None:
        """Close all connections; what is under way fails."""
        pool, self._pool, self._is_closed = self._pool, None, True
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def request(self, call: Call, *, retries: bool = True) -> bytes:
        """Make a request and return the body of its answer.

        Raises:
            ApiError: The server refused.
            TransportError: No answer came, or not in time.
        """
        await self.take_turn()
        if not retries:
            return await self._once(call, 1)
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
                    return await self._once(call, attempt.retry_state.attempt_number)
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

    async def _once(self, call: Call, attempt: int) -> bytes:
        pool = self._opened()
        started, code, response = self.clock.monotonic(), 0, None
        try:
            with self.clock.move_on_after(self._timeout):
                response = await pool.send(self._built(pool, call))
                code = response.status_code
        except (*FAILURES, httpx.InvalidURL) as error:
            raise transport_error(call, error, self._proxy) from error
        finally:
            self._finished(call, code, started, attempt)
        if response is None:
            raise TransportError(f"{call}: no answer within {self._timeout:g} s")
        self._warnings.take(call.path, response.headers.get_list("warning"))
        if not response.is_success:
            raise answer_error(call, code, response.content, response.headers, self._proxy)
        return response.content

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
            chunks = _Chunks(call, response, self.clock, started + within, self._proxy)
            if code != 200:
                body = await chunks.some(_ERROR_BODY, self._timeout)
                raise answer_error(call, code, body, response.headers, self._proxy)
            yield chunks
        finally:
            if response is not None:
                with anyio.CancelScope(shield=True), self.clock.move_on_after(_CLOSE):
                    if chunks is not None:
                        await chunks.aclose()
                    await response.aclose()
            self._finished(call, code, started, 1)

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

    def _finished(self, call: Call, code: int, started: float, attempt: int) -> None:
        duration = self.clock.monotonic() - started
        self._hooks.request_finished(RequestFinished(call.method, call.path, code, duration, attempt))


class _Chunks:
    """What arrives, as it arrives, until a moment."""

    def __init__(
        self, call: Call, response: httpx.Response, clock: Clock, until: float, proxy: Proxy | None
    ) -> None:
        self._call = call
        self._proxy = proxy
        # Straight from the transport, unless httpx has to unpack it: its own layers cost as much as the reading.
        is_packed = response.headers.get("content-encoding", "identity") != "identity"
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 -- an async client's
        self._source = response.aiter_bytes() if is_packed else aiter(response.stream)
        self._clock = clock
        self._until = until
        self._is_broken = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._is_broken:  # the source would say that it has ended, as if the server had ended it
            raise TransportError(
                f"{self._call}: the stream broke off earlier, where it failed or a read was cancelled"
            )
        try:
            with self._clock.move_on_after(self._until - self._clock.monotonic()):
                return await anext(self._source)
        except StopAsyncIteration:
            raise
        except BaseException as error:
            self._is_broken = True
            if isinstance(error, FAILURES):
                raise transport_error(self._call, error, self._proxy) from error
            raise
        self._is_broken = True
        raise TransportError(f"{self._call}: the server has not ended the stream in its time")

    async def some(self, limit: int, timeout: float) -> bytes:
        """The body, or what could be had of it."""
        body = bytearray()
        with self._clock.move_on_after(timeout):
            try:
                async for chunk in self._source:
                    body += chunk
                    if len(body) >= limit:
                        break
            except FAILURES:
                pass
        return bytes(body)

    async def aclose(self) -> None:
        if isinstance(self._source, AsyncGenerator):
            await self._source.aclose()


@cache
def _user_agent() -> str:
    try:
        return f"kinformer/{version('kinformer')}"
    except PackageNotFoundError:
        return "kinformer/source"
