"""A server where roles decide, cancelled wherever it waits: while it begins, and while somebody shows a token."""

from itertools import count
from typing import Final

from kinformer.apiserver import Rbac
from kinformer.meta import Resource
from tests.scenario.cancelling.requests import JSON, MAPS, Asked, ask
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import YieldingKV, is_whole, world

ACCOUNTS: Final = Resource.builtin("ServiceAccount")
TOKEN: Final = "/api/v1/namespaces/default/serviceaccounts/cart/token"
REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES: Final = Rbac(admin_token="admin")


async def a_server_that_asks(sweep: Sweep) -> None:
    """From an empty storage to its default roles."""
    kv = YieldingKV()

    async def live() -> None:
        async with world(kv, RULES):
            pass

    async def whole() -> None:
        await is_whole(kv)

    await sweep.of(live, held=lambda: kv.kv.watches, whole=whole)


async def who_shows_a_token(sweep: Sweep) -> None:
    """An account asks what it may do, right after something was written; others ask for its token, and about it."""
    async with world(auth=RULES) as made:
        await made.client.resource(ACCOUNTS).create({"metadata": {"name": "cart", "namespace": "default"}})
        tokens = made.client.resource(ACCOUNTS).subresource("token")
        issued = await tokens.create({"metadata": {"name": "cart", "namespace": "default"}})
        token = str(issued["status"]["token"])
        access = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
        numbers = count()

        async def write() -> None:
            await made.kv.kv.put(f"/elsewhere/{next(numbers)}", b"")

        for asked in (
            Asked("POST", ACCESS, JSON, access, token=token),
            Asked("POST", TOKEN, JSON, {"spec": {}}, token="admin"),
            Asked("POST", REVIEWS, JSON, {"spec": {"token": token}}, token="admin"),
            Asked("GET", MAPS, token="wrong"),
        ):

            async def request(asked: Asked = asked) -> None:
                await ask(made, asked, "a")

            await sweep.of(request, prepare=write, held=made.held)
