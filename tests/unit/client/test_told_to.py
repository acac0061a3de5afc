import pytest

from kinformer.client import Client
from kinformer.hooks import NoHooks, RequestFinished, WarningReceived
from kinformer.meta import Resource
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Ear(NoHooks):
    def __init__(self) -> None:
        self.heard: list[tuple[str, str, bool]] = []

    def request_finished(self, event: RequestFinished, /) -> None:
        self.heard.append((event.method, event.host, event.is_stream))

    def warning_received(self, event: WarningReceived, /) -> None:
        self.heard.append(("warning", event.text, False))


async def test_hooks_beside_the_clients_own_hear_of_its_requests_and_of_no_others() -> None:
    own, other = Ear(), Ear()
    async with Cluster(config_map("a"), hooks=own) as cluster:
        own.heard.clear()
        told = cluster.client.told_to(other)
        await told.resource(CONFIG_MAPS).get("default/a")
        async with told.resource(CONFIG_MAPS).watch(initial_events=True) as batches:
            await anext(batches)
        assert (
            own.heard == other.heard == [("GET", "cluster.invalid", False), ("GET", "cluster.invalid", True)]
        )
        await cluster.client.resource(CONFIG_MAPS).get("default/a")
        assert (len(own.heard), len(other.heard)) == (3, 2)


async def test_a_client_that_has_a_witness_keeps_it() -> None:
    class Witness:
        def __init__(self) -> None:
            self.sent: list[str] = []

        def sending(self, call: object, /) -> None:
            self.sent.append(str(call))

        async def answered(self, call: object, answer: bytes, /) -> None:
            """Nothing to do."""

    witness, ear = Witness(), Ear()
    async with Cluster() as cluster:
        await cluster.client.witnessed(witness).told_to(ear).resource(CONFIG_MAPS).create(config_map("b"))
    assert witness.sent == ["POST /api/v1/namespaces/default/configmaps"]
    assert ear.heard == [("POST", "cluster.invalid", False)]


def test_a_client_is_entered_first() -> None:
    with pytest.raises(RuntimeError, match="enter this client before it tells others"):
        Client("http://cluster.invalid").told_to(Ear())
