"""Real kubectl against the embedded apiserver where roles decide."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kinformer.apiserver import ApiServer, Rbac
from tests.clients.kubectl import Kubectl, needs

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]


@asynccontextmanager
async def guarded(kubectl: str, home: Path) -> AsyncIterator[Kubectl]:
    async with ApiServer(auth=Rbac()) as server, server.serve(tls=True) as endpoint:
        endpoint.write_kubeconfig(home / "config")
        yield Kubectl(kubectl, home)


async def test_an_account_does_what_its_role_says_and_learns_what_that_is(
    kubectl: str, tmp_path: Path
) -> None:
    needs(kubectl, 24, "create token")
    async with guarded(kubectl, tmp_path) as run:
        assert (await run("auth", "can-i", "delete", "nodes")).strip() == "yes"
        await run("create", "serviceaccount", "cart")
        await run("create", "role", "reader", "--verb=get,list", "--resource=pods,pods/log")
        await run("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:cart")
        token = (await run("create", "token", "cart")).strip()
        assert token.count(".") == 2
        cart = f"--token={token}"
        assert (await run("auth", "can-i", "list", "pods", cart)).strip() == "yes"
        no = await run.run("auth", "can-i", "list", "pods", "-A", cart)
        assert (no.code, no.out.strip()) == (1, "no")
        assert "pods/log" in await run("auth", "can-i", "--list", cart)
        assert await run("get", "pods", cart) == ""
        refusal = await run.run("get", "secrets", cart)
        assert refusal.code == 1
        assert (
            'secrets is forbidden: User "system:serviceaccount:default:cart" cannot list resource "secrets" in API group "" '
            'in the namespace "default"'
        ) in refusal.err
        wrong = await run.run("get", "pods", "--token=wrong")
        assert wrong.code == 1
        assert "logged in" in wrong.err or "Unauthorized" in wrong.err
        assert (
            await run("auth", "can-i", "list", "pods", "--as=system:serviceaccount:default:cart")
        ).strip() == "yes"


async def test_it_says_who_one_is(kubectl: str, tmp_path: Path) -> None:
    needs(kubectl, 28, "auth whoami that asks for v1")
    async with guarded(kubectl, tmp_path) as run:
        assert "kubernetes-admin" in await run("auth", "whoami")
        assert "system:masters" in await run("auth", "whoami")
