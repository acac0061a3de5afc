"""Compaction: records whose JSON is held compressed, with a dictionary of what the first of them have in common. Pure."""

import threading
from typing import TYPE_CHECKING, Final

from kinformer.meta import Record

if TYPE_CHECKING:
    import zstandard

__all__ = ["Compaction"]

_SAMPLES: Final = 64
_SAMPLED: Final = 8192
"""How many records a dictionary is made of, and of how many bytes of each at most: 5 ms, once, of 6 KB each."""

_DICTIONARY: Final = 32 * 1024
"""How many bytes a dictionary has at most."""

_WORTH: Final = 7 / 8
"""What is left of the bytes must be less than that, or they are held as they are."""


class Compaction:
    """Compresses the bytes of one kind of records.

    The first records are compressed each on its own, and stay so until they change. Of what they have in common a
    dictionary is made, once there are enough. What compression makes hardly smaller is held as it is.

    Raises:
        ImportError: zstandard is not installed.
    """

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(
                "compact=True needs zstandard, which is not installed: pip install 'kinformer[fast]'"
            ) from error
        self._zstandard: Final = zstandard
        self._first: list[Record] | None = []
        self._packing = _Zstandard(zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor())

    def __call__(self, record: Record) -> Record:
        """The same record with its bytes compressed, unless they are."""
        if record.packing is not None:
            return record
        raw = record.raw
        packed = self._packing.pack(raw)
        if len(packed) < _WORTH * len(raw):
            record = Record(record.resource, record.key, record.metadata, packed, self._packing)
        if self._first is not None:
            self._first.append(record)  # and not its JSON, which would be held beside it
            if len(self._first) == _SAMPLES:
                self._learn(self._first)
                self._first = None
        return record

    def _learn(self, records: list[Record]) -> None:
        """Make a dictionary of what these have in common, if there is one to be made."""
        samples: list[bytes | bytearray | memoryview[int]] = [record.raw[:_SAMPLED] for record in records]
        try:
            # Stretches of 1000 bytes, looked for in passing: five times as fast as zstd would by itself, and as good.
            dictionary = self._zstandard.train_dictionary(_DICTIONARY, samples, k=1000, d=6, f=16, accel=4)
        except self._zstandard.ZstdError:  # they are too small, or have nothing in common
            return
        dictionary.precompute_compress(level=1)
        self._packing = _Zstandard(
            self._zstandard.ZstdCompressor(level=1, dict_data=dictionary, write_dict_id=False),
            self._zstandard.ZstdDecompressor(dict_data=dictionary),
        )


class _Zstandard:
    """A ``Packing`` with one dictionary or none."""

    __slots__ = ("_compressor", "_decompressor", "_lock")

    def __init__(
        self, compressor: "zstandard.ZstdCompressor", decompressor: "zstandard.ZstdDecompressor"
    ) -> None:
        self._compressor: Final = compressor
        self._decompressor: Final = decompressor
        self._lock: Final = threading.Lock()

    def pack(self, raw: bytes) -> bytes:
        """Compress; only from the informer's own task."""
        # A copy, because what zstandard gives has room for all that might have been.
        return bytes(memoryview(self._compressor.compress(raw)))

    def unpack(self, held: bytes, /) -> bytes:
        """Decompress; a handle may have gone to any thread, and zstandard lets others in while it works."""
        with self._lock:
            return self._decompressor.decompress(held)
