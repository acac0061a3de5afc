"""What ``kinformer run`` finds wrong before it talks to anybody; the rest is in tests/wire/test_cli.py."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinformer.cli._arguments import RunCommand
from kinformer.cli._complaint import Complaint
from kinformer.cli._run import run

HEAD = """
from kinformer.client import Client
from kinformer.controller import Controller, Manager
from kinformer.meta import Resource

PODS = Resource.builtin("Pod")

async def reconcile(request): ...

"""


@pytest.fixture(autouse=True)
def path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def test_an_address_is_for_controllers_without_a_manager(tmp_path: Path) -> None:
    file = tmp_path / "website.py"
    file.write_text(HEAD + "m = Manager(Controller('c', reconcile).watches(PODS))")
    with pytest.raises(Complaint, match="has a Manager of its own: give it address=':1'"):
        run(RunCommand(file, address=":1"))


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("c = Controller('c', reconcile)", {}, "controller c does not say what it reconciles"),
        (
            "a = Controller('c', reconcile).watches(PODS)\nb = Controller('c', reconcile).watches(PODS)",
            {},
            "controller names must differ",
        ),
        (
            "c = Controller('c', reconcile).watches(PODS, namespaces=['shop'])",
            {"namespace": "web"},
            "controller c itself watches pods in shop: --namespace web cannot be heeded",
        ),
        (
            "m = Manager(Controller('c', reconcile).watches(PODS), clients=Client('http://localhost'))",
            {"context": "x", "namespace": "web", "preflight": "yes"},
            "has clients of its own, so --context, --namespace, --preflight cannot be heeded",
        ),
    ],
)
def test_what_cannot_be_run_as_asked_is_a_complaint(
    tmp_path: Path, text: str, options: dict[str, str], complaint: str
) -> None:
    file = tmp_path / "website.py"
    file.write_text(HEAD + text)
    with pytest.raises(Complaint) as raised:
        run(
            RunCommand(
                file,
                context=options.get("context", ""),
                namespace=options.get("namespace", ""),
                preflight="preflight" in options,
            )
        )
    assert complaint in str(raised.value)


def test_an_address_in_use_is_a_complaint(tmp_path: Path) -> None:
    file = tmp_path / "website.py"
    file.write_text(HEAD + "c = Controller('c', reconcile).watches(PODS)")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(
            Complaint, match=f"cannot listen on address='{address}': .* in use; choose another"
        ):
            run(RunCommand(file, embedded=True, address=address))
