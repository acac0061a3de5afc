"""The application, through HTTP: verbs, forms, discovery."""

import msgspec
import yaml

from tests.unit.apiserver.http.stage import (
    CONFIG_MAPS,
    CRD,
    DEFINITIONS,
    METADATA,
    METADATA_LIST,
    SITE,
    SITES,
    TABLE,
    config_map,
    server_client,
)


async def test_an_object_is_created_read_changed_and_deleted() -> None:
    async with server_client() as client:
        created = await client.post(CONFIG_MAPS, json=config_map("a"))
        assert created.status_code == 201
        assert created.headers["content-type"] == "application/json"
        assert created.headers["cache-control"] == "no-cache, private"
        assert created.content.endswith(b"\n")
        assert (created.json()["kind"], created.json()["apiVersion"]) == ("ConfigMap", "v1")
        read = await client.get(f"{CONFIG_MAPS}/a")
        assert read.json() == created.json()
        changed = await client.put(f"{CONFIG_MAPS}/a", json={**read.json(), "data": {"x": "z"}})
        assert changed.json()["data"] == {"x": "z"}
        patched = await client.patch(
            f"{CONFIG_MAPS}/a",
            content=b'{"data":{"n":"1"}}',
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert patched.json()["data"] == {"x": "z", "n": "1"}
        deleted = await client.delete(f"{CONFIG_MAPS}/a")
        assert deleted.json()["status"] == "Success"
        gone = await client.get(f"{CONFIG_MAPS}/a")
        assert gone.status_code == 404
        assert gone.json()["details"] == {"name": "a", "kind": "configmaps"}


async def test_items_of_built_in_lists_lack_kind_and_version_those_of_custom_ones_have_them_h_17() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        listed = (await client.get(CONFIG_MAPS)).json()
        assert list(listed) == ["kind", "apiVersion", "metadata", "items"]
        assert (listed["kind"], listed["metadata"]["resourceVersion"].isdigit()) == ("ConfigMapList", True)
        assert "kind" not in listed["items"][0]
        await client.post(DEFINITIONS, json=CRD)
        await client.post(SITES, json=SITE)
        listed = (await client.get(SITES)).json()
        assert listed["kind"] == "SiteList"
        assert listed["items"][0]["kind"] == "Site"


async def test_an_empty_list_has_items_and_a_version_s_2() -> None:
    async with server_client() as client:
        listed = (await client.get("/api/v1/namespaces/nowhere/pods")).json()
        assert listed["items"] == []
        assert listed["metadata"]["resourceVersion"] != "0"


async def test_lists_are_paged() -> None:
    async with server_client() as client:
        for name in "abc":
            await client.post(CONFIG_MAPS, json=config_map(name))
        first = (await client.get(CONFIG_MAPS, params={"limit": 2})).json()
        assert first["metadata"]["remainingItemCount"] == 1
        rest = (
            await client.get(CONFIG_MAPS, params={"limit": 2, "continue": first["metadata"]["continue"]})
        ).json()
        assert [item["metadata"]["name"] for item in [*first["items"], *rest["items"]]] == ["a", "b", "c"]
        assert "continue" not in rest["metadata"]


async def test_selectors_select() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a", labels={"app": "x"}))
        await client.post(CONFIG_MAPS, json=config_map("b"))
        by_label = (await client.get(CONFIG_MAPS, params={"labelSelector": "app in (x,y)"})).json()
        by_name = (await client.get(CONFIG_MAPS, params={"fieldSelector": "metadata.name=b"})).json()
        assert [item["metadata"]["name"] for item in [*by_label["items"], *by_name["items"]]] == ["a", "b"]


async def test_a_collection_is_deleted_and_tells_what_matched_w_24() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a", labels={"app": "x"}))
        await client.post(CONFIG_MAPS, json=config_map("b"))
        deleted = (await client.delete(CONFIG_MAPS, params={"labelSelector": "app=x"})).json()
        assert deleted["kind"] == "ConfigMapList"
        assert [item["metadata"]["name"] for item in (await client.get(CONFIG_MAPS)).json()["items"]] == ["b"]


async def test_an_apply_creates_with_201_and_then_changes_with_200() -> None:
    async with server_client() as client:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {since: 2026-01-01}\n"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        for status in (201, 200):
            reply = await client.patch(f"{CONFIG_MAPS}/a?fieldManager=me", content=body, headers=headers)
            assert reply.status_code == status
            assert reply.json()["data"]["since"] == "2026-01-01"


async def test_an_update_that_creates_answers_201_w_10() -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    async with server_client() as client:
        created = await client.put(f"{leases}/a", json={"metadata": {"name": "a"}})
        assert created.status_code == 201
        changed = await client.put(f"{leases}/a", json={**created.json(), "spec": {"holderIdentity": "x"}})
        assert changed.status_code == 200


async def test_a_table_has_rows_and_the_lists_version_t_1() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        for url in (CONFIG_MAPS, f"{CONFIG_MAPS}/a"):
            reply = await client.get(url, headers={"Accept": TABLE})
            assert reply.headers["content-type"] == "application/json"
            shown = reply.json()
            assert (shown["kind"], shown["apiVersion"]) == ("Table", "meta.k8s.io/v1")
            assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Data", "Age"]
            assert shown["rows"][0]["cells"] == ["a", 1, "0s"]
            assert shown["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
            assert shown["metadata"]["resourceVersion"].isdigit()


async def test_a_table_of_a_custom_resource_has_its_columns_c_14() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        await client.post(SITES, json=SITE)
        shown = (await client.get(SITES, headers={"Accept": TABLE})).json()
        assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "URL"]
        assert shown["rows"][0]["cells"] == ["a", "u"]


async def test_rows_hold_whole_objects_where_asked_and_an_unknown_word_is_a_400_t_2() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        headers = {"Accept": TABLE}
        shown = (await client.get(f"{CONFIG_MAPS}?includeObject=Object", headers=headers)).json()
        assert shown["rows"][0]["object"]["data"] == {"x": "y"}
        refused = await client.get(f"{CONFIG_MAPS}?includeObject=Everything", headers=headers)
        assert refused.status_code == 400
        assert "Everything" in refused.json()["message"]


async def test_metadata_only_forms_fit_objects_or_lists_t_6() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        one = (await client.get(f"{CONFIG_MAPS}/a", headers={"Accept": METADATA})).json()
        assert (one["kind"], "data" in one) == ("PartialObjectMetadata", False)
        many = (await client.get(CONFIG_MAPS, headers={"Accept": METADATA_LIST})).json()
        assert (many["kind"], len(many["items"])) == ("PartialObjectMetadataList", 1)
        assert (await client.get(CONFIG_MAPS, headers={"Accept": METADATA})).status_code == 406
        assert (await client.get(f"{CONFIG_MAPS}/a", headers={"Accept": METADATA_LIST})).status_code == 406


async def test_yaml_comes_and_goes() -> None:
    async with server_client() as client:
        reply = await client.post(
            CONFIG_MAPS,
            content=b"metadata:\n  name: a\ndata:\n  x: y\n",
            headers={"Content-Type": "application/yaml", "Accept": "application/yaml"},
        )
        assert reply.status_code == 201
        assert reply.headers["content-type"] == "application/yaml"
        assert yaml.safe_load(reply.text)["data"] == {"x": "y"}


async def test_people_get_it_pretty_h_12() -> None:
    async with server_client() as client:
        plain = await client.get("/api/v1/namespaces/default")
        assert plain.text.count("\n") == 1
        for reply in (
            await client.get("/api/v1/namespaces/default?pretty=true"),
            await client.get("/api/v1/namespaces/default", headers={"User-Agent": "curl/8"}),
        ):
            assert reply.text.startswith('{\n  "kind"')


async def test_head_is_get_without_a_body_h_3() -> None:
    async with server_client() as client:
        for path in (CONFIG_MAPS, "/version", f"{CONFIG_MAPS}?watch=true"):
            reply = await client.head(path)
            assert (reply.status_code, reply.content) == (200, b"")


async def test_warnings_reach_the_client_w_8() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        reply = await client.post(SITES, json={**SITE, "spec": {"url": "u", "colour": "red"}})
        assert reply.headers["warning"] == '299 - "unknown field \\"spec.colour\\""'


async def test_discovery_is_plain_or_aggregated_and_changes_with_definitions_d_4_d_6() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    async with server_client() as client:
        plain = (await client.get("/apis")).json()
        assert plain["kind"] == "APIGroupList"
        first = await client.get("/apis", headers={"Accept": accept})
        assert first.headers["content-type"] == (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        )
        assert (first.headers["vary"], first.headers["cache-control"]) == ("Accept", "public")
        headers = {"Accept": accept, "If-None-Match": first.headers["etag"]}
        same = await client.get("/apis", headers=headers)
        assert (same.status_code, same.content) == (304, b"")
        await client.post(DEFINITIONS, json=CRD)
        changed = await client.get("/apis", headers=headers)
        assert changed.status_code == 200
        assert "example.dev" in {item["metadata"]["name"] for item in changed.json()["items"]}


async def test_a_list_is_what_msgspec_and_everybody_else_can_read() -> None:
    async with server_client() as client:
        for name in ("a", "b"):
            await client.post(CONFIG_MAPS, json=config_map(name))
        assert len(msgspec.json.decode((await client.get(CONFIG_MAPS)).content)["items"]) == 2
