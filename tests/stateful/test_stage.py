"""The demo in plain lines: whoever reads along knows the world as it is."""

import io

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from rich.console import Console

from kinformer.cli._stage import PlainStage, Row

NAMES = st.sampled_from("abcd")
WORDS = st.sampled_from(["[ready]", "missing"])


class StageMachine(RuleBasedStateMachine):
    """The reader keeps one line for each Website, and is told nothing twice."""

    def __init__(self) -> None:
        super().__init__()
        self.out = io.StringIO()
        self.stage = PlainStage(Console(file=self.out, width=40, highlight=False, legacy_windows=False))
        self.known: dict[str, str] = {}

    @rule(rows=st.lists(st.builds(Row, NAMES, WORDS, WORDS, WORDS), unique_by=lambda row: row.name))
    def show(self, rows: list[Row]) -> None:
        self.stage.show(rows)
        world = {
            row.name: f"Website {row.website}; Deployment {row.deployment}; ConfigMap {row.config_map}"
            for row in rows
        }
        changed = [name for name, line in world.items() if self.known.get(name) != line]
        gone = [name for name in self.known if name not in world]
        self.check([*(f"{name}: {world[name]}" for name in changed), *(f"{name}: all gone" for name in gone)])
        self.known = world

    @rule()
    def say(self) -> None:
        self.stage.say("[bold] moves")
        assert self.out.getvalue() == "> [bold] moves\n"
        self.out.truncate(self.out.seek(0))

    def check(self, lines: list[str]) -> None:
        assert self.out.getvalue().splitlines() == [f"    {line}" for line in lines]
        self.out.truncate(self.out.seek(0))


TestStage = StageMachine.TestCase
TestStage.settings = settings(max_examples=30, stateful_step_count=10)
