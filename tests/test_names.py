"""Whatever the tables of names say is ours, is."""

import importlib
import re
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

import pytest

import kinformer
from kinformer import Client, Controller, Lister, Object, Request, SharedInformer, WorkQueue
from kinformer.store import DeltaFIFO, Store
from kinformer.testing import Cluster

ROOT = Path(__file__).parents[1]
TABLES = [ROOT / "docs" / name for name in ("reference/names.md", "howto/from-kopf.md")]
ROOMS = (
    *("client", "reflector", "store", "workqueue", "informer", "controller", "testing", "observe"),
    *("meta", "hooks", "clock", "errors"),
)
MODULES = {room: importlib.import_module(f"kinformer.{room}") for room in ROOMS}
PUBLIC: dict[str, Any] = {
    name: value
    for module in (kinformer, *MODULES.values())
    for name, value in vars(module).items()
    if name[0] != "_"
}
INSTANCES: dict[str, tuple[type, ...]] = {
    "client": (Client,),
    "cluster": (Cluster,),
    "controller": (Controller,),
    "informer": (SharedInformer,),
    "lister": (Lister,),
    "obj": (Object,),
    "queue": (WorkQueue, DeltaFIFO),
    "request": (Request,),
    "store": (Store,),
}
"""What a word in lower case stands for, beside the room of that name."""


def ours(page: Path) -> Iterator[str]:
    """The dotted names in the last column of each table, without arguments."""
    for line in page.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            for code in re.findall(r"`([^`]+)`", line.rsplit(" | ", 1)[1]):
                if found := re.match(r"(?:await |except |raise |return )?([A-Za-z_][\w.]*)", code):
                    yield found[1]


def candidates(first: str) -> list[Any]:
    """What the first word of a name may stand for."""
    found = [PUBLIC[first]] if first in PUBLIC else []
    found += [MODULES[first]] if first in MODULES else []
    return [*found, *INSTANCES.get(first, ())]


@pytest.mark.parametrize("page", TABLES, ids=lambda page: page.name)
def test_each_name_in_a_table_exists(page: Path) -> None:
    names = set(ours(page))
    checked = {name for name in names if _is_a_class(name) or name.split(".")[0] in {*MODULES, *INSTANCES}}
    assert len(checked) > 10
    missing = []
    for name in sorted(checked):
        first, _, rest = name.removeprefix("kinformer.").partition(".")
        found = candidates(first)
        if not found or (rest and not any(hasattr(each, rest.split(".")[0]) for each in found)):
            missing.append(name)
    assert missing == []


def _is_a_class(name: str) -> bool:
    return name[0].isupper() and not name.isupper() and not iskeyword(name)
