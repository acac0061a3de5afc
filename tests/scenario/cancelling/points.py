"""Every place in kinformer where a task may have to wait: found in the source, and found again in a task that waits."""

import ast
import dis
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import shorten
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, Final, Literal, TypeAlias

import kinformer

PACKAGE: Final = Path(kinformer.__file__).parent
_DRIVERS: Final = {"async_generator_asend", "async_generator_athrow", "anext_awaitable", "coroutine_wrapper"}
"""Types of C that stand between two links of a chain, and name what they drive to the garbage collector only."""

_DOUBLES: Final = "../tests/"

Kind: TypeAlias = Literal["await", "for", "enter", "leave"]
_KINDS: Final[tuple[Kind, ...]] = ("await", "enter", "leave")
"""By the argument of the instruction ``GET_AWAITABLE``."""


@dataclass(frozen=True, slots=True)
class Point:
    """An ``await``, the next item of an ``async for``, the beginning or the end of an ``async with``.

    An ``async with`` of several items counts as one. Equal where everything but the line is, so that a list of points
    outlives edits elsewhere in the file.
    """

    file: str
    function: str
    text: str
    number: int
    """1, or more where the same text was in the function before."""

    @property
    def is_foreign(self) -> bool:
        """Whether it is none of kinformer's."""
        return self.file.startswith(_DOUBLES)

    def __str__(self) -> str:
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.file}, {self.function}: {self.text}{again}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a point is written."""

    kind: Kind
    first: tuple[int, int]
    last: tuple[int, int]

    @property
    def size(self) -> tuple[int, int]:
        return self.last[0] - self.first[0], self.last[1] - self.first[1]


@cache
def points() -> dict[Point, int]:
    """All of them, with their lines."""
    return {
        point: place.first[0]
        for path in sorted(PACKAGE.rglob("*.py"))
        for place, point in _points_in(str(path)).items()
    }


def chain(awaitable: Any) -> tuple[Point, ...]:
    """The points at which something that is suspended waits, from the outermost call to the innermost.

    Below them are places in doubles of these tests, so that a call which waits twice there is told from one that waits
    once.
    """
    found: list[Point] = []
    link = awaitable
    while link is not None:
        frame, link = _step(link)
        if frame is None or link is None:
            continue
        point = _seen.at(frame)
        if point is not None and (found or not point.is_foreign):
            found.append(point)
    return tuple(found)


def _step(link: Any) -> tuple[FrameType | None, Any]:
    kind = type(link)
    if kind is CoroutineType:
        return link.cr_frame, link.cr_await
    if kind is AsyncGeneratorType:
        return link.ag_frame, link.ag_await
    if kind is GeneratorType:
        return link.gi_frame, link.gi_yieldfrom
    if kind.__name__ in _DRIVERS:
        for driven in gc.get_referents(link):
            if type(driven) in {CoroutineType, AsyncGeneratorType} or type(driven).__name__ in _DRIVERS:
                return None, driven
    return None, None


class _Seen:
    """The points of code that was seen suspended; by identity, since the hash of code costs more than the rest."""

    def __init__(self) -> None:
        self._points: dict[tuple[int, int], Point | None] = {}
        self._codes: dict[int, CodeType] = {}  # alive, so that none takes another's place

    def at(self, frame: FrameType) -> Point | None:
        place = id(frame.f_code), frame.f_lasti
        if place not in self._points:
            self._codes[place[0]] = frame.f_code
            self._points[place] = _point_at(frame.f_code, frame.f_lasti)
        return self._points[place]


_seen: Final = _Seen()


def _point_at(code: CodeType, offset: int) -> Point | None:
    """The point at an offset of some code; none where the code is neither kinformer's nor of these tests."""
    path = Path(code.co_filename)
    if path.parent == Path(__file__).parent:
        line = list(code.co_positions())[offset // 2][0]
        return Point(f"{_DOUBLES}{path.name}", code.co_qualname, f"line {line}", 1)
    if not code.co_filename.startswith(str(PACKAGE)):
        return None
    kind = _kind_at(code, offset)
    line, _, column, _ = list(code.co_positions())[offset // 2]
    if kind is None or line is None or column is None:
        return None
    at = (line, column)
    around = [
        (place.size, point)
        for place, point in _points_in(code.co_filename).items()
        if place.kind == kind and place.first <= at < place.last and (kind != "await" or place.first == at)
    ]
    return min(around, key=lambda one: one[0])[1] if around else None


def _kind_at(code: CodeType, offset: int) -> Kind | None:
    kind: Kind | None = None
    for instruction in dis.get_instructions(code):
        if instruction.offset > offset:
            break
        if instruction.opname == "GET_ANEXT":
            kind = "for"
        elif instruction.opname == "GET_AWAITABLE":
            kind = _KINDS[instruction.arg or 0]
    return kind


@cache
def _points_in(path: str) -> dict[_Place, Point]:
    file = Path(path).relative_to(PACKAGE).as_posix()
    found: dict[_Place, Point] = {}
    known: set[Point] = set()
    source = Path(path).read_text()
    if "async" not in source:
        return found
    for kind, node, function, text in _written(ast.parse(source), ()):
        place = _Place(kind, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        number = 1
        while (point := Point(file, function, shorten(text, 100, placeholder="..."), number)) in known:
            number += 1
        known.add(point)
        found[place] = point
    return found


def _written(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[Kind, Any, str, str]]:
    function = ".".join(names)
    match node:
        case ast.Await():
            yield "await", node, function, ast.unparse(node)
        case ast.AsyncFor():
            yield "for", node, function, f"async for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            if any(part.is_async for part in node.generators):
                yield "for", node, function, ast.unparse(node)
        case ast.AsyncWith():
            what = f"async with {', '.join(map(ast.unparse, node.items))}"
            yield "enter", node, function, f"enter {what}"
            yield "leave", node, function, f"leave {what}"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            names = (*names, node.name)
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _written(child, names)
