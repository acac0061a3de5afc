"""Mapper: from names and kinds to resources, by what the server says that it serves."""

import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from kinformer.client._catalog import Catalog
from kinformer.client._rate_limit import Bucket, RateLimit
from kinformer.client._refreshes import Refreshes, Step
from kinformer.clock import Clock
from kinformer.errors import NoMatchError, RequestError
from kinformer.meta import Resource

__all__ = ["Mapper"]

T = TypeVar("T")

_REFRESHES: Final = RateLimit(rate=0.2, burst=3)
"""Three at once, for a program that defines kinds and then looks for them; then one every 5 s, however many miss."""

_FRESH_STARTS: Final = RateLimit(rate=1.0, burst=3)
"""Besides those, for whoever calls ``invalidate`` and so knows that there is something new; a loop of it is held back."""

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII | re.IGNORECASE)
_KIND: Final = re.compile(_LABEL, re.ASCII | re.IGNORECASE)
_API_VERSION: Final = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?{_LABEL}", re.ASCII)


class Mapper:
    """Finds resources by name or kind: ``await client.mapper.find("deploy")`` (``meta.RESTMapper``).

    What the server serves is asked for when somebody first wants to know, and again when something is not found; until
    then answers come from memory. "Not found" is thus always younger than the question, for the price that a question may
    wait: the server is asked three times at once at most, and then every 5 s. All who wait share one refresh, and
    whoever is cancelled disturbs no other. A resource that is withdrawn is remembered until then, or until ``invalidate``.

    ``Client.mapper`` is the one of a client.

    Args:
        read: Asks the server.
        clock: Spaces the refreshes.
    """

    def __init__(self, read: Callable[[], Awaitable[Catalog]], *, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._turns = Bucket(_REFRESHES)
        self._fresh_starts = Bucket(_FRESH_STARTS)
        self._is_outdated = False
        self._refreshes = Refreshes[Catalog]()
        self._changed = anyio.Event()

    async def find(self, name: str) -> Resource:
        """The resource that a name means, such as ``"deploy"`` or ``"widgets.v1.example.dev"``; see ``Catalog.find``.

        Raises:
            NoMatchError: The server serves nothing of that name, as it said after the question.
            AmbiguousError: It serves several; the error lists names that are clear.
            RequestError: It could not be asked.
            ValueError: At once: nothing can have that name.
        """
        if not _NAME.fullmatch(name):
            hint = "; for an API version and a kind there is find_kind" if "/" in name else ""
            raise ValueError(
                f"name {name!r} must be like 'deployments', 'deploy' or 'deployments.apps'{hint}"
            )
        return await self._ask(lambda catalog: catalog.find(name))

    async def find_kind(self, api_version: str, kind: str) -> Resource:
        """The resource of objects that say so, such as ``"apps/v1"`` and ``"Deployment"``; see ``Catalog.find_kind``.

        Raises:
            NoMatchError: The server serves no such kind, as it said after the question.
            RequestError: It could not be asked.
            ValueError: At once: there can be no such API version, or no such kind.
        """
        if not _API_VERSION.fullmatch(api_version):
            raise ValueError(f"api_version {api_version!r} must be like 'apps/v1' or 'v1'")
        if not _KIND.fullmatch(kind):
            raise ValueError(f"kind {kind!r} must be like 'Deployment'")
        return await self._ask(lambda catalog: catalog.find_kind(api_version, kind))

    async def catalog(self) -> Catalog:
        """All that the server serves, from memory where it is known.

        Raises:
            RequestError: The server could not be asked.
        """
        return await self._ask(lambda catalog: catalog)

    def invalidate(self) -> None:
        """Forget everything, so that the next question is one for the server.

        That is asked at once, also after many misses, unless this is called more than once a second.
        """
        self._is_outdated = True
        self._refreshes.invalidate()
        self._wake()

    async def _ask(self, look: Callable[[Catalog], T]) -> T:
        """Look until something is found, or known to be missing."""
        refreshes = self._refreshes
        ticket = refreshes.ask()
        while True:
            step = refreshes.next_step(ticket)
            if refreshes.value is not None:
                try:
                    return look(refreshes.value)
                except NoMatchError:
                    if step is Step.ANSWER:
                        raise
            if step is Step.FAIL and refreshes.failure is not None:
                # All who asked raise the same; each traceback begins anew.
                raise refreshes.failure.with_traceback(None)
            if step is Step.LEAD:
                await self._refresh()
            else:
                await self._changed.wait()

    async def _refresh(self) -> None:
        refreshes = self._refreshes
        refreshes.lead()
        try:
            await self._take_turn()
            refreshes.begin()
            refreshes.succeed(await self._read())
        except RequestError as failure:
            refreshes.fail(failure)
        finally:
            refreshes.leave()
            self._wake()

    async def _take_turn(self) -> None:
        """Wait until the server may be asked; only who leads does, so that there is no line."""
        while True:
            buckets = (self._turns, self._fresh_starts) if self._is_outdated else (self._turns,)
            now = self._clock.monotonic()
            if any(bucket.take(now) for bucket in buckets):
                self._is_outdated = False
                return
            with self._clock.move_on_after(min(bucket.wait(now) for bucket in buckets)):
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
