"""Source and Sink: what a reflector reads from and what it writes to.

The client's ``ResourceClient`` fits the one and the delta FIFO fits the other; neither knows of this room.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kinformer.meta import Object, ObjectKey, ObjectList, Record, Resource, WatchEvent

__all__ = ["Sink", "Source"]


class Source(Protocol):
    """One resource, as a server lists and watches it.

    Both calls raise the errors of ``kinformer.errors``. Neither retries: under a reflector every try is counted.
    """

    @property
    def resource(self) -> Resource:
        """What is listed and watched."""

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        """One page of a list.

        Args:
            version: ``resourceVersion``: ``""`` for the most recent, ``"0"`` for any, or one seen before.
            version_match: ``resourceVersionMatch``; ``""`` leaves it out.
            limit: Objects on a page at most; ``0`` asks for all of them.
            continue_token: From the page before; then ``version`` is ``""``.

        Raises:
            RequestError: No answer, no usable answer, or a refusal.
        """

    def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent]]]:
        """Open a watch; what is entered yields the events in batches and ends when the server ends the stream.

        A refusal raises from entering. A lost connection raises ``TransportError`` from the iteration. An ``ERROR``
        line is an event whose ``error`` says what the server said; a line that cannot be read is an event whose
        ``error`` is a ``DecodeError``, and the stream goes on.

        Args:
            version: Where to start; events after it are sent.
            timeout: ``timeoutSeconds``, after which the server ends the stream; ``0`` leaves it out.
            bookmarks: Whether to ask for bookmarks.
            initial_events: Ask for a watch-list (KEP-3157): the content as ``ADDED`` events, ended by a bookmark.
                Sends ``sendInitialEvents=true`` and ``resourceVersionMatch=NotOlderThan``.

        Raises:
            RequestError: From entering and from the iteration.
        """


class Sink(Protocol):
    """What is kept equal to a source.

    The calls are synchronous, so that nothing can be half-applied when a reflector is cancelled. They come from one
    task. An exception out of any of them is a programming error; it ends the reflector.
    """

    def replace(self, records: Iterator[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        """Forget what you know: this is the whole content, as of ``version``.

        Args:
            records: What could be read, in order. Nobody else reads it, so it may be kept and read later; each record
                is let go when it is given out, so that no snapshot need be held twice.
            version: What is published now.
            kept: Keys of objects that are there too, but cannot be read: what is known of them stays as it is.
        """

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        """Take changes in the order in which they happened.

        Args:
            events: ``ADDED``, ``MODIFIED`` and ``DELETED`` only. May be empty: then only the version moves.
            version: What is published now; ``""`` where it has not moved. It lags behind the newest event while
                the server may still be sending objects out of the order of their versions.
        """

    def resync(self) -> None:
        """Show everything you know once more, without asking anybody."""
