"""The reflector's table as a machine: from every state that can be reached, every outcome that can come of it.

The rows themselves are in ``tests/unit/reflector/test_machine.py``. Here is what must hold whatever the way there.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.errors import (
    DecodeError,
    ExpiredError,
    FutureVersionError,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import ANY, LATEST
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

VERSIONS = st.integers(4, 99).map(str)
ERRORS = st.sampled_from(
    [
        ExpiredError(410),
        FutureVersionError(504),
        InvalidError(422),
        ThrottledError(429, retry_after=1e9),
        TransportError("refused", refused=True),
        TransportError("reset"),
        NotFoundError(404),
        ServerError(500, retry_after=7.0),
        DecodeError("no JSON"),
    ]
)
FAILED = st.builds(Failed, ERRORS)
CLOSED = st.builds(Closed, st.booleans())
SILENT = st.builds(Silent, st.just(TransportError("silent")))
LISTED = st.builds(Listed, VERSIONS, st.sampled_from([True, True, False]))
COMES_OF: dict[type, st.SearchStrategy[Outcome]] = {
    Listing: LISTED | LISTED | st.just(PageExpired()) | FAILED,
    Streaming: st.builds(Streamed, VERSIONS) | CLOSED | SILENT | FAILED,
    Watching: st.builds(Progressed, VERSIONS) | CLOSED | SILENT | FAILED,
    Waiting: st.just(Rested()),
}
NEVER_COMES_OF: dict[type, st.SearchStrategy[Outcome]] = {
    Listing: st.builds(Streamed, VERSIONS)
    | st.builds(Progressed, VERSIONS)
    | CLOSED
    | SILENT
    | st.just(Rested()),
    Streaming: LISTED | st.builds(Progressed, VERSIONS) | st.just(PageExpired()) | st.just(Rested()),
    Watching: LISTED | st.builds(Streamed, VERSIONS) | st.just(PageExpired()) | st.just(Rested()),
    Waiting: LISTED | st.builds(Progressed, VERSIONS) | CLOSED | SILENT | FAILED | st.just(PageExpired()),
}
AT_ONCE = 5
"""Requests for a snapshot that may follow each other without a wait: watch-list, LIST, the whole LIST, and the last two
at another version."""


class TableMachine(RuleBasedStateMachine):
    """Outcomes at random; the model remembers only which versions the server has named and what went wrong last."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(True, 0, ANY)

    @rule(
        watch_list=st.sampled_from([True, False, False]),
        page_size=st.sampled_from([0, 7]),
        start=st.sampled_from([ANY, ANY, "3"]),
    )
    def begin(self, watch_list: bool, page_size: int, start: str) -> None:
        self.terms = Terms(watch_list, page_size)
        self.state: State = self.terms.begin(start)
        self.named = {start, LATEST}
        self.published = start
        self.at_once = 0
        self.broken = 0

    @rule(data=st.data(), steps=st.integers(2, 6))
    def go_on(self, data: st.DataObject, steps: int) -> None:
        for _ in range(steps):
            self.step(data.draw(COMES_OF[type(self.state)]))

    @rule(errors=st.lists(ERRORS, min_size=2, max_size=4))
    def fail_in_a_row(self, errors: list[Exception]) -> None:
        for error in errors:
            if isinstance(self.state, Waiting):
                self.step(Rested())
            self.step(Failed(error))

    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        with pytest.raises(AssertionError, match="cannot follow"):
            advance(self.state, data.draw(NEVER_COMES_OF[type(self.state)]))

    def step(self, outcome: Outcome) -> None:
        before = self.state
        self.state = advance(before, outcome)
        if isinstance(outcome, Listed | Streamed | Progressed):
            self.named.add(outcome.version)
            self.published = outcome.version
        if isinstance(before, Listing) and isinstance(outcome, Listed) and before.version == ANY:
            is_paginated = self.terms.is_paginated or outcome.is_paginated
            self.terms = replace(self.terms, is_paginated=is_paginated)
        self.check_where_it_leads(before, outcome)
        self.count(before, outcome)
        self.check_the_state()

    def check_where_it_leads(self, before: State, outcome: Outcome) -> None:
        """What is lost, and what is not."""
        match before, self.state:
            case Waiting(then=then), after:
                assert after == then
            case _, Waiting(then=then, failed=failed, error=error):
                assert failed == before
                assert not isinstance(outcome, Failed) or error is outcome.error
                if isinstance(before, Watching) and isinstance(then, Watching):
                    assert classify(error) in {Trouble.BUSY, Trouble.LOST}
                if type(outcome) is not PageExpired:
                    assert then.version == before.version, "a wait forgets no version"
            case Watching(has_rested=has_rested), Streaming() | Listing() as after:
                assert has_rested, "a watch is followed by a list after a wait only"
                assert isinstance(outcome, Failed)
                assert outcome.trouble is Trouble.EXPIRED
                assert after == self.terms.begin(before.version)
            case Watching(), after:
                assert isinstance(outcome, Progressed | Closed | Silent)
                assert after == Watching(self.published, self.terms)
            case Streaming() | Listing(), Streaming() | Listing() as after:
                assert after.version in {before.version, LATEST}
                assert after != before, "the same request again without a wait"
            case _, after:
                assert isinstance(outcome, Listed | Streamed)
                assert after == Watching(self.published, self.terms)

    def count(self, before: State, outcome: Outcome) -> None:
        """How many requests for a snapshot went wrong without a wait, and how many watch-lists in a row."""
        is_calm = isinstance(self.state, Waiting | Watching)
        self.at_once = 0 if is_calm else self.at_once + (not isinstance(before, Waiting))
        assert self.at_once <= AT_ONCE
        if isinstance(before, Streaming):
            is_busy = isinstance(outcome, Failed) and classify(outcome.error) is Trouble.BUSY
            self.broken += isinstance(self.state, Waiting) and not is_busy
        if not isinstance(self.resting, Streaming):
            self.broken = 0
        assert self.broken < 3, "one of them must be a LIST"

    @property
    def resting(self) -> Listing | Streaming | Watching:
        """What is done now, or after the wait."""
        return self.state.then if isinstance(self.state, Waiting) else self.state

    def check_the_state(self) -> None:
        """It is one that may be: of versions that were named, on the terms that were given and learned."""
        assert self.resting.terms == self.terms
        assert self.resting.version in self.named
        if isinstance(self.resting, Watching):
            assert self.resting.version == self.published
        if isinstance(self.resting, Streaming):
            assert self.terms.watch_list
            assert self.resting.failures == self.broken
            assert self.resting.request_version != ANY
        if isinstance(self.resting, Listing) and self.resting.is_whole:
            assert self.resting is self.state, "after a wait a list begins in pages"
            assert self.resting.limit == 0
        if isinstance(self.state, Waiting):
            is_missing = isinstance(self.state.error, NotFoundError)
            assert 0.0 <= self.state.at_least <= 600.0
            assert self.state.at_most == (10.0 if is_missing else math.inf)


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=40, stateful_step_count=20)
