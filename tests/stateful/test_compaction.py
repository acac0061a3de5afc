"""Compaction under records of all kinds: whatever was packed, and when, it can be read."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.informer._compaction import Compaction
from kinformer.meta import Record, Resource

PODS = Resource.builtin("Pod")


class CompactionMachine(RuleBasedStateMachine):
    """The model is the JSON of each record that was packed."""

    def __init__(self) -> None:
        super().__init__()
        self.pack = Compaction()
        self.packed: list[tuple[Record, bytes]] = []

    @rule(text=st.text(max_size=30), times=st.integers(0, 200), count=st.sampled_from([1, 5, 70]))
    def take(self, text: str, times: int, count: int) -> None:
        for index in range(count):
            content = {"metadata": {"name": f"n{index}"}, "spec": text * times}
            raw = msgspec.json.encode(content)
            record = Record.decode(raw, PODS)
            packed = self.pack(record)
            assert packed is record or len(packed.held) < 7 / 8 * len(raw)
            self.packed.append((packed, raw))

    @invariant()
    def all_can_be_read(self) -> None:
        assert [record.raw for record, _ in self.packed] == [raw for _, raw in self.packed]

    @invariant()
    def one_dictionary_comes_after_sixty_four_records(self) -> None:
        early = {id(record.packing) for record, _ in self.packed[:64] if record.packing}
        late = {id(record.packing) for record, _ in self.packed[64:] if record.packing}
        assert len(early) <= 1
        assert len(late) <= 1


TestCompaction = CompactionMachine.TestCase
TestCompaction.settings = settings(max_examples=15, stateful_step_count=12)
