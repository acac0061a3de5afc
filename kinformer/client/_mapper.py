"""Mapper: from names and kinds to resources, by what the server says that it serves."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from kinformer.client._catalog import Catalog
from kinformer.client._rate_limit import RateLimit
from kinformer.client._refreshes import Refreshes, Step
from kinformer.client._turns import Turns
from kinformer.clock import Clock
from kinformer.errors import NoMatchError, RequestError
from kinformer.meta import Resource

__all__ = ["Mapper"]

T = TypeVar("T")

_REFRESHES: Final = RateLimit(rate=0.2, burst=3)
"""Three at once, for a program that defines kinds and then looks for them; then one every 5 s, however many miss."""


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
        self._turns = Turns(_REFRESHES, clock)
        self._refreshes = Refreshes[Catalog]()
        self._changed = anyio.Event()

    async def find(self, name: str) -> Resource:
        """The resource that a name means, such as ``"deploy"`` or ``"widgets.v1.example.dev"``; see ``Catalog.find``.

        Raises:
            NoMatchError: The server serves nothing of that name, as it said after the question.
            AmbiguousError: It serves several; the error lists names that are clear.
            RequestError: It could not be asked.
        """
        return await self._ask(lambda catalog: catalog.find(name))

    async def find_kind(self, api_version: str, kind: str) -> Resource:
        """The resource of objects that say so, such as ``"apps/v1"`` and ``"Deployment"``; see ``Catalog.find_kind``.

        Raises:
            NoMatchError: The server serves no such kind, as it said after the question.
            RequestError: It could not be asked.
        """
        return await self._ask(lambda catalog: catalog.find_kind(api_version, kind))

    async def catalog(self) -> Catalog:
        """All that the server serves, from memory where it is known.

        Raises:
            RequestError: The server could not be asked.
        """
        return await self._ask(lambda catalog: catalog)

    def invalidate(self) -> None:
        """Forget everything, so that the next question is one for the server."""
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
            await self._turns.take()
            refreshes.begin()
            refreshes.succeed(await self._read())
        except RequestError as failure:
            refreshes.fail(failure)
        finally:
            refreshes.leave()
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
