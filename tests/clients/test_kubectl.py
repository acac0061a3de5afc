"""Real kubectl against the embedded apiserver."""

from pathlib import Path

import anyio
import msgspec
import pytest
import yaml

from tests.clients.kubectl import WEBSITE, cluster, needs, until, with_websites

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]


async def test_it_knows_the_server(kubectl: str, tmp_path: Path) -> None:
    async with cluster(kubectl, tmp_path) as run:
        assert "kinformer" in await run("version")
        assert "deployments" in await run("api-resources")
        assert "default" in await run("get", "namespaces")


async def test_a_custom_resource_is_applied_and_shown_in_its_columns(kubectl: str, tmp_path: Path) -> None:
    async with with_websites(kubectl, tmp_path) as run:
        assert "unchanged" in await run("apply", "-f", str(WEBSITE / "sample.yaml"))
        head, row = (await run("get", "websites")).splitlines()
        assert head.split() == ["NAME", "URL", "READY", "AGE"]
        assert row.split()[0] == "hello"
        shown = yaml.safe_load(await run("get", "site", "hello", "-o", "yaml"))
        assert shown["spec"]["replicas"] == 1
        assert "hello" in await run("get", "websites", "-A", "--show-labels")


async def test_a_status_shows_in_the_columns(kubectl: str, tmp_path: Path) -> None:
    needs(kubectl, 24, "--subresource")
    async with with_websites(kubectl, tmp_path) as run:
        status = '{"status":{"url":"http://x","conditions":[{"type":"Ready","status":"True"}]}}'
        await run("patch", "website", "hello", "--subresource=status", "--type=merge", "-p", status)
        row = (await run("get", "websites", "--no-headers")).split()
        assert row[:3] == ["hello", "http://x", "True"]


async def test_what_breaks_the_schema_is_refused_with_the_field(kubectl: str, tmp_path: Path) -> None:
    needs(kubectl, 25, "field validation by the server")
    async with with_websites(kubectl, tmp_path) as run:
        result = await run.run("patch", "website", "hello", "--type=merge", "-p", '{"spec":{"replicas":-1}}')
        assert result.code == 1
        assert "spec.replicas" in result.err
        body = (WEBSITE / "sample.yaml").read_text().replace("  title:", "  colour: red\n  title:")
        strict = await run.run("apply", "-f", "-", stdin=body)
        assert strict.code == 1
        assert 'unknown field "spec.colour"' in strict.err


async def test_patches_of_all_kinds_and_edits_arrive(kubectl: str, tmp_path: Path) -> None:
    async with with_websites(kubectl, tmp_path) as run:
        await run("patch", "website", "hello", "--type=merge", "-p", '{"spec":{"title":"merged"}}')
        assert await run("get", "website", "hello", "-o", "jsonpath={.spec.title}") == "merged"
        operation = '[{"op":"replace","path":"/spec/title","value":"replaced"}]'
        await run("patch", "website", "hello", "--type=json", "-p", operation)
        assert await run("get", "website", "hello", "-o", "jsonpath={.spec.title}") == "replaced"
        await run("label", "website", "hello", "tier=web")
        assert "hello" in await run("get", "websites", "-l", "tier=web")
        assert "edited" in await run("edit", "website", "hello")
        assert await run("get", "website", "hello", "-o", "jsonpath={.spec.title}") == "rewritten"
        body = (WEBSITE / "sample.yaml").read_text().replace("title: Hello", "title: Changed")
        assert "configured" in await run("apply", "-f", "-", stdin=body)
        assert await run("get", "website", "hello", "-o", "jsonpath={.spec.title}") == "Changed"


async def test_server_side_apply_creates_changes_and_tells_conflicts(kubectl: str, tmp_path: Path) -> None:
    async with cluster(kubectl, tmp_path) as run:
        await run("apply", "-f", str(WEBSITE / "crd.yaml"))
        body = (WEBSITE / "sample.yaml").read_text()
        assert "serverside-applied" in await run("apply", "--server-side", "-f", "-", stdin=body)
        other = body.replace("title: Hello", "title: Other")
        conflict = await run.run("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other)
        assert conflict.code == 1
        assert ".spec.title" in conflict.err
        forced = ("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
        await run(*forced, stdin=other)
        assert await run("get", "website", "hello", "-o", "jsonpath={.spec.title}") == "Other"


async def test_a_watch_shows_each_change_in_its_columns(kubectl: str, tmp_path: Path) -> None:
    needs(kubectl, 24, "--subresource")
    async with with_websites(kubectl, tmp_path) as run, run.follow("get", "websites", "-w") as followed:
        assert (await followed.line()).split() == ["NAME", "URL", "READY", "AGE"]
        assert (await followed.line()).split()[0] == "hello"
        await run(
            "patch",
            "website",
            "hello",
            "--subresource=status",
            "--type=merge",
            "-p",
            '{"status":{"url":"http://y"}}',
        )
        assert (await followed.line()).split()[:2] == ["hello", "http://y"]


async def test_a_delete_returns_once_the_finalizer_is_gone(kubectl: str, tmp_path: Path) -> None:
    async with with_websites(kubectl, tmp_path) as run, anyio.create_task_group() as tasks:
        await run(
            "patch",
            "website",
            "hello",
            "--type=merge",
            "-p",
            '{"metadata":{"finalizers":["example.dev/mine"]}}',
        )
        ends: list[str] = []

        async def delete() -> None:
            ends.append(await run("delete", "website", "hello"))

        tasks.start_soon(delete)
        deleting = ""
        while not deleting:
            deleting = await run("get", "website", "hello", "-o", "jsonpath={.metadata.deletionTimestamp}")
        assert ends == []
        await run("patch", "website", "hello", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        await until(lambda: bool(ends))
        assert "deleted" in ends[0]
        assert (await run.run("get", "website", "hello")).code == 1


async def test_a_definition_takes_its_objects_with_it(kubectl: str, tmp_path: Path) -> None:
    async with with_websites(kubectl, tmp_path) as run:
        await run("delete", "crd", "websites.example.dev")
        gone = await run.run("get", "websites")
        assert gone.code == 1
        assert (
            "the server " in gone.err
        )  # could not find it, or has no such type: that depends on kubectl's cache


async def test_a_namespace_takes_its_objects_with_it(kubectl: str, tmp_path: Path) -> None:
    async with with_websites(kubectl, tmp_path) as run:
        await run(
            "apply", "-f", "-", stdin='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}'
        )
        body = (WEBSITE / "sample.yaml").read_text().replace("namespace: default", "namespace: other")
        await run("apply", "-f", "-", stdin=body)
        await run("delete", "namespace", "other")
        assert len((await run("get", "websites", "-A", "--no-headers")).splitlines()) == 1


async def test_built_in_kinds_are_applied_scaled_and_cascaded(kubectl: str, tmp_path: Path) -> None:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": pod},
    }
    async with cluster(kubectl, tmp_path) as run:
        await run("apply", "-f", "-", stdin=msgspec.json.encode(deployment).decode())
        assert "0/1" in await run("get", "deployments")
        await run("scale", "deployment", "web", "--replicas=3")
        assert "0/3" in await run("get", "deploy", "web")
        uid = await run("get", "deploy", "web", "-o", "jsonpath={.metadata.uid}")
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid}
        child = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web-1", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": pod},
        }
        await run("apply", "-f", "-", stdin=msgspec.json.encode(child).decode())
        assert "web-1" in await run("get", "all")
        await run("delete", "deployment", "web", "--cascade=foreground")
        assert await run("get", "rs", "-o", "name") == ""
