"""A snapshot is all of its pages, or a reason why there is none."""

from collections.abc import Sequence

import pytest

from kinformer.errors import DecodeError, ExpiredError, ServerError
from kinformer.meta import Object, ObjectList, Resource
from kinformer.reflector import Listing
from kinformer.reflector._listing import Pages, fetch
from kinformer.reflector._machine import Failed, PageExpired
from kinformer.testing import FakeClock, ListAnswer, ScriptedSource

PODS = Resource.builtin("Pod")
GONE = ExpiredError(410)
BROKEN = ServerError(500)
REJECTED = DecodeError("labels is null", key="default/x")


def page(
    name: str, version: str, token: str = "", rejected: Sequence[DecodeError] = ()
) -> ObjectList[Object]:
    metadata = {"namespace": "default", "name": name}
    pod = Object.from_mapping({"metadata": metadata}, PODS)
    return ObjectList((pod,), version, token, rejected=tuple(rejected))


async def outcome(*answers: ListAnswer) -> tuple[Pages | PageExpired | Failed, ScriptedSource]:
    source = ScriptedSource(PODS, lists=answers, clock=FakeClock())
    return await fetch(source, Listing("0")), source


async def test_all_pages_make_one_snapshot_of_the_version_of_the_first() -> None:
    pages, source = await outcome(page("a", "5", "t1", [REJECTED]), page("b", "6", "t2"), page("c", "7"))
    assert isinstance(pages, Pages)
    assert [record.key.name for record in pages.snapshot.records] == ["a", "b", "c"]
    assert (pages.snapshot.version, pages.snapshot.rejected, pages.is_paginated) == ("5", [REJECTED], True)
    assert [(request.version, request.limit, request.continue_token) for request in source.requests] == [
        ("0", 500, ""),
        ("", 500, "t1"),
        ("", 500, "t2"),
    ]


async def test_one_page_is_not_paginated() -> None:
    pages, _ = await outcome(page("a", "5"))
    assert isinstance(pages, Pages)
    assert not pages.is_paginated


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([BROKEN], Failed(BROKEN)),
        ([GONE], Failed(GONE)),
        ([page("a", "5", "t"), BROKEN], Failed(BROKEN)),
        ([page("a", "5", "t"), GONE], PageExpired()),
        ([page("a", "5", "t"), page("b", "5", "u"), GONE], PageExpired()),
    ],
    ids=["500", "410", "500 on page 2", "410 on page 2", "410 on page 3"],
)
async def test_a_failure_on_any_page_is_one_of_the_whole(
    answers: list[ListAnswer], expected: PageExpired | Failed
) -> None:
    found, _ = await outcome(*answers)
    assert found == expected


async def test_a_token_that_repeats_is_a_failure() -> None:
    found, source = await outcome(page("a", "5", "t"), page("b", "5", "t"))
    assert isinstance(found, Failed)
    assert "repeats its continue token" in str(found.error)
    assert len(source.requests) == 2


async def test_an_error_keeps_no_frame_of_the_shell_alive() -> None:
    """Through its traceback it would keep the pages that came before it, for as long as a condition shows it."""
    found, _ = await outcome(page("a", "5", "t"), ServerError(500))
    assert isinstance(found, Failed)
    traceback = found.error.__traceback__
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "fetch" not in frames
