from typing import Any

import httpx
import pytest

from kinformer.apiserver.http._reviews import REVIEWS
from kinformer.apiserver.registry import Served
from tests.unit.apiserver.auth.test_guard import BINDING, BINDINGS, ROLE, ROLES, bearer, serving, token_of

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
LIST = {"verb": "list", "resource": "pods", "namespace": "default"}


async def reviewed(client: httpx.AsyncClient, path: str, spec: Any, token: str = "jane") -> dict[str, Any]:
    answer = await client.post(path, json={"spec": spec}, headers=bearer(token))
    assert answer.status_code == 201, answer.text
    status: dict[str, Any] = answer.json()["status"]
    return status


async def with_reader(client: httpx.AsyncClient) -> None:
    for path, body in ((ROLES, ROLE), (BINDINGS, BINDING)):
        assert (await client.post(path, json=body, headers=bearer("admin"))).status_code == 201


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review.kind)
async def test_where_nobody_is_asked_every_review_says_yes_r_6(review: Served) -> None:
    home = "/namespaces/default" if review.namespaced else ""
    path = f"/apis/{review.group}/{review.version}{home}/{review.plural}"
    spec: dict[str, Any] = {"user": "u", "resourceAttributes": LIST, "token": "x"}
    async with serving(None) as client:
        reply = (await client.post(path, json={"metadata": {"creationTimestamp": None}, "spec": spec})).json()
    assert (reply["kind"], reply["spec"]) == (review.kind, spec)
    status = reply["status"]
    assert status.get("allowed", status.get("authenticated", True)), status


async def test_one_learns_what_one_may_do() -> None:
    async with serving() as client:
        path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
        assert await reviewed(client, path, {"resourceAttributes": LIST}) == {"allowed": False}
        await with_reader(client)
        status = await reviewed(client, path, {"resourceAttributes": LIST})
        assert status["allowed"]
        assert 'RoleBinding "default/reader" of Role "reader"' in status["reason"]
        for change in ({"verb": "get"}, {"namespace": ""}, {"subresource": "log"}, {"group": "apps"}):
            assert not (await reviewed(client, path, {"resourceAttributes": {**LIST, **change}}))["allowed"]
        version = {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
        assert (await reviewed(client, path, version))["allowed"]


async def test_one_learns_what_another_may_do() -> None:
    async with serving() as client:
        await with_reader(client)
        path = f"{AUTHORIZATION}/subjectaccessreviews"
        local = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        for user, is_allowed in (("jane", True), ("joe", False)):
            for where in (path, local):
                status = await reviewed(client, where, {"user": user, "resourceAttributes": LIST}, "admin")
                assert status["allowed"] is is_allowed
        grouped = {"user": "joe", "groups": ["system:masters"], "resourceAttributes": LIST}
        assert (await reviewed(client, path, grouped, "admin"))["allowed"]
        refusal = await client.post(path, json={"spec": {}}, headers=bearer("jane"))
        assert refusal.status_code == 403, "not everybody may ask about others"


async def test_one_learns_ones_rules() -> None:
    async with serving() as client:
        await with_reader(client)
        status = await reviewed(client, f"{AUTHORIZATION}/selfsubjectrulesreviews", {"namespace": "default"})
        assert ROLE["rules"][0] in status["resourceRules"]  # type: ignore[index]
        assert any("/version" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
        assert status["incomplete"] is False


async def test_one_learns_who_one_is() -> None:
    async with serving() as client:
        status = await reviewed(client, f"{AUTHENTICATION}/selfsubjectreviews", {})
        assert status == {"userInfo": {"username": "jane", "groups": ["system:authenticated"]}}


async def test_one_learns_whose_a_token_is() -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    async with serving() as client:
        await client.post(
            "/api/v1/namespaces/default/serviceaccounts",
            json={"metadata": {"name": "cart"}},
            headers=bearer("admin"),
        )
        status = await reviewed(client, path, {"token": await token_of(client)}, "admin")
        assert status["authenticated"]
        assert status["user"]["username"] == "system:serviceaccount:default:cart"
        status = await reviewed(client, path, {"token": "jane", "audiences": ["a"]}, "admin")
        assert status == {
            "authenticated": True,
            "user": {"username": "jane", "groups": ["system:authenticated"]},
            "audiences": ["a"],
        }
        status = await reviewed(client, path, {"token": "wrong"}, "admin")
        assert status == {"authenticated": False, "error": "invalid bearer token"}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({}, 422),
        ({"user": "u"}, 422),
        ({"resourceAttributes": LIST}, 422),
        ({"user": "u", "resourceAttributes": LIST, "nonResourceAttributes": {"path": "/"}}, 422),
        ({"user": "u", "resourceAttributes": [1]}, 400),
        ({"user": "u", "resourceAttributes": {"verb": 1}}, 400),
        ({"user": 1, "resourceAttributes": LIST}, 400),
        ({"groups": "u", "resourceAttributes": LIST}, 400),
        ([1], 400),
    ],
)
async def test_a_review_that_makes_no_sense_is_refused(spec: Any, code: int) -> None:
    async with serving() as client:
        answer = await client.post(
            f"{AUTHORIZATION}/subjectaccessreviews", json={"spec": spec}, headers=bearer("admin")
        )
        assert answer.status_code == code, answer.text


@pytest.mark.parametrize("audiences", [5, "a", [5]])
async def test_a_token_is_for_a_list_of_audiences(audiences: Any) -> None:
    async with serving() as client:
        path, spec = f"{AUTHENTICATION}/tokenreviews", {"token": "jane", "audiences": audiences}
        answer = await client.post(path, json={"spec": spec}, headers=bearer("admin"))
        assert answer.status_code == 400, answer.text
        assert "audiences must be a list of texts" in answer.text


@pytest.mark.parametrize(
    ("metadata", "code"), [({"name": "x"}, 422), ("x", 400), ({"managedFields": [{}]}, 201)]
)
async def test_a_review_of_access_says_nothing_of_itself(metadata: Any, code: int) -> None:
    body = {"metadata": metadata, "spec": {"resourceAttributes": LIST}}
    async with serving() as client:
        path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
        answer = await client.post(path, json=body, headers=bearer("jane"))
        assert answer.status_code == code, answer.text


async def test_a_local_review_is_about_its_namespace() -> None:
    async with serving() as client:
        path = f"{AUTHORIZATION}/namespaces/kube-system/localsubjectaccessreviews"
        spec = {"user": "u", "resourceAttributes": LIST}
        answer = await client.post(path, json={"spec": spec}, headers=bearer("admin"))
        assert answer.status_code == 422
        assert "must match metadata.namespace: kube-system" in answer.json()["message"]
