from typing import Any

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request
from kinformer.controller._consistency import Consistency, Place, place_of
from kinformer.errors import NotFoundError
from kinformer.hooks import NoHooks, WriteUnseen
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
DEPLOYMENTS = Resource.builtin("Deployment")
PODS = Resource.builtin("Pod")
SECRETS = Resource.builtin("Secret")
MODES: list[Consistency] = ["overlay", "barrier"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/api/v1/namespaces/ns/pods/web", Place("", "v1", "pods", ObjectKey("ns", "web"), "")),
        (
            "/apis/apps/v1/namespaces/ns/deployments/web/scale",
            Place("apps", "v1", "deployments", ObjectKey("ns", "web"), "scale"),
        ),
        ("/api/v1/namespaces/ns/pods", Place("", "v1", "pods", ObjectKey("ns", ""), "")),
        ("/api/v1/nodes/n1/status", Place("", "v1", "nodes", ObjectKey("", "n1"), "status")),
        ("/api/v1/namespaces/ns", Place("", "v1", "namespaces", ObjectKey("", "ns"), "")),
        ("/api/v1/namespaces/ns/finalize", Place("", "v1", "namespaces", ObjectKey("", "ns"), "finalize")),
        ("/version", None),
        ("/api/v1", None),
        ("/", None),
    ],
)
def test_a_path_says_what_it_is_about(path: str, place: Place | None) -> None:
    assert place_of(path) == place


class Scene(NoHooks):
    """A controller of one Secret that reads config maps, deployments and pods, and does what a test says, once."""

    def __init__(self, mode: Consistency, **scope: Any) -> None:
        self.mode = mode
        self.scope = scope
        self.unseen: list[WriteUnseen] = []
        self.error: BaseException | None = None
        self.is_done = False

    def write_unseen(self, event: WriteUnseen, /) -> None:
        self.unseen.append(event)

    async def play(self, act: Any, *objects: Any) -> None:
        async def reconcile(request: Request) -> None:
            if not self.is_done:
                try:
                    await act(request)
                except BaseException as error:
                    self.error = error
                    raise
                finally:
                    self.is_done = True

        controller = Controller("maps", reconcile, consistency=self.mode).watches(SECRETS)
        controller.reads(CONFIG_MAPS, **self.scope).reads(DEPLOYMENTS).reads(PODS)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        async with Cluster(secret, *objects) as cluster:
            manager = Manager(controller, clients=cluster.client, clock=cluster.clock, hooks=self)
            async with anyio.create_task_group() as tasks:
                await tasks.start(manager.run)
                await cluster.until(lambda: self.is_done, timeout=100)
                await settle()
                manager.stop()
        if self.error is not None:
            raise self.error


def names(request: Request) -> list[str]:
    return sorted(obj.metadata.name for obj in request.lister(CONFIG_MAPS).list(namespace="default"))


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_written_is_read_in_every_way(mode: Consistency) -> None:
    async def act(request: Request) -> None:
        maps, lister = request.client.resource(CONFIG_MAPS), request.lister(CONFIG_MAPS)
        made = await maps.create(config_map("new", data={"a": "1"}))
        assert lister.get("default/new") is not None
        assert names(request) == ["new", "old"]
        await maps.patch("default/new", {"data": {"a": "2"}})
        assert read(lister.get("default/new")) == "2"
        assert "managedFields" not in lister.get("default/new").thaw()["metadata"]  # type: ignore[union-attr]
        await maps.apply(config_map("new", data={"a": "3"}), field_manager="me", force=True)
        assert read(lister.get("default/new")) == "3"
        await maps.replace(config_map("new", data={"a": "4"}))
        assert read(lister.get("default/new")) == "4"
        await maps.delete("default/new", uid=made.metadata.uid)
        assert lister.get("default/new") is None
        await maps.create(config_map("new", data={"a": "5"}))
        assert read(lister.get("default/new")) == "5"
        await maps.delete("default/old")
        assert names(request) == ["new"]

    await Scene(mode).play(act, config_map("old"))


def read(found: Object | None) -> str:
    assert found is not None
    return str(found["data"]["a"])


@pytest.mark.parametrize("mode", MODES)
async def test_an_object_with_finalizers_lives_on_when_it_is_deleted(mode: Consistency) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.dev/hold"]

    async def act(request: Request) -> None:
        await request.client.resource(CONFIG_MAPS).delete("default/held")
        found = request.lister(CONFIG_MAPS).get("default/held")
        assert found is not None
        assert found.metadata.deletion_timestamp is not None

    await Scene(mode).play(act, held)


@pytest.mark.parametrize("mode", MODES)
async def test_what_leaves_the_scope_of_the_cache_is_not_in_it(mode: Consistency) -> None:
    async def act(request: Request) -> None:
        maps = request.client.resource(CONFIG_MAPS)
        await maps.create(config_map("other"))
        assert names(request) == ["old"]
        await maps.patch("default/old", {"metadata": {"labels": {"app": "mail"}}})
        assert names(request) == []
        await maps.patch("default/other", {"metadata": {"labels": {"app": "web"}}})
        assert names(request) == ["other"]

    old = config_map("old")
    old["metadata"]["labels"] = {"app": "web"}
    await Scene(mode, labels="app=web").play(act, old)


@pytest.mark.parametrize("mode", MODES)
async def test_subresources_and_what_is_tried_only_are_told_apart(mode: Consistency) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }

    async def act(request: Request) -> None:
        deployments, lister = request.client.resource(DEPLOYMENTS), request.lister(DEPLOYMENTS)
        await deployments.patch("default/web", {"spec": {"replicas": 9}}, dry_run=True)
        assert lister.get("default/web")["spec"]["replicas"] == 1  # type: ignore[index]
        await deployments.status.patch("default/web", {"status": {"readyReplicas": 1}})
        assert lister.get("default/web").at("status", "readyReplicas") == 1  # type: ignore[union-attr]
        await deployments.scale.patch("default/web", {"spec": {"replicas": 5}})
        assert lister.get("default/web")["spec"]["replicas"] == 5  # type: ignore[index]
        await deployments.delete("default/web", dry_run=True)
        assert lister.get("default/web") is not None

    await Scene(mode).play(act, deployment)


@pytest.mark.parametrize("mode", MODES)
async def test_a_refused_write_changes_nothing(mode: Consistency) -> None:
    async def act(request: Request) -> None:
        with pytest.raises(NotFoundError):
            await request.client.resource(CONFIG_MAPS).delete("default/nobody")
        assert names(request) == ["old"]

    await Scene(mode).play(act, config_map("old"))


async def test_without_consistency_a_write_is_not_there_at_once() -> None:
    async def act(request: Request) -> None:
        await request.client.resource(CONFIG_MAPS).create(config_map("new"))
        assert names(request) == []

    await Scene("none").play(act)


def test_there_are_three_modes() -> None:
    with pytest.raises(ValueError, match="consistency='strong' must be one of overlay, barrier, none"):
        Controller("maps", consistency="strong")  # type: ignore[arg-type]
