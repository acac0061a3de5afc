import pytest

from kinformer.client import Call, Client
from kinformer.meta import Resource
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Log:
    """A witness that writes down what it hears, and objects where a test says."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.answers: list[bytes] = []
        self.objects = False

    def sending(self, call: Call, /) -> None:
        self.sent.append(str(call))
        if self.objects:
            raise PermissionError("not any more")

    async def answered(self, call: Call, answer: bytes, /) -> None:
        assert str(call) == self.sent[-1]
        self.answers.append(answer)


async def test_a_witness_hears_of_each_write_and_of_no_read() -> None:
    log = Log()
    async with Cluster(config_map("a")) as cluster:
        maps = cluster.client.witnessed(log).resource(CONFIG_MAPS)
        await maps.get("default/a")
        await maps.list(namespace="default")
        assert log.sent == []
        await maps.create(config_map("b"))
        await maps.without_retries().where(namespace="default").patch("b", {"data": {"x": "y"}})
        await maps.delete("default/b")
    assert log.sent == [
        "POST /api/v1/namespaces/default/configmaps",
        "PATCH /api/v1/namespaces/default/configmaps/b",
        "DELETE /api/v1/namespaces/default/configmaps/b",
    ]
    assert b'"b"' in log.answers[0]


async def test_what_a_witness_raises_comes_instead_of_the_write() -> None:
    log = Log()
    log.objects = True
    async with Cluster() as cluster:
        with pytest.raises(PermissionError, match="not any more"):
            await cluster.client.witnessed(log).resource(CONFIG_MAPS).create(config_map("b"))
        assert (await cluster.client.resource(CONFIG_MAPS).list(namespace="default")).items == ()


async def test_the_client_itself_has_no_witness() -> None:
    log = Log()
    async with Cluster() as cluster:
        other = cluster.client.witnessed(log)
        await cluster.client.resource(CONFIG_MAPS).create(config_map("b"))
        assert log.sent == []
        assert other.mapper is cluster.client.mapper
        assert other.config is cluster.client.config


def test_a_client_is_entered_first() -> None:
    with pytest.raises(RuntimeError, match="enter this client before it gets a witness"):
        Client("http://cluster.invalid").witnessed(Log())
