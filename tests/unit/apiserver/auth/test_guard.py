"""Who is let in, over HTTP: tokens, roles, and what changes them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer, Rbac, User
from kinformer.apiserver.auth import RBAC
from kinformer.apiserver.storage import KeyRange, MemoryKV
from kinformer.testing import AppTransport, FakeClock, settle

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROLES = f"/apis/{RBAC}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{RBAC}/v1/namespaces/default/rolebindings"
ROLE = {
    "metadata": {"name": "reader"},
    "rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}],
}
BINDING = {
    "metadata": {"name": "reader"},
    "roleRef": {"kind": "Role", "name": "reader", "apiGroup": RBAC},
    "subjects": [
        {"kind": "User", "name": "jane", "apiGroup": RBAC},
        {"kind": "ServiceAccount", "name": "cart"},
    ],
}
RULES = Rbac(admin_token="admin", tokens={"jane": User("jane")})


@asynccontextmanager
async def serving(
    auth: Rbac | None = RULES, *, clock: FakeClock | None = None, storage: MemoryKV | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    clock = clock or FakeClock()
    async with (
        ApiServer(auth=auth, clock=clock, random=Random(1), storage=storage) as server,
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
    ):
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def token_of(client: httpx.AsyncClient, name: str = "cart") -> str:
    answer = await client.post(f"{ACCOUNTS}/{name}/token", json={"spec": {}}, headers=bearer("admin"))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["status"]["token"])


async def test_an_unknown_token_is_a_401_wherever_it_goes_a_3() -> None:
    async with serving() as client:
        for path in ("/version", PODS, "/nowhere"):
            answer = await client.get(path, headers=bearer("wrong"))
            assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")
            assert answer.json()["message"] == "Unauthorized"


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "bearer  wrong"])
async def test_a_broken_token_is_none_that_is_known(header: str) -> None:
    async with serving() as client:
        assert (await client.get("/version", headers={"Authorization": header})).status_code == 401


async def test_who_brings_no_token_is_anonymous_and_sees_the_version() -> None:
    async with serving() as client:
        for headers in ({}, {"Authorization": "Basic abc"}):
            assert (await client.get("/version", headers=headers)).status_code == 200
            refusal = await client.get(PODS, headers=headers)
            assert refusal.status_code == 403
            assert 'User "system:anonymous" cannot list resource "pods"' in refusal.json()["message"]


async def test_nobody_is_anonymous_where_that_is_off() -> None:
    async with serving(Rbac(anonymous=False)) as client:
        assert (await client.get("/version")).status_code == 401


async def test_without_auth_everybody_may_do_everything_whatever_they_send() -> None:
    async with serving(None) as client:
        for headers in ({}, bearer("x"), {"Impersonate-User": "joe"}):
            assert (await client.get(PODS, headers=headers)).status_code == 200


async def test_the_admin_may_do_everything() -> None:
    async with serving() as client:
        assert (await client.get(PODS, headers=bearer("admin"))).status_code == 200
        assert (await client.post(ROLES, json=ROLE, headers=bearer("admin"))).status_code == 201


async def test_a_role_and_a_binding_count_from_the_next_request_on_a_5() -> None:
    async with serving() as client:
        assert (await client.get(PODS, headers=bearer("jane"))).status_code == 403
        await client.post(ROLES, json=ROLE, headers=bearer("admin"))
        assert (await client.get(PODS, headers=bearer("jane"))).status_code == 403
        await client.post(BINDINGS, json=BINDING, headers=bearer("admin"))
        assert (await client.get(PODS, headers=bearer("jane"))).status_code == 200
        elsewhere = await client.get("/api/v1/namespaces/kube-system/pods", headers=bearer("jane"))
        assert elsewhere.json()["message"] == (
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "kube-system"'
        )
        await client.delete(f"{BINDINGS}/reader", headers=bearer("admin"))
        assert (await client.get(PODS, headers=bearer("jane"))).status_code == 403


async def test_what_another_server_writes_into_the_storage_counts_too() -> None:
    storage = MemoryKV()
    async with serving(storage=storage) as one, serving(storage=storage) as other:
        await one.post(ROLES, json=ROLE, headers=bearer("admin"))
        await one.post(BINDINGS, json=BINDING, headers=bearer("admin"))
        assert (await other.get(PODS, headers=bearer("jane"))).status_code == 200


async def test_what_is_no_object_in_the_storage_allows_nothing_and_harms_nobody() -> None:
    storage = MemoryKV()
    async with serving(storage=storage) as client:
        await storage.put(f"/registry/{RBAC}/clusterroles/broken", b"{")
        assert (await client.get("/api", headers=bearer("jane"))).status_code == 200


async def test_the_policy_is_read_again_only_when_something_was_written() -> None:
    class Counting(MemoryKV):
        reads = 0

        async def range(
            self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
        ) -> Any:
            self.reads += RBAC in keys.start
            return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    storage = Counting()
    async with serving(storage=storage) as client:
        await client.get("/api", headers=bearer("jane"))
        before = storage.reads
        for _ in range(3):
            assert (await client.get("/api", headers=bearer("jane"))).status_code == 200
        assert storage.reads == before


async def test_the_authenticated_may_look_around_but_not_in() -> None:
    async with serving() as client:
        for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v2", "/version/", "/healthz"):
            assert (await client.get(path, headers=bearer("jane"))).status_code == 200, path
        assert (await client.get("/api")).status_code == 403
        unknown = await client.get("/nowhere", headers=bearer("jane"))
        assert unknown.json()["message"] == 'forbidden: User "jane" cannot get path "/nowhere"'


async def test_the_default_roles_can_be_read_and_are_made_again() -> None:
    storage = MemoryKV()
    path = f"/apis/{RBAC}/v1/clusterroles"
    for _ in range(2):
        async with serving(storage=storage) as client:
            listed = (await client.get(path, headers=bearer("admin"))).json()
            names = [item["metadata"]["name"] for item in listed["items"]]
            assert names == [
                "cluster-admin",
                "system:basic-user",
                "system:discovery",
                "system:public-info-viewer",
            ]
            await client.delete(f"{path}/system:discovery", headers=bearer("admin"))


async def test_a_service_account_is_known_by_its_token_as_long_as_that_lasts_r_3() -> None:
    clock = FakeClock()
    async with serving(clock=clock) as client:
        await client.post(ACCOUNTS, json={"metadata": {"name": "cart"}}, headers=bearer("admin"))
        token = await token_of(client)
        refusal = await client.get(PODS, headers=bearer(token))
        assert 'User "system:serviceaccount:default:cart" cannot list' in refusal.json()["message"]
        for path, body in ((ROLES, ROLE), (BINDINGS, BINDING)):
            await client.post(path, json=body, headers=bearer("admin"))
        assert (await client.get(PODS, headers=bearer(token))).status_code == 200
        await clock.advance(3601)
        assert (await client.get(PODS, headers=bearer(token))).status_code == 401


async def test_a_token_ends_with_its_account_even_if_another_gets_the_name() -> None:
    async with serving() as client:
        for _ in range(2):
            await client.post(ACCOUNTS, json={"metadata": {"name": "cart"}}, headers=bearer("admin"))
            token = await token_of(client)
            assert (await client.get("/api", headers=bearer(token))).status_code == 200
            await client.delete(f"{ACCOUNTS}/cart", headers=bearer("admin"))
            assert (await client.get("/api", headers=bearer(token))).status_code == 401
        await client.post(ACCOUNTS, json={"metadata": {"name": "cart"}}, headers=bearer("admin"))
        assert (await client.get("/api", headers=bearer(token))).status_code == 401


async def test_a_token_is_created_and_nothing_else_and_only_for_an_account() -> None:
    async with serving(None) as client:
        assert (await client.post(f"{ACCOUNTS}/cart/token", json={})).status_code == 404
        await client.post(ACCOUNTS, json={"metadata": {"name": "cart"}})
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            assert (await client.request(method, f"{ACCOUNTS}/cart/token", json={})).status_code == 405
        assert (await client.post(f"{ACCOUNTS}/cart/token", json={})).status_code == 201
        listed = (await client.get("/api/v1")).json()["resources"]
        entry = next(one for one in listed if one["name"] == "serviceaccounts/token")
        assert (entry["kind"], entry["verbs"]) == ("TokenRequest", ["create"])


async def test_one_acts_as_another_where_that_is_allowed_a_4() -> None:
    async with serving() as client:
        acting = {**bearer("admin"), "Impersonate-User": "joe"}
        refusal = await client.get(PODS, headers=acting)
        assert 'User "joe" cannot list' in refusal.json()["message"]
        refusal = await client.get(PODS, headers={**bearer("jane"), "Impersonate-User": "joe"})
        assert 'User "jane" cannot impersonate resource "users"' in refusal.json()["message"]


async def test_a_role_is_written_by_those_who_have_what_it_gives() -> None:
    rule = {"verbs": ["*"], "apiGroups": [RBAC], "resources": ["roles", "rolebindings"]}
    async with serving() as client:
        writer = {**ROLE, "rules": [rule]}
        for path, body in ((ROLES, writer), (BINDINGS, BINDING)):
            assert (await client.post(path, json=body, headers=bearer("admin"))).status_code == 201
        wider = {"metadata": {"name": "wider"}, "rules": [*ROLE["rules"]]}
        # "*" among the verbs holds "escalate" and "bind", too.
        assert (await client.post(ROLES, json=wider, headers=bearer("jane"))).status_code == 201
        rule["verbs"] = ["create", "patch"]
        await client.put(f"{ROLES}/reader", json={**ROLE, "rules": [rule]}, headers=bearer("admin"))
        refusal = await client.post(ROLES, json={**wider, "metadata": {"name": "x"}}, headers=bearer("jane"))
        assert refusal.status_code == 403
        assert "permissions not currently held" in refusal.json()["message"]
        headers = {**bearer("jane"), "Content-Type": "application/apply-patch+yaml"}
        for name in ("wider", "y"):
            patch = {**ROLE, "apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}}
            patch["rules"] = [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]
            refusal = await client.patch(
                f"{ROLES}/{name}?fieldManager=me&force=true", json=patch, headers=headers
            )
            assert "permissions not currently held" in refusal.json()["message"], refusal.text


async def test_a_cancelled_look_at_the_policy_leaves_the_next_one_whole() -> None:
    class Slow(MemoryKV):
        gate = anyio.Event()
        is_slow = False

        async def range(
            self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
        ) -> Any:
            if self.is_slow:
                await self.gate.wait()
            return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

        async def revision(self) -> int:
            if self.is_slow:
                await self.gate.wait()
            return await super().revision()

    storage = Slow()
    async with serving(storage=storage) as client:
        storage.is_slow = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.get("/api", headers=bearer("jane")))
            await settle()
            tasks.cancel_scope.cancel()
        storage.is_slow = False
        assert (await client.get("/api", headers=bearer("jane"))).status_code == 200


async def test_each_namespace_has_an_account_as_long_as_it_stays_n_4() -> None:
    async with serving() as client:
        admin = bearer("admin")
        await client.post("/api/v1/namespaces", json={"metadata": {"name": "shop"}}, headers=admin)
        await settle()
        account = "/api/v1/namespaces/shop/serviceaccounts/default"
        assert (await client.get(account, headers=admin)).status_code == 200
        await client.delete(account, headers=admin)
        await settle()
        assert (await client.get(account, headers=admin)).status_code == 200
        await client.delete("/api/v1/namespaces/shop", headers=admin)
        await settle()
        assert (await client.get("/api/v1/namespaces/shop", headers=admin)).status_code == 404


async def test_without_auth_there_are_no_accounts_but_those_that_are_created() -> None:
    async with serving(None) as client:
        assert (await client.get("/api/v1/serviceaccounts")).json()["items"] == []
