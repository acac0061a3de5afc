"""FrozenDict and FrozenList: JSON that can be read like any other, and not written.

They are subclasses of ``dict`` and ``list``, so ``json.dumps``, msgspec, ``==``, ``isinstance`` and pydantic take
them as they are. What is in a dict is wrapped when it is first reached, what is in a list when the list is. A consumer
written in C may read past the wrapper; what it gets belongs to one handle, since the caches themselves hold bytes.
"""

from collections.abc import Callable, ItemsView, Iterable, Iterator, ValuesView
from typing import Any, Final, NoReturn, Self

__all__ = ["FrozenDict", "FrozenList"]

_FIX: Final = "objects from a cache are read-only: take obj.thaw(), a private copy, and change that"


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG001 -- stands in for every mutator
    raise TypeError(_FIX)


class FrozenDict(dict[str, Any]):
    """A read-only ``dict``; every mutating method raises ``TypeError`` and names ``thaw()``.

    ``copy.copy`` gives a plain dict of the same (read-only) values, ``copy.deepcopy`` one that is mutable throughout.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        dict.update(made, *args, **kwargs)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: it is filled when it is made, and that of ``dict`` could be called to fill it again."""

    __setitem__ = __delitem__ = __ior__ = __setattr__ = __delattr__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        kind = type(value)
        if kind is dict or kind is list:
            value = _frozen(value)
            super().__setitem__(key, value)  # once: later reads find the wrapper; the size does not change
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value for ``key``, or ``default``."""
        try:
            return self[key]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        # That there is one of our own makes dict(frozen), {**frozen} and frozen | other read by __getitem__, which wraps.
        return super().__iter__()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # typeshed names CPython's own final class
        """The values, each read-only."""
        self._wrap()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # likewise
        """The pairs, each value read-only."""
        self._wrap()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """A plain dict of the same values, which stay read-only."""
        return dict(self.items())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return thawed(self)

    def __reduce__(self) -> tuple[type[Self], tuple[Any]]:
        return type(self), (thawed(self),)

    def _wrap(self) -> None:
        for key in self:
            self[key]


class FrozenList(list[Any]):
    """A read-only ``list``; every mutating method raises ``TypeError`` and names ``thaw()``.

    Its values are wrapped when it is made, not when they are reached: ``[] + frozen`` reaches them past every method of
    ours. A slice and a copy are plain lists of the same values, which stay read-only.
    """

    __slots__ = ()

    def __new__(cls, values: Iterable[Any] = ()) -> Self:
        made = super().__new__(cls)
        list.extend(made, map(_frozen, values))
        return made

    def __init__(self, values: Iterable[Any] = ()) -> None:
        """Do nothing, as that of ``FrozenDict``."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = __setattr__ = __delattr__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    __copy__ = list.copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return thawed(self)

    def __reduce__(self) -> tuple[type[Self], tuple[Any]]:
        return type(self), (thawed(self),)


def thawed(value: Any) -> Any:
    """A deep copy of JSON in which nothing is frozen."""
    if isinstance(value, dict):
        return {key: thawed(dict.__getitem__(value, key)) for key in value}
    if isinstance(value, list):
        return [thawed(item) for item in list.__iter__(value)]
    return value


def frozen_dict(content: Any) -> FrozenDict:
    """A ``FrozenDict`` of what ``dict`` takes, without the detour by the class: half of what reading a body costs."""
    made = _new(FrozenDict)
    _update(made, content)
    return made


_new: Final[Callable[[type[FrozenDict]], FrozenDict]] = dict.__new__
_update: Final = dict.update


def _frozen(value: Any) -> Any:
    """The value itself, or the wrapper of one that could be changed."""
    kind = type(value)
    return frozen_dict(value) if kind is dict else FrozenList(value) if kind is list else value
