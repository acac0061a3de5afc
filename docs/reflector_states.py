"""Draw the reflector's states, and write them down as a table, from the function that decides them.

mkdocs calls ``on_page_markdown`` for each page; where a page has the marker, the drawing and the table take its place.
All states that differ in anything that ``advance`` may look at are given every outcome, so neither can be out of date.
An outcome or a field that this file does not know fails the build.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from html import escape
from itertools import product
from math import hypot
from typing import Any, Final, get_args

from kinformer.errors import ExpiredError, InvalidError, ServerError, ThrottledError, TransportError
from kinformer.meta import ANY, LATEST
from kinformer.reflector import Listing, State, Streaming, Terms, Waiting, Watching
from kinformer.reflector._machine import (
    Active,
    Closed,
    Failed,
    Listed,
    Outcome,
    PageExpired,
    Progressed,
    Rested,
    Silent,
    Streamed,
    Trouble,
    advance,
    classify,
)

MARKER: Final = "<!-- the reflector's states -->"
LOST: Final = TransportError("reset")
OUTCOMES: Final[Mapping[str, Outcome]] = {
    "listed": Listed("9"),
    "page expired": PageExpired(),
    "streamed": Streamed("9"),
    "progressed": Progressed("9"),
    "closed": Closed(),
    "closed at once": Closed(is_short=True),
    "silent": Silent(LOST),
    "expired": Failed(ExpiredError(410)),
    "refused": Failed(InvalidError(422)),
    "busy": Failed(ThrottledError(429)),
    "lost": Failed(LOST),
    "other": Failed(ServerError(500)),
    "rested": Rested(),
}
VALUES: Final[Mapping[str, tuple[Any, ...]]] = {
    "version": (ANY, LATEST, "5"),
    "terms": (Terms(watch_list=True), Terms(watch_list=False)),
    "is_whole": (False, True),
    "has_rested": (False, True),
    "failures": (0, 1, 2),
}
"""For each field of an active state, the values that may make a difference."""


@dataclass(frozen=True, slots=True)
class Step:
    """What follows a state after an outcome, by name."""

    state: str
    outcome: str
    then: str
    """The class of the next state."""
    words: str
    """What is done in it, or after the wait."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the drawing and the table where the marker is (an mkdocs event)."""
    if MARKER not in markdown:
        return markdown
    found = list(dict.fromkeys(steps(advance, OUTCOMES, VALUES)))
    return markdown.replace(MARKER, f"{drawing(found)}\n\n{table(found)}")


def steps(
    decide: Callable[[State, Outcome], State],
    outcomes: Mapping[str, Outcome],
    values: Mapping[str, tuple[Any, ...]],
) -> Iterator[Step]:
    """Every step that ``decide`` makes.

    Raises:
        RuntimeError: There is an outcome that is not among these, or a field without values.
    """
    known = {type(outcome) for outcome in outcomes.values()}
    troubles = {classify(outcome.error) for outcome in outcomes.values() if isinstance(outcome, Failed)}
    if unknown := {*get_args(Outcome), *Trouble} - known - troubles:
        raise RuntimeError(f"OUTCOMES has no example of {', '.join(map(str, unknown))}")
    for state, (name, outcome) in product(states(values), outcomes.items()):
        try:
            after = decide(state, outcome)
        except AssertionError:
            continue
        then = after.then if isinstance(after, Waiting) else after
        may_begin = isinstance(after, Waiting) or isinstance(state, Watching)
        words = _words(state, then, may_begin=may_begin)
        yield Step(type(state).__name__, name, type(after).__name__, words)


def states(values: Mapping[str, tuple[Any, ...]]) -> Iterator[State]:
    """States that differ in all that may make a difference, and a wait for each of them."""
    for kind in (Listing, Streaming, Watching):
        names = [field.name for field in fields(kind)]
        if unknown := set(names) - values.keys():
            raise RuntimeError(f"VALUES has no values for {kind.__name__}.{', '.join(unknown)}")
        for chosen in product(*(values[name] for name in names)):
            state = kind(**dict(zip(names, chosen, strict=True)))
            yield state
            yield Waiting(state, state, LOST)


def _words(before: State, after: Active, *, may_begin: bool) -> str:
    if may_begin and not isinstance(before, Streaming) and after == after.terms.begin(after.version):
        words = "begin a cycle"
    else:
        words = {Listing: "list", Streaming: "watch-list", Watching: "watch"}[type(after)]
    if isinstance(after, Listing) and after.is_whole:
        words += " everything at once"
    if after.version == LATEST and not isinstance(before, Waiting) and before.version != LATEST:
        words += " at the latest version"
    return f"{words} from there" if after.version == "9" else words


def table(found: list[Step]) -> str:
    """The steps as Markdown; what follows differs with the version, the terms and what went before."""
    rows: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for step in found:
        then = "wait, then " if step.then == "Waiting" else ""
        rows.setdefault((step.state, step.outcome), {}).setdefault(then, {})[step.words] = None
    lines = [
        f"| `{state}` | {outcome} | {'; or '.join(wait + ' or '.join(words) for wait, words in sorted(then.items()))} |"
        for (state, outcome), then in rows.items()
    ]
    return "\n".join(["| state | outcome | what follows |", "|---|---|---|", *lines])


# The drawing. Where the boxes are is all that is drawn by hand.

Point = tuple[float, float]
WIDTH: Final = 1000
HEIGHT: Final = 700
BOX: Final = (70.0, 24.0)
"""Half of the width and of the height of a box."""
AT: Final = 0.36
"""Where on its arrow a label stands: before the middle, where arrows cross."""
PLACES: Final[Mapping[str, Point]] = {
    "Listing": (130, 340),
    "Streaming": (870, 340),
    "Waiting": (500, 50),
    "Watching": (500, 580),
}
STYLE: Final = (
    ".states{width:100%;height:auto;font:14px sans-serif}"
    ".states path,.states rect{fill:none;stroke:currentColor}"
    ".states text{fill:currentColor;text-anchor:middle;stroke:var(--md-default-bg-color,#fff);"
    "stroke-width:5px;paint-order:stroke}"
    ".states .name{font-weight:bold}.states marker path{fill:currentColor}"
)


def drawing(found: list[Step]) -> str:
    """The steps as SVG: a box for each state, an arrow for each two of them, the outcomes at the arrow."""
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for step in found:
        labels.setdefault((step.state, step.then), {})[step.outcome] = None
    paths, texts = zip(*(_arrow(*ends, list(outcomes)) for ends, outcomes in labels.items()), strict=True)
    head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    return "".join(
        [
            f'<svg class="states" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the states of a reflector">',
            f'<style>{STYLE}</style><defs>{head}<path d="M0 0L8 4L0 8z"/></marker></defs>',
            *paths,
            *(_box(name, *place) for name, place in PLACES.items()),
            *texts,
            "</svg>",
        ]
    )


def _box(name: str, x: float, y: float) -> str:
    across, down = BOX
    rect = f'<rect x="{x - across}" y="{y - down}" width="{2 * across}" height="{2 * down}" rx="8"/>'
    return f'{rect}<text class="name" x="{x}" y="{y + 5}">{name}</text>'


def _arrow(start: str, end: str, outcomes: list[str]) -> tuple[str, str]:
    """A bent line, so that there and back are two; or a loop on the outer side of its box."""
    (ax, ay), (bx, by) = PLACES[start], PLACES[end]
    if start == end:
        side = -1 if ay < HEIGHT / 2 else 1
        y, far = ay + side * BOX[1], ay + side * (BOX[1] + 66)
        path, place = f"M{ax - 30} {y}C{ax - 60} {far} {ax + 60} {far} {ax + 30} {y}", (ax, far - side * 8)
    else:
        length = hypot(bx - ax, by - ay)
        bend = 0.14 * length + 14
        control = (ax + bx) / 2 - (by - ay) / length * bend, (ay + by) / 2 + (bx - ax) / length * bend
        first, last = _rim((ax, ay), control), _rim((bx, by), control)
        path = "M{:.0f} {:.0f}Q{:.0f} {:.0f} {:.0f} {:.0f}".format(*first, *control, *last)
        place = _bent(first[0], control[0], last[0]), _bent(first[1], control[1], last[1])
    x, y = place
    top = y + 5 - 8 * (len(outcomes) - 1)
    lines = "".join(
        f'<tspan x="{x:.0f}" y="{top + 16 * number:.0f}">{escape(outcome)}</tspan>'
        for number, outcome in enumerate(outcomes)
    )
    return f'<path d="{path}" marker-end="url(#head)"/>', f"<text>{lines}</text>"


def _bent(first: float, control: float, last: float) -> float:
    """A coordinate of the point of a bent line where its label stands."""
    return (1 - AT) ** 2 * first + 2 * AT * (1 - AT) * control + AT**2 * last


def _rim(center: Point, towards: Point) -> Point:
    """Where a line out of the middle of a box leaves it."""
    dx, dy = towards[0] - center[0], towards[1] - center[1]
    scale = min(size / abs(d) if d else float("inf") for size, d in zip(BOX, (dx, dy), strict=True))
    return center[0] + dx * scale, center[1] + dy * scale
