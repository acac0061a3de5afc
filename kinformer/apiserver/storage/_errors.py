"""What can be wrong with a request to the storage.

Exception
├── CompactedError          the revision is too old
├── FutureRevisionError     the revision is yet to come
├── StaleError              a key is at another revision than expected
├── TransactionError        a transaction that can never be carried out
├── UnavailableError        no answer, or one that is none of these
├── UnsupportedRequestError a cache has no such option
├── KeyRangeError           a cache does not hold these keys
├── CacheTimeoutError       a cache is too far behind
├── ClosedError             a cache was closed
└── InconsistentError       changes do not follow on what is known
"""

from kinformer.apiserver.storage._keys import KeyValue

__all__ = [
    "CacheTimeoutError",
    "ClosedError",
    "CompactedError",
    "FutureRevisionError",
    "InconsistentError",
    "KeyRangeError",
    "StaleError",
    "TransactionError",
    "UnavailableError",
    "UnsupportedRequestError",
]


class CompactedError(Exception):
    """The revision is older than what is kept.

    Attributes:
        revision: What was asked for.
        compacted: The oldest revision that can still be read, or one that is older still where the storage does not say.
    """

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest is {compacted}")
        self.revision = revision
        self.compacted = compacted


class FutureRevisionError(Exception):
    """The revision has not come up yet.

    Attributes:
        revision: What was asked for.
        current: The revision of the last change.
    """

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the current one is {current}")
        self.revision = revision
        self.current = current


class StaleError(Exception):
    """A put or delete found the key at another revision than expected; nothing was changed.

    Attributes:
        current: What the key holds, ``None`` where it does not exist.
    """

    def __init__(self, key: str, expected: int, current: KeyValue | None) -> None:
        found = f"is at revision {current.mod_revision}" if current else "does not exist"
        super().__init__(f"key {key!r} was expected at revision {expected}, but {found}")
        self.current = current


class TransactionError(Exception):
    """A transaction writes a key twice, or is too long; nothing was changed."""


class UnavailableError(Exception):
    """The storage is somewhere else, and cannot be reached or refused; whether anything was changed is not known."""


class UnsupportedRequestError(ValueError):
    """A cache cannot do that; ask the storage itself."""


class KeyRangeError(ValueError):
    """The range is empty, or reaches beyond the prefix of the cache."""


class CacheTimeoutError(TimeoutError):
    """The cache did not come up to a revision in time.

    Attributes:
        revision: What was waited for.
        current: Where the cache is.
    """

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"the cache is at revision {current}, and did not come to {revision} in time")
        self.revision = revision
        self.current = current


class ClosedError(Exception):
    """The cache was closed."""


class InconsistentError(Exception):
    """Changes that are older than what is known, come twice, or delete what is not there."""
