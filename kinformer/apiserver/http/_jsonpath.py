r"""JSONPath, as far as printer columns of custom resources use it.

Fields (``.spec.url``, ``['a.b']``, ``.metadata.labels.example\.dev/x``), indices (``[0]``, ``[-1]``, ``[*]``) and
filters (``[?(@.type=="Ready")]``), with or without the braces around the whole.
https://kubernetes.io/docs/reference/kubectl/jsonpath/
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

__all__ = ["find"]

_Step = Callable[[Any], Iterator[Any]]

_TOKEN: Final = re.compile(
    r"""(?P<all>\[\s*\*\s*\]|\.\*)
      | \.(?P<field>(?:\\.|[^.\[\\])+)
      | \[\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\]
      | \[\s*(?P<index>-?[0-9]+)\s*\]
      | \[\?\(\s*@(?P<path>[^=!<>]*?)\s*(?:(?P<operator>==|!=)\s*(?P<value>'[^']*'|"[^"]*"|[^)\s]+)\s*)?\)\]
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")
_WORDS: Final = {"true": True, "false": False, "null": None}


def find(path: str, value: Any) -> list[Any]:
    """Everything in ``value`` that ``path`` leads to, in order; nothing where it leads nowhere.

    Raises:
        ValueError: The path is outside of the part of JSONPath that is understood here.
    """
    found = [value]
    for step in _compile(path):
        found = [below for one in found for below in step(one)]
    return found


@cache
def _compile(path: str) -> tuple[_Step, ...]:
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    text = text.removeprefix("$")
    if text and text[0] not in ".[":
        text = "." + text
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            if text[position:] == ".":  # "." alone, or at the end, is the value itself
                break
            raise ValueError(f"cannot read the JSONPath {path!r} from {text[position:]!r} on")
        steps.append(_step(token))
        position = token.end()
    return tuple(steps)


def _step(token: re.Match[str]) -> _Step:
    if token["all"]:
        return _every
    if token["index"]:
        return _at(int(token["index"]))
    if token["path"] is not None:
        return _filter(token["path"], token["operator"], token["value"])
    if token["field"]:
        return _field(_ESCAPE.sub(r"\1", token["field"]))
    return _field(token["single"] if token["single"] is not None else token["double"])


def _field(name: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping) and name in value:
            yield value[name]

    return step


def _at(index: int) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()


def _filter(path: str, operator: str | None, literal: str | None) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            return
        for item in value:
            found = find(path, item)
            if operator is None or literal is None:
                if found:
                    yield item
            elif found and (found[0] == _literal(literal)) is (operator == "=="):
                yield item

    return step


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text
