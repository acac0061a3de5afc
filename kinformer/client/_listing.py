"""ListDecoder: a list in chunks of bytes in, its objects out, each as soon as it is there. Pure.

A list that a server gives from its watch cache comes whole, however large; read at one go, 600 MB of it would be held
twice and stop everything else for more than a second. Here no more is held than the objects, and the one that is
arriving; and no chunk takes longer than its own objects do.

Nothing looks at each byte in Python. The items of a list that a Go server writes all begin in the same way, so the end
of one is sought where the next seems to begin, and whether that is so is told by decoding what lies before: an object
is never the beginning of another one. What is never found in this way, if only the last item, is decoded at the end
with what stood around the items, as a list; so each list is understood as a whole one would be.
"""

import re
from typing import Final

import msgspec

from kinformer.client._codec import decode_list, decode_record
from kinformer.errors import DecodeError
from kinformer.meta import Object, ObjectList, Objects, Pack, Record, Resource

__all__ = ["ListDecoder"]

_ITEMS: Final = b'"items":['
_BEGINNING: Final = re.compile(
    rb'\{(?:"metadata":\{|"apiVersion":"[^"\\]*","kind":"[^"\\]*",|"kind":"[^"\\]*","apiVersion":"[^"\\]*",)'
)
"""How items begin: those of built-in kinds, and of custom resources; the third is what clients that are not Go write."""

_LONGEST_BEGINNING: Final = 1024
_MOST_MISSES: Final = 64
"""Places within one item that look like its end; where there are more, it waits for the end of the list."""

_PIECE: Final = 64
"""Records that are set aside together; see ``Objects``."""

_is_json = msgspec.json.Decoder(msgspec.Raw).decode


class ListDecoder:
    """One page of a list of ``resource``, in the chunks in which it arrives; made for one list.

    Each object gets bytes of its own, so that keeping one does not keep the page (``pager.ListWithAlloc``). Those that
    are decoded while it arrives are packed, if there is a ``pack``.
    """

    __slots__ = (
        "_buffer",
        "_head",
        "_misses",
        "_next",
        "_pack",
        "_pieces",
        "_records",
        "_rejected",
        "_resource",
        "_sought",
    )

    def __init__(self, resource: Resource, pack: Pack | None = None) -> None:
        self._resource: Final = resource
        self._pack: Final = pack
        self._buffer = bytearray()
        """What is not understood yet; once ``_next`` is known, it begins with an item."""
        self._head = b""
        """What stood before the items."""
        self._next: bytes | None = b""
        """What stands between two items and begins the second; ``None`` where they cannot be told apart."""
        self._sought = 0
        """Where in the buffer to go on looking."""
        self._misses = 0
        self._records: Final[list[Record]] = []
        self._pieces: Final[list[tuple[Record, ...]]] = []
        """Those that came before them."""
        self._rejected: Final[list[DecodeError]] = []

    def __len__(self) -> int:
        """How many objects have been decoded, or rejected, so far."""
        return len(self._pieces) * _PIECE + len(self._records) + len(self._rejected)

    def feed(self, chunk: bytes) -> None:
        """Take in a chunk, and decode the objects that it completes. Never raises: ``finish`` tells what is wrong."""
        self._buffer += chunk
        if self._next == b"":
            self._find_the_first_item()
        if self._next:
            self._take_items(self._next)

    def finish(self) -> ObjectList[Object]:
        """The list, now that all of it is there; objects that cannot be read are in ``rejected``.

        Raises:
            DecodeError: It was no list.
        """
        rest = decode_list(self._head + self._buffer, self._resource)
        return ObjectList(
            Objects.of_pieces((*self._pieces, tuple(self._records), *rest.pieces)),
            rest.version,
            rest.continue_token,
            rest.remaining,
            (*self._rejected, *rest.rejected),
        )

    def _find_the_first_item(self) -> None:
        at = self._buffer.find(_ITEMS, self._sought)
        if at < 0:
            self._sought = max(0, len(self._buffer) - len(_ITEMS))
            return
        self._sought = at
        begin = at + len(_ITEMS)
        if beginning := _BEGINNING.match(self._buffer, begin):
            self._next = b"}," + beginning[0]
            self._head = bytes(self._buffer[:begin])
            del self._buffer[:begin]
            self._sought = 0
        elif len(self._buffer) > begin + _LONGEST_BEGINNING:
            self._next = None

    def _take_items(self, separator: bytes) -> None:
        begin = 0
        while (at := self._buffer.find(separator, self._sought)) >= 0:
            self._sought = at + 1
            if self._take(bytes(memoryview(self._buffer)[begin : at + 1])):
                begin = at + 2
                self._misses = 0
            elif self._misses == _MOST_MISSES:
                self._next = None
                break
            else:
                self._misses += 1
        else:
            self._sought = max(self._sought, len(self._buffer) - len(separator))
        del self._buffer[:begin]
        self._sought = max(0, self._sought - begin)

    def _take(self, raw: bytes) -> bool:
        """Decode an item, if these bytes are one."""
        try:
            record = decode_record(raw, self._resource)
        except DecodeError as error:
            try:
                _is_json(raw)
            except (msgspec.DecodeError, RecursionError):
                return False
            self._rejected.append(error)
        else:
            self._records.append(record if self._pack is None else self._pack(record))
            if len(self._records) == _PIECE:
                self._pieces.append(tuple(self._records))
                self._records.clear()
        return True
