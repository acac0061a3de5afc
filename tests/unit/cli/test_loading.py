"""From a file to what is to be run."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kinformer.cli._complaint import Complaint
from kinformer.cli._loading import Runnable, load, select
from kinformer.controller import Controller, Manager

Write = Callable[..., Path]

HEAD = """
from kinformer.controller import Controller, Manager
from kinformer.meta import Resource

PODS = Resource.builtin("Pod")

async def reconcile(request): ...
"""


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    def write(text: str, name: str = "website.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    before, modules = list(sys.path), set(sys.modules)
    yield write
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        if name.startswith("kinformer_file_") or name == "neighbour":
            del sys.modules[name]


def choose(file: Path, name: str = "") -> tuple[Runnable, ...]:
    return select(load(file), name, file)


def test_the_main_part_of_the_file_does_not_run(write: Write) -> None:
    module = load(write("ran = __name__ == '__main__'"))
    assert module.ran is False


def test_a_file_may_import_its_neighbours_and_be_called_like_a_module(write: Write) -> None:
    write("VALUE = 7", "neighbour.py")
    module = load(write("from neighbour import VALUE", "json.py"))
    assert module.VALUE == 7
    assert sys.modules["json"].__name__ == "json"
    assert sys.modules["json"] is not module


def test_dataclasses_in_the_file_find_their_module(write: Write) -> None:
    text = """
from __future__ import annotations
import dataclasses, msgspec

@dataclasses.dataclass(slots=True)
class A:
    value: int

class B(msgspec.Struct):
    a: A

FOUND = msgspec.convert({"a": {"value": 1}}, B)
"""
    assert load(write(text)).FOUND.a.value == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Complaint, match=r"website\.py does not exist: give a Python file"):
        load(tmp_path / "website.py")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(Complaint, match="is a directory"):
        load(tmp_path)


def test_a_file_that_is_no_python_is_named(write: Write) -> None:
    with pytest.raises(Complaint, match=r"its name must end in \.py"):
        load(write("{}", "website.yaml"))


@pytest.mark.parametrize(
    ("text", "sentence", "shown"),
    [
        (
            "import nothing_of_this_name",
            "ModuleNotFoundError: No module named 'nothing_of_this_name'",
            "line 1",
        ),
        ("def f():\n    1 / 0\n\nf()", "ZeroDivisionError: division by zero", "line 2, in f"),
        ("def f(:", "SyntaxError: invalid syntax", "def f(:"),
        ("raise SystemExit('not today')", "SystemExit: not today", "line 1"),
    ],
)
def test_a_file_that_fails_to_import_shows_its_own_traceback_and_no_other(
    write: Write, text: str, sentence: str, shown: str
) -> None:
    file = write(text)
    with pytest.raises(Complaint) as raised:
        load(file)
    assert str(raised.value) == f"{file} failed to import: {sentence}"
    assert shown in raised.value.details
    assert "importlib" not in raised.value.details
    assert "_loading.py" not in raised.value.details


def test_the_one_manager_is_chosen_over_controllers(write: Write) -> None:
    (found,) = choose(
        write(HEAD + "c = Controller('c', reconcile).watches(PODS)\nm = Manager(c)\nsame = m\n")
    )
    assert isinstance(found, Manager)


def test_without_a_manager_all_controllers_are_chosen_in_order_and_once(write: Write) -> None:
    found = choose(
        write(HEAD + "b = Controller('b', reconcile)\na = Controller('a', reconcile)\nagain = b\n")
    )
    assert [controller.name for controller in found if isinstance(controller, Controller)] == ["b", "a"]


def test_a_name_chooses(write: Write) -> None:
    file = write(HEAD + "a = Controller('a', reconcile)\nb = Controller('b', reconcile)\n")
    (found,) = choose(file, "b")
    assert isinstance(found, Controller)
    assert found.name == "b"


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        ("x = 1", "", "has neither a Controller nor a Manager at its top level"),
        ("x = 1", "y", "has no 'y'; it has nothing that could be run"),
        ("x = Controller('x', reconcile)", "y", "has no 'y'; it has x"),
        ("x = 1", "x", "'x' in .* is of type int, neither a Controller nor a Manager"),
        (
            "c = Controller('c', reconcile).watches(PODS)\nm = Manager(c)\nn = Manager(c)",
            "",
            r"has several Managers \(m, n\): choose one, as in .*website.py:m",
        ),
    ],
)
def test_a_file_that_leaves_nothing_or_too_much_to_choose_is_named(
    write: Write, text: str, name: str, complaint: str
) -> None:
    file = write(HEAD + text)
    with pytest.raises(Complaint, match=complaint):
        choose(file, name)
