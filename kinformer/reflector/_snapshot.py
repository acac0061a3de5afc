"""Snapshot: a whole content on its way to the sink. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

from kinformer.errors import DecodeError
from kinformer.meta import ObjectKey, Record

__all__ = ["Snapshot"]

_SLICE: Final = 512
"""Keys that are looked up at once; each time what has been taken out before is passed over, 0.1 ms where it was 100,000."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that there is at one version.

    It is handed over as it was collected, without a copy, and used up: to build or to free a container of 100,000
    records takes five to ten milliseconds, and the records that the sink has already may be freed bit by bit.

    Attributes:
        records: What could be read, in order. A record is let go when it is given out, or with the piece that it came in.
        count: How many records there are.
        version: The resource version.
        rejected: What could not be read, and is missing from the records.
    """

    records: Iterator[Record]
    count: int
    version: str
    rejected: Sequence[DecodeError]

    @classmethod
    def of_pages(cls, pieces: list[Sequence[Record]], version: str, rejected: Sequence[DecodeError]) -> Self:
        """A snapshot of a list, which is emptied; its pieces should be small."""
        return cls(_emptied_list(pieces), sum(map(len, pieces)), version, rejected)

    @classmethod
    def of_events(
        cls, records: dict[ObjectKey, Record], version: str, rejected: Sequence[DecodeError]
    ) -> Self:
        """A snapshot of a watch-list, which is emptied."""
        return cls(_emptied_dict(records), len(records), version, rejected)


def _emptied_list(pieces: list[Sequence[Record]]) -> Iterator[Record]:
    pieces.reverse()
    while pieces:
        yield from pieces.pop()


def _emptied_dict(records: dict[ObjectKey, Record]) -> Iterator[Record]:
    while keys := tuple(islice(records, _SLICE)):
        for key in keys:
            yield records.pop(key)
