from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import pytest

from kinformer.client import Client
from kinformer.controller import Applier, Controller, Manager, Request
from kinformer.errors import ConflictError
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.meta import ObjectKey, Resource
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")
NODES = Resource.builtin("Node")
SECRETS = Resource.builtin("Secret")
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}


class Writes(NoHooks):
    def __init__(self) -> None:
        self.count = 0

    def request_finished(self, event: RequestFinished, /) -> None:
        self.count += event.method != "GET"


async def play(act: Callable[[Request, Writes], Awaitable[None]], *objects: Any) -> None:
    """Do something in a reconcile, whose writes are counted."""
    writes, errors, done = Writes(), list[BaseException](), list[bool]()

    async def reconcile(request: Request) -> None:
        writes.count = 0
        try:
            await act(request, writes)
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            done.append(True)

    controller = Controller("maps", reconcile).watches(SECRETS).reads(CONFIG_MAPS)
    async with Cluster(SECRET, *objects, hooks=writes) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: bool(done))
            manager.stop()
    if errors:
        raise errors[0]


def page(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "page", "namespace": "default"}, "data": data}


async def test_what_is_as_wanted_costs_no_request() -> None:
    applier = Applier("maps")

    async def act(request: Request, writes: Writes) -> None:
        results = [
            (await applier.create_or_apply(request, CONFIG_MAPS, wanted)).result
            for wanted in (page(a="1"), page(a="1"), page(a="2"), page(a="2"))
        ]
        assert results == ["created", "skipped", "changed", "skipped"]
        assert writes.count == 2

    await play(act)


async def test_what_is_not_wanted_any_more_is_taken_away() -> None:
    applier = Applier("maps")

    async def act(request: Request, writes: Writes) -> None:
        await applier.create_or_apply(request, CONFIG_MAPS, page(a="1", b="2"))
        applied = await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))
        assert applied.result == "changed"
        assert dict(applied.obj["data"]) == {"a": "1"}

    await play(act)


async def test_what_somebody_else_changes_is_put_right_and_what_he_adds_is_his() -> None:
    applier = Applier("maps")

    async def act(request: Request, writes: Writes) -> None:
        await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))
        maps = request.client.resource(CONFIG_MAPS)
        await maps.patch("default/page", {"data": {"b": "2"}}, field_manager="other")
        assert (await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))).result == "skipped"
        await maps.patch("default/page", {"data": {"a": "9"}}, field_manager="other")
        applied = await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))
        assert applied.result == "changed"
        assert dict(applied.obj["data"]) == {"a": "1", "b": "2"}

    await play(act)


async def test_an_object_that_was_made_anew_is_applied_again() -> None:
    applier = Applier("maps")

    async def act(request: Request, writes: Writes) -> None:
        await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))
        maps = request.client.resource(CONFIG_MAPS)
        await maps.delete("default/page")
        await maps.create(config_map("page", data={"a": "1"}))
        assert (await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))).result == "changed"
        assert (await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))).result == "skipped"

    await play(act)


async def test_after_a_start_the_server_is_asked_once() -> None:
    async def act(request: Request, writes: Writes) -> None:
        await Applier("maps").create_or_apply(request, CONFIG_MAPS, page(a="1"))
        applier = Applier("maps")
        assert (await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))).result == "unchanged"
        assert (await applier.create_or_apply(request, CONFIG_MAPS, page(a="1"))).result == "skipped"

    await play(act)


async def test_without_force_the_owner_of_a_field_is_respected() -> None:
    async def act(request: Request, writes: Writes) -> None:
        await Applier("first").create_or_apply(request, CONFIG_MAPS, page(a="1"))
        with pytest.raises(ConflictError):
            await Applier("second", force=False).create_or_apply(request, CONFIG_MAPS, page(a="2"))

    await play(act)


async def test_the_namespace_may_be_given_apart() -> None:
    async def act(request: Request, writes: Writes) -> None:
        applied = await Applier("maps").create_or_apply(
            request, CONFIG_MAPS, {"metadata": {"name": "page"}}, namespace="default"
        )
        assert str(applied.obj.key) == "default/page"

    await play(act)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"data": {}}, "the ConfigMap to apply needs metadata.name"),
        ({"metadata": {"generateName": "p-"}}, "needs metadata.name"),
        ({"metadata": {"name": "p"}}, "ConfigMap p needs metadata.namespace, or namespace="),
    ],
)
async def test_an_object_that_cannot_be_found_again_is_refused(wanted: Any, text: str) -> None:
    request = Request("", ObjectKey("default", "s"), cast("Client", None))
    with pytest.raises(ValueError, match=text):
        await Applier("maps").create_or_apply(request, CONFIG_MAPS, wanted)


async def test_a_resource_that_is_not_declared_is_told() -> None:
    request = Request("", ObjectKey("default", "s"), cast("Client", None))
    with pytest.raises(LookupError, match=r"there is no cache of nodes: declare it with \.reads\(resource\)"):
        await Applier("maps").create_or_apply(request, NODES, {"metadata": {"name": "n"}})


def test_an_applier_needs_a_name_and_some_room() -> None:
    with pytest.raises(ValueError, match="needs a field_manager"):
        Applier("")
    with pytest.raises(ValueError, match="capacity=0 must be at least 1"):
        Applier("maps", capacity=0)
