"""The website controller of the examples as the command line installs it, for those who apply what it prints."""

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from kinformer.cli import main
from kinformer.cli._loading import load
from kinformer.client import Client
from kinformer.controller import Controller

EXAMPLES = Path(__file__).parents[2] / "examples"
FILE = EXAMPLES / "03_website_controller.py"


def controller() -> Controller:
    """The one of the example."""
    found = load(FILE).controller
    assert isinstance(found, Controller)
    return found


def printed(*options: str) -> str:
    """What ``kinformer manifests`` prints of it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["manifests", str(FILE), *options]) == 0
    return out.getvalue()


def objects(text: str) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(text)


def definition() -> dict[str, Any]:
    return dict(yaml.safe_load((EXAMPLES / "website" / "crd.yaml").read_text()))


def sample() -> dict[str, Any]:
    return dict(yaml.safe_load((EXAMPLES / "website" / "sample.yaml").read_text()))


async def apply(client: Client, obj: Mapping[str, Any]) -> None:
    """As ``kubectl apply --server-side`` does."""
    resource = await client.mapper.find_kind(obj["apiVersion"], obj["kind"])
    await client.resource(resource).apply(obj, field_manager="test", force=True)
