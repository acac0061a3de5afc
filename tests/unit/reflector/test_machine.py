"""The reflector's table: every state with every outcome, and the rules for what is asked of a server."""

from collections.abc import Mapping

import pytest

from kinformer.errors import (
    ApiError,
    BadRequestError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ServerError,
    ThrottledError,
    TransportError,
    UnauthorizedError,
)
from kinformer.reflector._machine import (
    Closed,
    Failed,
    Listed,
    Listing,
    Outcome,
    PageExpired,
    Progressed,
    Rested,
    Silent,
    State,
    Streamed,
    Streaming,
    Terms,
    Trouble,
    Waiting,
    Watching,
    advance,
    classify,
)

LISTS = Terms(watch_list=False)
STREAMS = Terms(watch_list=True)
EXPIRED = ExpiredError(410)
REFUSED = InvalidError(422)
BUSY = ThrottledError(429)
LOST = TransportError("reset")
OTHER = ServerError(500)
QUIET = TransportError("silent")

OUTCOMES: Mapping[str, Outcome] = {
    "listed": Listed("9"),
    "page expired": PageExpired(),
    "streamed": Streamed("9"),
    "progressed": Progressed("9"),
    "closed": Closed(),
    "closed short": Closed(is_short=True),
    "silent": Silent(QUIET),
    "expired": Failed(EXPIRED),
    "refused": Failed(REFUSED),
    "busy": Failed(BUSY),
    "lost": Failed(LOST),
    "other": Failed(OTHER),
    "rested": Rested(),
}
FAILURES = {"expired": EXPIRED, "refused": REFUSED, "busy": BUSY, "lost": LOST, "other": OTHER}

# For each state the outcomes that may follow and the state after it, where a wait is written as ("wait", then).
# What is not here must raise.
Row = Mapping[str, State | tuple[str, State]]
TABLE: list[tuple[State, Row]] = [
    (
        Listing("5", LISTS),
        {
            "listed": Watching("9", LISTS),
            "page expired": Listing("5", LISTS, is_whole=True),
            "expired": Listing("", LISTS),
            "refused": ("wait", Listing("5", LISTS)),
            "busy": ("wait", Listing("5", LISTS)),
            "lost": ("wait", Listing("5", LISTS)),
            "other": ("wait", Listing("5", LISTS)),
        },
    ),
    (
        Listing("", LISTS),
        {
            "listed": Watching("9", LISTS),
            "page expired": Listing("", LISTS, is_whole=True),
            "expired": ("wait", Listing("", LISTS)),
            "refused": ("wait", Listing("", LISTS)),
            "busy": ("wait", Listing("", LISTS)),
            "lost": ("wait", Listing("", LISTS)),
            "other": ("wait", Listing("", LISTS)),
        },
    ),
    (
        Listing("5", LISTS, is_whole=True),
        {
            "listed": Watching("9", LISTS),
            "page expired": ("wait", Listing("", LISTS)),
            "expired": Listing("", LISTS),
            "refused": ("wait", Listing("5", LISTS)),
            "busy": ("wait", Listing("5", LISTS)),
            "lost": ("wait", Listing("5", LISTS)),
            "other": ("wait", Listing("5", LISTS)),
        },
    ),
    (
        Listing("5", STREAMS),  # after a watch-list was refused: the next cycle tries a watch-list again
        {
            "listed": Watching("9", STREAMS),
            "page expired": Listing("5", STREAMS, is_whole=True),
            "expired": Listing("", STREAMS),
            "refused": ("wait", Streaming("5", STREAMS)),
            "busy": ("wait", Streaming("5", STREAMS)),
            "lost": ("wait", Streaming("5", STREAMS)),
            "other": ("wait", Streaming("5", STREAMS)),
        },
    ),
    (
        Streaming("5", STREAMS),
        {
            "streamed": Watching("9", STREAMS),
            "closed": ("wait", Streaming("5", STREAMS, failures=1)),
            "closed short": Listing("5", STREAMS),
            "silent": ("wait", Streaming("5", STREAMS, failures=1)),
            "expired": Streaming("", STREAMS),
            "refused": Listing("5", STREAMS),
            "busy": ("wait", Streaming("5", STREAMS)),
            "lost": ("wait", Streaming("5", STREAMS, failures=1)),
            "other": ("wait", Streaming("5", STREAMS, failures=1)),
        },
    ),
    (
        Streaming("", STREAMS, failures=2),
        {
            "streamed": Watching("9", STREAMS),
            "closed": ("wait", Listing("", STREAMS)),
            "closed short": Listing("", STREAMS),
            "silent": ("wait", Listing("", STREAMS)),
            "expired": ("wait", Listing("", STREAMS)),
            "refused": Listing("", STREAMS),
            "busy": ("wait", Streaming("", STREAMS, failures=2)),
            "lost": ("wait", Listing("", STREAMS)),
            "other": ("wait", Listing("", STREAMS)),
        },
    ),
    (
        Watching("5", LISTS),
        {
            "progressed": Watching("9", LISTS),
            "closed": Watching("5", LISTS),
            "closed short": ("wait", Listing("5", LISTS)),
            "silent": Watching("5", LISTS),
            "expired": ("wait", Listing("5", LISTS)),
            "refused": ("wait", Listing("5", LISTS)),
            "busy": ("wait", Watching("5", LISTS, has_rested=True)),
            "lost": ("wait", Watching("5", LISTS, has_rested=True)),
            "other": ("wait", Listing("5", LISTS)),
        },
    ),
    (
        Watching("5", STREAMS),
        {
            "progressed": Watching("9", STREAMS),
            "closed": Watching("5", STREAMS),
            "closed short": ("wait", Streaming("5", STREAMS)),
            "silent": Watching("5", STREAMS),
            "expired": ("wait", Streaming("5", STREAMS)),
            "refused": ("wait", Streaming("5", STREAMS)),
            "busy": ("wait", Watching("5", STREAMS, has_rested=True)),
            "lost": ("wait", Watching("5", STREAMS, has_rested=True)),
            "other": ("wait", Streaming("5", STREAMS)),
        },
    ),
    (
        Watching("5", LISTS, has_rested=True),
        {
            "progressed": Watching("9", LISTS),
            "closed": Watching("5", LISTS),
            "closed short": ("wait", Listing("5", LISTS)),
            "silent": Watching("5", LISTS),
            "expired": Listing("5", LISTS),
            "refused": ("wait", Listing("5", LISTS)),
            "busy": ("wait", Watching("5", LISTS, has_rested=True)),
            "lost": ("wait", Watching("5", LISTS, has_rested=True)),
            "other": ("wait", Listing("5", LISTS)),
        },
    ),
    (
        Watching("5", STREAMS, has_rested=True),
        {
            "progressed": Watching("9", STREAMS),
            "closed": Watching("5", STREAMS),
            "closed short": ("wait", Streaming("5", STREAMS)),
            "silent": Watching("5", STREAMS),
            "expired": Streaming("5", STREAMS),
            "refused": ("wait", Streaming("5", STREAMS)),
            "busy": ("wait", Watching("5", STREAMS, has_rested=True)),
            "lost": ("wait", Watching("5", STREAMS, has_rested=True)),
            "other": ("wait", Streaming("5", STREAMS)),
        },
    ),
    (
        Waiting(Watching("5", LISTS, has_rested=True), Watching("5", LISTS), LOST),
        {"rested": Watching("5", LISTS, has_rested=True)},
    ),
    (
        Waiting(Listing("5", LISTS), Watching("4", LISTS), OTHER),
        {"rested": Listing("5", LISTS)},
    ),
]


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize(("state", "row"), TABLE, ids=[str(state) for state, _ in TABLE])
def test_each_outcome_leads_where_the_table_says(state: State, row: Row, name: str) -> None:
    if name not in row:
        with pytest.raises(AssertionError, match="cannot follow"):
            advance(state, OUTCOMES[name])
        return
    after = advance(state, OUTCOMES[name])
    match row[name]:
        case (_, then):
            assert isinstance(after, Waiting)
            assert (after.then, after.failed) == (then, state)
            if name in FAILURES:
                assert after.error is FAILURES[name]
        case expected:
            assert after == expected


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (ExpiredError(410), Trouble.EXPIRED),
        (FutureVersionError(504), Trouble.EXPIRED),
        (ThrottledError(429), Trouble.BUSY),
        (TransportError("refused", refused=True), Trouble.BUSY),
        (TransportError("reset"), Trouble.LOST),
        (BadRequestError(400), Trouble.REFUSED),
        (MethodNotAllowedError(405), Trouble.REFUSED),
        (ApiError(406), Trouble.REFUSED),
        (ApiError(415), Trouble.REFUSED),
        (InvalidError(422), Trouble.REFUSED),
        (UnauthorizedError(401), Trouble.OTHER),
        (ForbiddenError(403), Trouble.OTHER),
        (NotFoundError(404), Trouble.OTHER),
        (ServerError(500), Trouble.OTHER),
        (ServerError(504), Trouble.OTHER),
        (DecodeError("a Table"), Trouble.OTHER),
        (RuntimeError("the credential plugin crashed"), Trouble.OTHER),
    ],
    ids=repr,
)
def test_errors_are_classified_once(error: Exception, trouble: Trouble) -> None:
    assert classify(error) is trouble


@pytest.mark.parametrize(
    ("terms", "version", "limit"),
    [
        (Terms(), "0", 500),
        (Terms(), "", 500),
        (Terms(), "5", 0),
        (Terms(is_paginated=True), "5", 500),
        (Terms(page_size=7), "0", 7),
        (Terms(page_size=7), "5", 7),
        (Terms(page_size=7, is_paginated=True), "5", 7),
    ],
)
def test_the_page_size_follows_the_first_rule_that_fits(terms: Terms, version: str, limit: int) -> None:
    assert Listing(version, terms).limit == limit
    assert Listing(version, terms, is_whole=True).limit == 0


@pytest.mark.parametrize(
    ("state", "outcome", "is_paginated"),
    [
        (Listing("0"), Listed("9", is_paginated=True), True),
        (Listing("0"), Listed("9"), False),
        (Listing("5"), Listed("9", is_paginated=True), False),
        (Listing("", Terms(is_paginated=True)), Listed("9"), True),
    ],
    ids=["at any version", "in one page", "at a version", "learned before"],
)
def test_a_list_at_any_version_that_comes_in_pages_is_remembered(
    state: Listing, outcome: Listed, is_paginated: bool
) -> None:
    after = advance(state, outcome)
    assert isinstance(after, Watching)
    assert after.terms.is_paginated is is_paginated


def test_the_first_watch_list_names_no_version() -> None:
    assert Streaming("0").request_version == ""
    assert Streaming("5").request_version == "5"


def test_a_wait_knows_what_the_server_asked_for() -> None:
    def wait_after(error: Exception) -> float:
        return Waiting(Watching("5"), Watching("5"), error).at_least

    assert wait_after(ThrottledError(429, retry_after=7.0)) == 7.0
    assert wait_after(ThrottledError(429, retry_after=1e9)) == 600.0
    assert wait_after(ThrottledError(429)) == 0.0
    assert wait_after(LOST) == 0.0
