"""Mvcc against the plainest model: a list with the whole content at each revision."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.storage import CompactedError, FutureRevisionError, Mvcc, StaleError

KEYS = ("/p/a", "/p/b", "/p/b-c", "/q/a")
Content = dict[str, tuple[bytes, int, int]]


class MvccModel(RuleBasedStateMachine):
    """The model keeps everything for ever; the structure must agree wherever it has not been told to forget."""

    def __init__(self) -> None:
        super().__init__()
        self.core = Mvcc()
        self.contents: list[Content] = [{}, {}]  # by revision
        self.changed: list[str] = ["", ""]
        self.compacted = 0

    @property
    def now(self) -> int:
        return len(self.contents) - 1

    @rule(key=st.sampled_from(KEYS), value=st.binary(max_size=2), offset=st.sampled_from([None, 0, -1]))
    def put(self, key: str, value: bytes, offset: int | None) -> None:
        held = self.contents[-1].get(key)
        actual = held[2] if held else 0
        expected = None if offset is None else max(0, actual + offset)
        if expected not in {None, actual}:
            with pytest.raises(StaleError):
                self.core.put(key, value, expected)
            return
        self.core.put(key, value, expected)
        created = held[1] if held else self.now + 1
        self.remember(key, {**self.contents[-1], key: (value, created, self.now + 1)})

    @rule(key=st.sampled_from(KEYS))
    def delete(self, key: str) -> None:
        change = self.core.delete(key)
        if key not in self.contents[-1]:
            assert change is None
            return
        assert change is not None
        assert change.previous is not None
        assert change.previous.mod_revision == self.contents[-1][key][2]
        self.remember(key, {name: held for name, held in self.contents[-1].items() if name != key})

    def remember(self, key: str, content: Content) -> None:
        self.contents.append(content)
        self.changed.append(key)

    @rule(back=st.integers(-1, 6))
    def compact(self, back: int) -> None:
        revision = max(0, self.now - back)
        if revision > self.now:
            with pytest.raises(FutureRevisionError):
                self.core.compact(revision)
        elif revision <= self.compacted:
            with pytest.raises(CompactedError):
                self.core.compact(revision)
        else:
            self.core.compact(revision)
            self.compacted = revision

    @rule(
        back=st.none() | st.integers(-1, 6),
        limit=st.integers(0, 3),
        prefix=st.sampled_from(["/", "/p/", "/p/b"]),
        start=st.sampled_from(["", *KEYS]),
    )
    def read(self, back: int | None, limit: int, prefix: str, start: str) -> None:
        revision = 0 if back is None else max(0, self.now - back)
        if revision > self.now or 0 < revision < self.compacted:
            with pytest.raises((CompactedError, FutureRevisionError)):
                self.core.range(prefix, revision=revision)
            return
        content = self.contents[revision or self.now]
        wanted = [(key, *content[key]) for key in sorted(content) if key.startswith(prefix) and key >= start]
        found = self.core.range(prefix, start=start, revision=revision, limit=limit)
        assert [(i.key, i.value, i.create_revision, i.mod_revision) for i in found.items] == wanted[
            : limit or None
        ]
        assert found.remaining == len(wanted) - len(found.items)
        assert found.revision == self.now

    @rule(back=st.integers(-2, 9), most=st.integers(1, 4), prefix=st.sampled_from(["/", "/p/b"]))
    def watch(self, back: int, most: int, prefix: str) -> None:
        start = max(0, self.now - back)
        if start < self.compacted:
            with pytest.raises(CompactedError):
                self.core.changes(prefix, start, most)
            return
        wanted = [
            revision
            for revision in range(max(2, start), self.now + 1)
            if self.changed[revision].startswith(prefix)
        ]
        found, after = self.core.changes(prefix, start, most)
        assert [change.revision for change in found] == wanted[:most]
        assert after == (wanted[most - 1] + 1 if len(wanted) >= most else max(start, self.now + 1))
        for change in found:
            held = self.contents[change.revision].get(change.key)
            assert (change.current and change.current.value) == (held and held[0])

    @invariant()
    def memory_is_bounded_by_live_keys_and_the_log(self) -> None:
        assert self.core.revision == self.now
        assert len(self.core) == self.now - max(1, self.compacted - 1)
        for key, history in self.core._histories.items():
            old = [change for change in history if change.revision < self.compacted]
            assert len(old) <= 1, f"{key} keeps what cannot be read any more"
            assert all(change.current for change in old), (
                f"{key} keeps a delete that cannot be watched any more"
            )
        assert sorted(self.core._histories) == self.core._keys


TestMvcc = MvccModel.TestCase
TestMvcc.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
