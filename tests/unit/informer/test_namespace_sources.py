"""What an informer of several namespaces demands of its sources."""

import anyio
import pytest

from kinformer.client import Client
from kinformer.informer import SharedInformer
from kinformer.meta import Resource
from kinformer.testing import (
    HOLD,
    FakeClock,
    ScriptedSource,
    added,
    deleted,
    modified,
    settle,
)
from tests.unit.informer.namespaces_stage import Bench, holding, of
from tests.unit.informer.stage import PODS, Quarantine, snapshot


def test_sources_by_namespace_must_make_sense() -> None:
    pods = ScriptedSource(PODS, clock=FakeClock())
    nodes = ScriptedSource(Resource.builtin("ConfigMap"), clock=FakeClock())
    for sources in ({}, {"": pods, "a": pods}):
        with pytest.raises(ValueError, match="at least one"):
            SharedInformer(sources)
    with pytest.raises(ValueError, match="of one resource, not of configmaps, pods"):
        SharedInformer({"a": pods, "b": nodes})
    nodes = ScriptedSource(Resource.builtin("Node"), clock=FakeClock())
    with pytest.raises(ValueError, match="nodes is cluster-scoped: give its source alone"):
        SharedInformer({"a": nodes, "b": nodes})


async def test_a_client_that_is_not_narrowed_down_to_its_namespace_is_refused() -> None:
    async with Client("http://127.0.0.1:1") as client:
        pods = client.resource(PODS)
        with pytest.raises(
            ValueError, match=r"of namespace 'a' reads all: give source.where\(namespace='a'\)"
        ):
            SharedInformer({"a": pods, "b": pods.where(namespace="b")})
        with pytest.raises(ValueError, match="of namespace 'b' reads 'a'"):
            SharedInformer({name: pods.where(namespace="a") for name in "ab"})
        SharedInformer({name: pods.where(namespace=name) for name in "ab"})


async def test_an_object_of_another_namespace_is_quarantined() -> None:
    hooks = Quarantine()
    strays = [added(of("b", "z", 11)), modified(of("b", "z", 12)), deleted(of("b", "z", 13))]
    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1), of("b", "y", 2)), strays, HOLD]],
        b=[holding(9, of("b", "y", 2))],
        hooks=hooks,
    )
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        assert bench.content == {"a/x(1)", "b/y(2)"}
        assert sorted(bench.log.take()) == ["add x(1) initially", "add y(2) initially"]
        bench.informer.close()
    assert sorted(hooks.keys) == ["b/y", "b/z", "b/z", "b/z"]


async def test_one_namespace_by_name_is_as_good_as_none() -> None:
    clock = FakeClock()
    source = ScriptedSource(PODS, watches=[holding(5, of("a", "x", 1))], clock=clock)
    informer = SharedInformer({"a": source}, clock=clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(informer.run)
        await informer.wait_for("5", namespace="a")
        assert set(informer.namespace_conditions) == {"a"}
        assert informer.conditions["Synced"].status
        informer.close()
