"""What the tests of the storage share."""

from kinformer.apiserver.storage import WatchResponse, WatchStream


def told(response: WatchResponse) -> list[tuple[int, str]]:
    """The events of a response, in short."""
    return [(event.revision, event.key) for event in response.events]


async def until_created(stream: WatchStream) -> WatchResponse:
    """Read the answer to the one request that was made."""
    response = await anext(stream)
    assert response.created
    return response
