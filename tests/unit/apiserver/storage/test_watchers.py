"""Who is told at once, who has to catch up, and who is blocked."""

import pytest

from kinformer.apiserver.storage import KeyRange, Mvcc, Watchers, WatcherStream, WatchRequest, WatchResponse
from tests.unit.apiserver.storage.stage import told

ALL = KeyRange.prefix("")


class Stage:
    """A storage, and one stream."""

    def __init__(self, *, is_eager: bool = True, capacity: int = 128) -> None:
        self.core = Mvcc()
        self.watchers = Watchers(self.core, is_eager=is_eager)
        self.stream = self.open(capacity)

    def open(self, capacity: int = 128) -> WatcherStream:
        return self.watchers.open(lambda: None, capacity=capacity, most_bytes=1000)

    def write(self, *keys: str) -> None:
        """One revision for each key."""
        for key in keys:
            self.core.put(key, b"")
            self.watchers.notify(self.core.commit())

    def take(self) -> WatchResponse:
        response = self.stream.take()
        assert response is not None
        return response

    def rest(self) -> list[WatchResponse]:
        found = []
        while (response := self.stream.take()) is not None:
            found.append(response)
        return found


@pytest.mark.parametrize(
    ("compacted", "revisions"),
    [
        pytest.param(9, [4, 5], id="it still needed 6"),
        pytest.param(6, [4, 5, 6, 7, 8, 9], id="6 is still there"),
    ],
)
def test_behaviour_08_a_blocked_batch_survives_the_compaction_that_passes_it(
    compacted: int, revisions: list[int]
) -> None:
    stage = Stage(capacity=1)
    stage.write("a", "a")
    stage.stream.create(WatchRequest(ALL))
    assert stage.take().created
    stage.write(*"aaaaaa")  # 4 fills the stream, 5 is kept, and the others have to be read from the log
    stage.core.compact(compacted)
    found = stage.rest()
    assert [revision for response in found for revision, _ in told(response)] == revisions
    assert [response.compact_revision for response in found if response.canceled] == (
        [9] if compacted == 9 else []
    )


def test_behaviour_07_a_revision_arrives_whole_though_its_reader_is_blocked() -> None:
    stage = Stage(capacity=1)
    stage.stream.create(WatchRequest(ALL))
    for _ in range(3):
        for key in "ab":
            stage.core.put(key, b"")
        stage.watchers.notify(stage.core.commit())
    assert [told(response) for response in stage.rest()[1:]] == [[(at, "a"), (at, "b")] for at in (2, 3, 4)]


def test_whoever_catches_up_gets_a_thousand_revisions_at_a_time() -> None:
    stage = Stage()
    stage.write(*"a" * 2500)
    stage.stream.create(WatchRequest(ALL, 2))
    assert [len(response.events) for response in stage.rest()] == [0, 1000, 1000, 500]
    assert {response.revision for response in stage.rest()} == set()


def test_a_pass_serves_some_hundreds_and_the_next_one_goes_on_behind_them() -> None:
    stage = Stage(is_eager=False, capacity=1000)
    stage.write("a")
    for _ in range(600):
        stage.stream.create(WatchRequest(ALL, 2))
    stage.watchers.catch_up()
    assert stage.watchers.behind == 600 - 512
    stage.watchers.catch_up()
    assert stage.watchers.behind == 0
    assert len({response.watch_id for response in stage.rest() if response.events}) == 600


def test_watchers_of_a_full_stream_are_all_served_in_the_end() -> None:
    """The mix of upstream's ``TestWatchVictims`` and ``TestWatchNoEventLossOnCompact``."""
    stage = Stage(capacity=1)
    stage.write(*"aaaa")
    stage.core.compact(4)
    for number in range(20):
        stage.stream.create(WatchRequest(ALL, 2 if number % 2 else 4))
    stage.write(*"aaaa")
    found = stage.rest()
    over = {response.watch_id for response in found if response.compact_revision}
    assert over == set(range(1, 20, 2))
    for watch_id in range(0, 20, 2):
        seen = [at for response in found if response.watch_id == watch_id for at, _ in told(response)]
        assert seen == [4, 5, 6, 7, 8, 9]


def test_batches_that_are_filtered_out_do_not_stop_the_catching_up() -> None:
    stage = Stage()
    stage.write(*"a" * 1500)
    stage.core.delete(KeyRange.key("a"))
    stage.watchers.notify(stage.core.commit())
    stage.stream.create(WatchRequest(ALL, 2, no_put=True))
    assert [told(response) for response in stage.rest()[1:]] == [[(1502, "a")]]


def test_a_slow_stream_holds_up_nobody_else() -> None:
    stage = Stage(capacity=1)
    fast = stage.open()
    for stream in (stage.stream, fast):
        stream.create(WatchRequest(ALL))
    stage.write(*"aaaa")
    taken = [fast.take() for _ in range(5)]
    assert [at for response in taken if response is not None for at, _ in told(response)] == [2, 3, 4, 5]
    assert stage.watchers.blocked == 1


def test_whoever_is_late_is_announced() -> None:
    stage = Stage(is_eager=False)
    late: list[int] = []
    stage.watchers.on_late = lambda: late.append(stage.watchers.behind)
    stage.write("a")
    stage.stream.create(WatchRequest(ALL))
    assert late == []
    stage.stream.create(WatchRequest(ALL, 2))
    assert late == [1]


def test_closing_a_stream_ends_its_watches_wherever_they_stand() -> None:
    stage = Stage(is_eager=False, capacity=1)
    stage.write("a")
    stage.core.compact(2)
    for start in (0, 1, 2, 2):
        stage.stream.create(WatchRequest(ALL, start))
    stage.watchers.catch_up()
    assert len(stage.watchers) > 0
    stage.stream.close()
    assert (len(stage.watchers), len(stage.stream), stage.stream.take()) == (0, 0, None)
