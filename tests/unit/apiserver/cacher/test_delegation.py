"""Which lists the cache answers. The cache is at 20 and can show every state from 10 on."""

from itertools import product

import pytest

from kinformer.apiserver.cacher import LATEST_REVISION, ListRequest, Position, Route, delegate, may_bypass
from kinformer.apiserver.storage import KeyRange

KEYS = KeyRange.prefix("/registry/core/pods/")
GONE, KEPT, NOW, FUTURE = 9, 10, 20, 21
EXACT, CACHE, CONSISTENT, STORAGE = Route.EXACT, Route.CACHE, Route.CONSISTENT, Route.STORAGE


def request(asked: str, *, limit: int = 0, is_single: bool = False) -> ListRequest:
    """A list as it is asked for: ``""``, ``"0"``, ``"10"``, ``"10 Exact"``, ``"10 NotOlderThan"`` or ``"token 10"``."""
    if asked.startswith("token "):
        position = Position(int(asked.removeprefix("token ")), "n/a")
        return ListRequest(KEYS, limit=limit, position=position, is_single=is_single)
    version, _, match = asked.partition(" ")
    return ListRequest(
        KEYS,
        int(version) if version else None,
        match,  # type: ignore[arg-type]
        limit,
        is_single=is_single,
    )


def route(asked: ListRequest, *, tells_progress: bool = True) -> Route:
    return delegate(
        asked, revision=NOW, has=lambda revision: KEPT <= revision <= NOW, tells_progress=tells_progress
    )


# What is asked for, with a limit or without, and who answers: where the storage tells progress, and where it does not.
TABLE = [
    ("", False, CONSISTENT, STORAGE),
    ("", True, CONSISTENT, STORAGE),
    ("0", False, CACHE, CACHE),
    ("0", True, CACHE, CACHE),
    *((f"{revision}", False, CACHE, CACHE) for revision in (GONE, KEPT, NOW, FUTURE)),
    *((f"{revision} NotOlderThan", False, CACHE, CACHE) for revision in (0, GONE, KEPT, NOW, FUTURE)),
    *((f"{revision} NotOlderThan", True, CACHE, CACHE) for revision in (0, GONE, KEPT, NOW, FUTURE)),
    *(
        (f"{revision}{exact}", is_limited, with_progress, without)
        for (exact, is_limited), (revision, with_progress, without) in product(
            [("", True), (" Exact", False), (" Exact", True)],
            [
                (GONE, STORAGE, STORAGE),
                (KEPT, EXACT, EXACT),
                (NOW, EXACT, EXACT),
                (FUTURE, EXACT, STORAGE),
            ],
        )
    ),
    *(
        (f"token {revision}", is_limited, with_progress, without)
        for is_limited, (revision, with_progress, without) in product(
            [False, True],
            [
                (GONE, STORAGE, STORAGE),
                (KEPT, EXACT, EXACT),
                (NOW, EXACT, EXACT),
                (FUTURE, EXACT, STORAGE),
                (LATEST_REVISION, CONSISTENT, STORAGE),
            ],
        )
    ),
]


@pytest.mark.parametrize(
    ("asked", "is_limited", "with_progress", "without"),
    [pytest.param(*row, id=f"{row[0] or 'unset'} {'limited' if row[1] else 'whole'}") for row in TABLE],
)
def test_a_collection_is_answered_by_the_cache_wherever_it_can(
    asked: str, is_limited: bool, with_progress: Route, without: Route
) -> None:
    of = request(asked, limit=3 * is_limited)
    assert (route(of), route(of, tells_progress=False)) == (with_progress, without)


@pytest.mark.parametrize(
    ("asked", "limit", "expected"),
    [
        ("", 0, CONSISTENT),
        ("", 3, CONSISTENT),
        ("0", 0, CACHE),
        ("15", 0, CACHE),
        ("15 NotOlderThan", 3, CACHE),
        ("15", 3, STORAGE),
        ("15 Exact", 0, STORAGE),
        ("token 15", 3, STORAGE),
        ("token -1", 3, STORAGE),
    ],
)
def test_of_a_single_object_the_cache_shows_only_the_present(asked: str, limit: int, expected: Route) -> None:
    assert route(request(asked, limit=limit, is_single=True)) is expected


def test_behaviour_13_any_version_pays_no_heed_to_the_limit() -> None:
    assert request("0", limit=2).most == 0
    assert request("0 NotOlderThan", limit=2).most == 0
    assert [request(asked, limit=2).most for asked in ("", "15", "15 Exact", "token 15")] == [2] * 4


def test_behaviour_25_while_the_cache_is_not_ready_only_cheap_lists_go_past_it() -> None:
    assert may_bypass(request("", limit=5))
    assert not may_bypass(request(""))
    assert not may_bypass(ListRequest(KEYS, limit=5, matches=lambda _: True))


def test_a_request_goes_on_at_its_position() -> None:
    assert request("token 15").rest == KeyRange(KEYS.start + "n/a", KEYS.end)
    assert request("15").rest == KEYS
