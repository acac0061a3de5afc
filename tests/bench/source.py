"""A source of watch-lists, whose stream each benchmark makes as it likes."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kinformer.meta import Object, ObjectList, Resource, WatchEvent

PODS = Resource.builtin("Pod")


class WatchLists(ABC):
    """A ``Source`` that is never asked for a LIST."""

    resource = PODS

    @abstractmethod
    def stream(self) -> AsyncIterator[Sequence[WatchEvent]]:
        """The batches of the next watch."""

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        raise NotImplementedError("it has watch-lists")

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        yield self.stream()
