"""What the tests of the storage share."""

import pytest

from kinformer.apiserver.storage import KV, WatchResponse, WatchStream


def told(response: WatchResponse) -> list[tuple[int, str]]:
    """The events of a response, in short."""
    return [(event.revision, event.key) for event in response.events]


async def until_created(stream: WatchStream) -> WatchResponse:
    """Read the answer to the one request that was made."""
    response = await anext(stream)
    assert response.created
    return response


async def needs(kv: KV, **lines: int) -> None:
    """Skip where the storage is an etcd without a correction, which came with a patch of some lines: ``v3_4=31``.

    Etcds of lines that are not named have it from 3.6 on.
    """
    version = getattr(kv, "version", None)
    if version is None:
        return
    text = await version()
    major, minor, patch = (int(part) for part in text.partition("-")[0].split("."))
    first = lines.get(f"v{major}_{minor}")
    if patch < first if first is not None else (major, minor) < (3, 6):
        pytest.skip(f"etcd {text} does it otherwise: {lines}")
