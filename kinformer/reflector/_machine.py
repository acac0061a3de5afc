"""The whole reflector, as a table: which state follows which outcome. Pure; ``_reflector`` performs the states.

The rules are those of client-go's ``tools/cache/reflector.go`` and of
https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions, with our differences where a row says so.

A *cycle* is a snapshot (by watch-list or by LIST) and the watches that follow it. Within a cycle a refused version or
a refused watch-list is answered by another kind of request at once; everything else goes through ``Waiting``.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, TypeAlias

from kinformer.errors import (
    ApiError,
    ExpiredError,
    FutureVersionError,
    NotFoundError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import ANY, LATEST

__all__ = [
    "PAGE_SIZE",
    "Active",
    "Closed",
    "Failed",
    "Listed",
    "Listing",
    "Outcome",
    "PageExpired",
    "Progressed",
    "Rested",
    "Silent",
    "State",
    "Streamed",
    "Streaming",
    "Terms",
    "Trouble",
    "Waiting",
    "Watching",
    "advance",
    "classify",
]

PAGE_SIZE: Final = 500
"""Objects on a page where nobody said otherwise (client-go's pager)."""

_REFUSALS: Final = frozenset({400, 405, 406, 415, 422})
"""How servers that know no watch-list refuse one. 401, 403, 404 and 5xx would refuse a LIST just as well."""

_MISSING: Final = 10.0
"""The longest wait for a kind that the server does not know: as often as the budget of openings allows."""

_LONGEST_RETRY_AFTER: Final = 600.0
"""A server, or what stands before it, that sends us away for longer would stop us for good by one wrong number."""

_PATIENCE: Final = 3
"""Watch-lists that may break in a row before one cycle starts with a LIST, in case only the watch-list is broken."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How snapshots are asked for: what we were told, and what we learned of the server."""

    watch_list: bool = True
    """Whether each cycle starts with a watch-list (KEP-3157)."""
    page_size: int = 0
    """The ``limit`` of every LIST; ``0`` leaves the choice to ``limit``."""
    is_paginated: bool = False
    """Whether a LIST at version ``"0"`` came in pages, so that the server has no watch cache to answer from."""

    def begin(self, version: str) -> "Streaming | Listing":
        """The first state of a cycle."""
        return Streaming(version, self) if self.watch_list else Listing(version, self)

    def limit(self, version: str) -> int:
        """The page size of a LIST at a version.

        A LIST at a concrete version goes without a limit, since a limit would keep the server from answering out of
        its watch cache. After a 410 we page the consistent read too, where client-go asks etcd for everything at once.
        """
        if self.page_size:
            return self.page_size
        if self.is_paginated or version in (ANY, LATEST):
            return PAGE_SIZE
        return 0


@dataclass(frozen=True, slots=True)
class Listing:
    """We need a snapshot, and fetch it page by page."""

    version: str
    """What to ask for: ``"0"`` while nothing is known, ``""`` after a refusal, else the last version seen."""
    terms: Terms = Terms()
    is_whole: bool = False
    """Whether to ask for everything at once, because a continue token expired."""

    @property
    def limit(self) -> int:
        """The page size to ask for; ``0`` is none."""
        return 0 if self.is_whole else self.terms.limit(self.version)


@dataclass(frozen=True, slots=True)
class Streaming:
    """We need a snapshot, and receive it as the initial events of a watch (a watch-list)."""

    version: str
    """As in ``Listing``."""
    terms: Terms = Terms()
    failures: int = 0
    """How many watch-lists broke in a row, other than by a busy server."""

    @property
    def request_version(self) -> str:
        """What to send: while nothing is known, client-go leaves the version out instead of sending ``"0"``."""
        return LATEST if self.version == ANY else self.version


@dataclass(frozen=True, slots=True)
class Watching:
    """The sink equals the server as of ``version``; we follow the changes from there."""

    version: str
    terms: Terms = Terms()
    has_rested: bool = False
    """Whether a wait came just before, so that a version that expired meanwhile need not cost another."""


Active: TypeAlias = Listing | Streaming | Watching


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something went wrong; we rest, then go on with ``then``."""

    then: Active
    failed: Active
    """The state in which it went wrong."""
    error: Exception

    @property
    def at_least(self) -> float:
        """Seconds that the server asked us to wait (``Retry-After``), up to ten minutes; 0 where it did not."""
        asked = self.error.retry_after if isinstance(self.error, ApiError) else None
        return min(asked or 0.0, _LONGEST_RETRY_AFTER)

    @property
    def is_for_kind(self) -> bool:
        """Whether the server does not know the kind, so that somebody may be about to define it."""
        return isinstance(self.error, NotFoundError)

    @property
    def at_most(self) -> float:
        """Seconds that we wait however often it went wrong before; infinite but for a kind that is not there.

        A server that answers 404 is well, and somebody may be about to apply the definition.
        """
        return _MISSING if self.is_for_kind else math.inf


State: TypeAlias = Active | Waiting


class Trouble(Enum):
    """What an error means to a reflector."""

    EXPIRED = auto()
    """The version is too old, or newer than any that the server knows: ask for the latest instead."""
    REFUSED = auto()
    """The server does not understand the request."""
    BUSY = auto()
    """The server is not taking requests: 429, or the connection was refused."""
    LOST = auto()
    """The connection broke, or never came about."""
    OTHER = auto()
    """Everything else: permissions, a missing kind, 5xx, answers that cannot be read."""


def classify(error: Exception) -> Trouble:
    """Decide, by table, what an error means."""
    match error:
        case ExpiredError() | FutureVersionError():
            return Trouble.EXPIRED
        case ThrottledError() | TransportError(refused=True):
            return Trouble.BUSY
        case TransportError():
            return Trouble.LOST
        case ApiError(code=code) if code in _REFUSALS:
            return Trouble.REFUSED
        case _:
            return Trouble.OTHER


@dataclass(frozen=True, slots=True)
class Listed:
    """The pages are complete and the sink was replaced with them."""

    version: str
    is_paginated: bool = False


@dataclass(frozen=True, slots=True)
class PageExpired:
    """The continue token of a later page is too old (410): this snapshot cannot be completed."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """The initial events are complete and the sink was replaced with them; the same stream goes on as a watch."""

    version: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """Events were applied, and the server may be asked to go on from ``version``."""

    version: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The server ended the stream, as it does when ``timeoutSeconds`` are over."""

    is_short: bool = False
    """Whether it lived less than a second and brought nothing, so that reopening it at once would spin."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The stream stopped showing signs of life: probably a connection that is only half there."""

    error: TransportError


@dataclass(frozen=True, slots=True)
class Failed:
    """A request was refused or broke, at opening or in the stream."""

    error: Exception

    @property
    def trouble(self) -> Trouble:
        """What the error means."""
        return classify(self.error)


@dataclass(frozen=True, slots=True)
class Rested:
    """The wait is over."""


_UNPAGED: Final = TransportError(
    "the server split a list that was asked for as a whole, and lost its place in it"
)
_UNFINISHED: Final = TransportError(
    "the server ended a watch-list before all of the initial events were sent"
)
_SHORT: Final = TransportError("the server ended a watch within a second, without an event")

Outcome: TypeAlias = Listed | PageExpired | Streamed | Progressed | Closed | Silent | Failed | Rested


def advance(state: State, outcome: Outcome) -> State:
    """The state that follows.

    Raises:
        AssertionError: The outcome cannot come of the state.
    """
    match state, outcome:
        case Listing(), Listed(version, is_paginated):
            learned = state.terms.is_paginated or (is_paginated and state.version == ANY)
            return Watching(version, replace(state.terms, is_paginated=learned))
        case Listing(is_whole=False), PageExpired():
            return replace(state, is_whole=True)
        case Listing(), PageExpired():  # a server that pages unasked, and then loses its place
            return Waiting(state.terms.begin(LATEST), state, _UNPAGED)
        case Listing(), Failed(trouble=Trouble.EXPIRED) if state.version != LATEST:
            return Listing(LATEST, state.terms)
        case Listing(), Failed(error):
            return Waiting(state.terms.begin(state.version), state, error)

        case Streaming(), Streamed(version):
            return Watching(version, state.terms)
        case Streaming(), Failed(trouble=Trouble.EXPIRED) if state.version != LATEST:
            return replace(state, version=LATEST)
        case Streaming(), Failed(trouble=Trouble.REFUSED) | Closed(is_short=True):
            return Listing(state.version, state.terms)
        case Streaming(), Failed(error, trouble=Trouble.BUSY):
            return Waiting(state, state, error)
        case Streaming(), Failed(error) | Silent(error):
            return Waiting(_persevere(state), state, error)
        case Streaming(), Closed():
            return Waiting(_persevere(state), state, _UNFINISHED)

        case Watching(), Progressed(version):
            return replace(state, version=version, has_rested=False)
        case Watching(), Closed(is_short=False) | Silent():
            return replace(state, has_rested=False)
        case Watching(), Closed():
            return Waiting(state.terms.begin(state.version), state, _SHORT)
        case Watching(has_rested=True), Failed(trouble=Trouble.EXPIRED):
            return state.terms.begin(
                state.version
            )  # as after an outage: the server is well, history moved on
        case Watching(), Failed(error, trouble=Trouble.BUSY | Trouble.LOST):
            # The window is not lost as far as we know, so there is nothing to list.
            return Waiting(replace(state, has_rested=True), state, error)
        case Watching(), Failed(error):
            # A 410 lands here, whether it came as the status of the opening or inside the stream.
            return Waiting(state.terms.begin(state.version), state, error)

        case Waiting(then=then), Rested():
            return then
        case _:
            raise AssertionError(f"{outcome} cannot follow {state}")


def _persevere(state: Streaming) -> Streaming | Listing:
    """What to try after a watch-list broke: another one, and now and then a LIST."""
    if state.failures + 1 >= _PATIENCE:
        return Listing(state.version, state.terms)
    return replace(state, failures=state.failures + 1)
