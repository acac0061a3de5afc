"""Objects that belong to one another: a Tenant owns a Namespace, with a quota in it and the right to use it.

What shows here: ``create_or_apply``, which asks nothing of the server where all is as wanted; owner references, by which
the garbage collector takes what a Tenant owned, and ``owns`` finds the way back; conditions that say how far it is; and a
finalizer, for what lies outside of the cluster.

Run as a script it plays a scene against an apiserver inside this process; ``kinformer run examples/04_owned_objects.py`` serves.
In a cluster its account needs the role ``edit`` too, since nobody may give what they do not have.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import anyio

from kinformer import (
    Controller,
    Object,
    Request,
    RequeueAfter,
    Resource,
    add_finalizer,
    remove_finalizer,
    set_condition,
    set_owner,
)
from kinformer.controller import Applier
from kinformer.testing import Cluster, custom_object, custom_resource_definition, namespace

TENANTS = Resource("example.dev", "v1", "tenants", "Tenant", namespaced=False)
NAMESPACES = Resource.builtin("Namespace")
QUOTAS = Resource.builtin("ResourceQuota")
BINDINGS = Resource.builtin("RoleBinding")

RBAC = "rbac.authorization.k8s.io"
FINALIZER = "example.dev/account"
applier = Applier("tenant-controller")
accounts: set[str] = set()  # stands for a service that knows who pays
sent = Counter[str]()  # what became of the objects, for the scene


def wanted_of(tenant: Object) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """What there is to be for a Tenant, in this order."""
    name, spec = tenant.metadata.name, tenant["spec"]
    yield NAMESPACES, {"metadata": {"name": name, "labels": {"example.dev/tenant": name}}}
    limits = {"hard": {"pods": str(spec["pods"])}}
    yield QUOTAS, {"metadata": {"name": "tenant", "namespace": name}, "spec": limits}
    users = [{"kind": "User", "apiGroup": RBAC, "name": user} for user in spec["users"]]
    role = {"kind": "ClusterRole", "apiGroup": RBAC, "name": "edit"}
    yield BINDINGS, {"metadata": {"name": "users", "namespace": name}, "subjects": users, "roleRef": role}


async def reconcile(request: Request) -> RequeueAfter | None:
    """Make the world match one Tenant; called when it changes, or something that it owns."""
    tenant = request.lister(TENANTS).get(request.key)
    if tenant is None:
        return None  # what it owned is the garbage collector's
    client, name = request.client.resource(TENANTS), tenant.metadata.name
    if tenant.metadata.deletion_timestamp is not None:
        accounts.discard(name)  # safe to repeat, since we may be stopped before the next line
        await remove_finalizer(client, tenant, FINALIZER)
        return None
    home = request.lister(NAMESPACES).get(name)
    if home is not None and not belongs_to(home, tenant):
        taken = f"there is a namespace {name} already"
        await report(request, tenant, ready=False, reason="NameTaken", message=taken)
        return RequeueAfter(60)  # what we do not own does not wake us
    tenant = await add_finalizer(client, tenant, FINALIZER)  # before there is anything to clean up
    accounts.add(name)
    for resource, wanted in wanted_of(tenant):
        set_owner(wanted, tenant)
        applied = await applier.create_or_apply(request, resource, wanted)
        sent[applied.result] += 1
    await report(request, tenant, ready=True, reason="AllApplied")
    return None


def belongs_to(obj: Object, owner: Object) -> bool:
    """Whether this owner made it, and may say how it is to be."""
    return obj.metadata.controller is not None and obj.metadata.controller.uid == owner.metadata.uid


async def report(request: Request, tenant: Object, *, ready: bool, reason: str, message: str = "") -> None:
    """Write the condition where it has changed; the time of its last transition is kept."""
    status = tenant.thaw().get("status", {})
    generation = tenant.metadata.generation
    if set_condition(status, "Ready", ready, reason=reason, message=message, observed_generation=generation):
        await request.client.resource(TENANTS).status.patch(tenant.key, {"status": status})


controller = Controller("tenant", reconcile).watches(TENANTS)
controller.owns(NAMESPACES).owns(QUOTAS).owns(BINDINGS)
controller.writes(TENANTS, "status", "finalizers")  # for whoever asks what it must be allowed to do


def tenant(name: str, **spec: Any) -> Mapping[str, Any]:
    return custom_object(TENANTS, name, spec={"pods": 10, "users": ["ann"], **spec})


async def main() -> None:
    definition, taken = custom_resource_definition(TENANTS), namespace("taken")
    async with (
        Cluster(definition, taken, tenant("shop"), tenant("taken")) as cluster,
        cluster.running(controller),
    ):
        tenants, quotas, bindings = map(cluster.client.resource, (TENANTS, QUOTAS, BINDINGS))

        async def reasons() -> dict[str, str]:
            path = ("status", "conditions", 0, "reason")
            return {each.metadata.name: each.at(*path, default="") for each in (await tenants.list()).items}

        async def are_reported() -> bool:
            return await reasons() == {"shop": "AllApplied", "taken": "NameTaken"}

        async def quota_is(pods: int) -> bool:
            return bool((await quotas.get("shop/tenant"))["spec"]["hard"]["pods"] == str(pods))

        async def users_are(*users: str) -> bool:
            return [each["name"] for each in (await bindings.get("shop/users"))["subjects"]] == [*users]

        await cluster.until(are_reported)
        print("each says how it is:", await reasons())
        print("shop has its objects:", dict(sent))
        sent.clear()
        await quotas.patch("shop/tenant", {"spec": {"hard": {"pods": "1000"}}})
        await cluster.until(lambda: quota_is(10))
        print("somebody was generous, and was put right:", dict(sent))
        await tenants.patch("shop", {"spec": {"users": ["ann", "bob"]}})
        await cluster.until(lambda: users_are("ann", "bob"))
        await bindings.delete("shop/users")
        await cluster.until(lambda: users_are("ann", "bob"))
        print("bob may come in, also after somebody deleted the binding")
        await tenants.delete("shop")

        async def is_gone() -> bool:
            left = await cluster.client.resource(NAMESPACES).list(labels="example.dev/tenant")
            return not left.items and not accounts

        await cluster.until(is_gone)
        print("shop is gone, with its namespace, all that was in it, and its account")


if __name__ == "__main__":
    anyio.run(main)
