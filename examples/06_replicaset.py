"""A full ReplicaSet controller: what kube-controller-manager's does, in one file.

It adopts orphans and releases pods that match no more, makes up for what is missing in batches that double while they
succeed, takes away what is too much in the order that hurts least, and reports. Plain functions decide; ``ReplicaSets``
performs what they say. Its model is ``pkg/controller/replicaset`` of Kubernetes.

Run as a script it plays a scene against an apiserver inside this process. ``kinformer run examples/06_replicaset.py``
serves a cluster that has no controller of ReplicaSets yet, such as that of ``kinformer apiserver``.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import anyio

import kinformer
from kinformer import Controller, NotFoundError, Object, ObjectKey, Request, RequeueAfter, Resource
from kinformer.controller import Consistency, Expectations
from kinformer.errors import ConflictError, RequestError
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import LabelSelector
from kinformer.testing import Cluster, custom_object, pod

REPLICA_SETS, PODS = Resource.builtin("ReplicaSet"), Resource.builtin("Pod")
BURST = 500  # at most so many pods are made, or taken away, in one go
PATIENCE = 300.0  # seconds after which what was expected will not come any more
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
FAILURE = "ReplicaFailure"


def selector_of(owner: Object) -> LabelSelector:
    return LabelSelector.from_object(owner["spec"]["selector"])


def is_active(pod: Object) -> bool:
    """Whether a pod counts: it has not ended, and nobody has asked it to."""
    is_over = pod.at("status", "phase", default="") in {"Succeeded", "Failed"}
    return not is_over and pod.metadata.deletion_timestamp is None


def ready_since(pod: Object) -> datetime | None:
    ready = kinformer.get_condition(pod.at("status", default={}), "Ready")
    if ready is None or ready["status"] != "True":
        return None
    since = ready.get("lastTransitionTime")  # null where who wrote it did not know
    return datetime.fromisoformat(since) if since else pod.metadata.creation_timestamp


def available_in(pod: Object, owner: Object, now: datetime) -> float:
    """Seconds until a pod will have been ready for long enough; infinite where it is not even ready."""
    since, patience = ready_since(pod), owner["spec"].get("minReadySeconds") or 0
    if since is None:
        return math.inf
    return min(patience, max(0.0, patience - (now - since).total_seconds()))  # clocks of nodes may be ahead


class Claim(NamedTuple):
    """Whose the active pods are, from the view of one ReplicaSet."""

    owned: list[Object]
    orphans: list[Object]  # nobody's, and they match
    strays: list[Object]  # ours, and they match no more


def claim(owner: Object, pods: Iterable[Object]) -> Claim:
    """Sort the pods of a namespace; those of other owners are none of our business."""
    found, selector = Claim([], [], []), selector_of(owner)
    for each in filter(is_active, pods):
        controller, matches = each.metadata.controller, selector.matches(each.metadata.labels)
        if controller is None and matches:
            found.orphans.append(each)
        elif controller is not None and controller.uid == owner.metadata.uid:
            (found.owned if matches else found.strays).append(each)
    return found


def batches(count: int) -> Iterator[int]:
    """1, 2, 4, ...: where creations fail, as they do beyond a quota, only a few are tried in vain."""
    size = 1
    while count > 0:
        yield min(size, count)
        count, size = count - size, size * 2


def victims(pods: Sequence[Object], count: int, now: datetime) -> list[Object]:
    """The pods to take away; who is missed least goes first (``controller.ActivePodsWithRanks``)."""
    crowd = Counter(each.at("spec", "nodeName", default="") for each in pods)

    def worth(pod: Object) -> tuple[Any, ...]:
        node, since = pod.at("spec", "nodeName", default=""), ready_since(pod)
        return (
            node != "",  # those without a node go first,
            {"Running": 2, "Unknown": 1}.get(pod.at("status", "phase", default=""), 0),  # then the pending,
            since is not None,  # those that are not ready,
            deletion_cost(pod),  # those that are said to be cheap,
            -crowd[node],  # those that share their node with most others,
            magnitude(since, now),  # those that became ready lately,
            -sum(each.get("restartCount", 0) for each in pod.at("status", "containerStatuses", default=())),
            magnitude(pod.metadata.creation_timestamp, now),  # and the young;
            pod.metadata.uid,  # of those that are about as old, any.
        )

    return sorted(pods, key=worth)[:count]


def deletion_cost(pod: Object) -> int:
    """What somebody has said that it costs to lose a pod; what is no number says nothing."""
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def magnitude(moment: datetime | None, now: datetime) -> int:
    """How long ago it was, as a power of two of seconds: an hour more or less says little about an old pod."""
    age = 0.0 if moment is None else (now - moment).total_seconds()
    return int(math.log2(age)) if age >= 1 else -1


def pod_of(owner: Object) -> dict[str, Any]:
    """The next pod, by the template."""
    template = owner.thaw()["spec"]["template"]
    kept = {name: template["metadata"].get(name) for name in ("labels", "annotations", "finalizers")}
    made = {"generateName": f"{owner.metadata.name}-", "ownerReferences": [kinformer.owner_reference(owner)]}
    return {"metadata": kept | made, "spec": template["spec"]}


def status_of(
    owner: Object, pods: Sequence[Object], failure: Exception | None, now: datetime
) -> dict[str, Any]:
    """What to report of these pods. A failure is told of when it begins, and not anew at each attempt."""
    template = LabelSelector.from_labels(owner["spec"]["template"]["metadata"]["labels"])
    waits = [available_in(each, owner, now) for each in pods]
    status: dict[str, Any] = {
        "replicas": len(pods),
        "fullyLabeledReplicas": sum(template.matches(each.metadata.labels) for each in pods),
        "readyReplicas": sum(wait < math.inf for wait in waits),
        "availableReplicas": sum(wait == 0 for wait in waits),
        "observedGeneration": owner.metadata.generation,
        "conditions": owner.thaw().get("status", {}).get("conditions", []),
    }
    if failure is None:
        status["conditions"] = [each for each in status["conditions"] if each["type"] != FAILURE]
    elif kinformer.get_condition(status, FAILURE) is None:
        reason = "FailedCreate" if len(pods) < owner["spec"]["replicas"] else "FailedDelete"
        kinformer.set_condition(status, FAILURE, True, reason=reason, message=str(failure), now=now)
    return {name: value for name, value in status.items() if value or name == "replicas"}


class ReplicaSets:
    """The controller, with what it remembers from one call to the next.

    Its reads show its own writes. Beyond that, it makes and takes away nothing while something that it has asked for has
    not been seen: where the watch of pods is silent for longer than an overlay lasts, it would do so twice.

    Args:
        consistency: See ``kinformer.controller.Consistency``; with ``"none"`` the expectations do it alone.
    """

    def __init__(self, *, consistency: Consistency = "overlay") -> None:
        self.owners: dict[ObjectKey, Object] = {}
        self.expected = Expectations[str](timeout=PATIENCE)  # by the owner's uid
        self.controller = Controller("replicaset", self.reconcile, consistency=consistency)
        # One source of pods, where owns(PODS) would be a second: what was expected is seen before the key is queued.
        self.controller.watches(REPLICA_SETS).watches(PODS, map=self.concerned, when=self.hear)
        self.controller.writes(PODS).writes(REPLICA_SETS, "status", "finalizers")

    def concerned(self, pod: Object) -> list[ObjectKey]:
        """The owner of a pod, or whoever may adopt it."""
        home, labels, controller = pod.metadata.namespace, pod.metadata.labels, pod.metadata.controller
        if controller is not None:
            return [ObjectKey(home, controller.name)] if controller.kind == REPLICA_SETS.kind else []
        owners = [each for each in self.owners.values() if each.metadata.namespace == home]
        return [each.key for each in owners if selector_of(each).matches(labels)]

    def hear(self, notification: Notification[Object]) -> bool:
        """See what was expected; a predicate that lets everything pass."""
        pod = notification.new if isinstance(notification, Updated) else notification.obj
        if (owner := pod.metadata.controller) is not None:
            if isinstance(notification, Added):
                self.expected.saw_creation(owner.uid)
            if isinstance(notification, Deleted) or pod.metadata.deletion_timestamp is not None:
                self.expected.saw_deletion(owner.uid, pod.metadata.uid)
        return True

    async def reconcile(self, request: Request) -> RequeueAfter | None:
        """Claim, make up the difference, report; called when the ReplicaSet changes, or a pod that concerns it."""
        before = self.owners.pop(request.key, None)
        owner = request.lister(REPLICA_SETS).get(request.key)
        if owner is None:  # its pods are the garbage collector's
            if before is not None:
                self.expected.forget(before.metadata.uid)
            return None
        self.owners[request.key] = owner
        clock, failure, is_met = request.client.clock, None, True
        pods = claim(owner, request.lister(PODS).list(namespace=request.key.namespace))
        if owner.metadata.deletion_timestamp is None:
            pods.owned.extend(await take_over(request, owner, pods))
            if is_met := self.expected.are_met(owner.metadata.uid, clock.monotonic()):
                failure = await self.balance(request, owner, pods.owned)
        await report(request, owner, status_of(owner, pods.owned, failure, clock.now()))
        if failure is not None:
            raise failure  # the key comes back after a growing delay
        waits = [available_in(each, owner, clock.now()) for each in pods.owned]
        due = [wait for wait in waits if 0 < wait < math.inf] + ([] if is_met else [PATIENCE])
        return RequeueAfter(min(due)) if due else None

    async def balance(self, request: Request, owner: Object, pods: Sequence[Object]) -> RequestError | None:
        """Make what is missing, or take away what is too much; gives the first thing that went wrong."""
        missing = owner["spec"]["replicas"] - len(pods)
        if missing >= 0:
            return await self.create(request, owner, min(missing, BURST))
        surplus = victims(pods, min(-missing, BURST), request.client.clock.now())
        return await self.delete(request, owner, surplus)

    async def create(self, request: Request, owner: Object, count: int) -> RequestError | None:
        """Make so many pods, in batches, until one fails."""
        uid, made = owner.metadata.uid, 0
        client, namespace = request.client.resource(PODS), owner.metadata.namespace
        call = partial(client.create, pod_of(owner), namespace=namespace)
        self.expected.expect_creations(uid, count, request.client.clock.monotonic())
        try:
            for size in batches(count):
                errors = await together([call] * size)
                made += size - len(errors)
                if errors:
                    request.event(owner, "FailedCreate", f"Error creating: {errors[0]}", type="Warning")
                    return errors[0]
        finally:
            for _ in range(count - made):
                self.expected.saw_creation(uid)  # nobody else will: it was not made
        return None

    async def delete(self, request: Request, owner: Object, pods: Sequence[Object]) -> RequestError | None:
        """Delete these pods, all at once."""
        uid, client = owner.metadata.uid, request.client.resource(PODS)

        async def delete_one(pod: Object) -> None:
            try:
                await client.delete(pod.key, uid=pod.metadata.uid)
            except BaseException as error:
                self.expected.saw_deletion(uid, pod.metadata.uid)  # perhaps nobody else will
                if not isinstance(error, NotFoundError):
                    raise

        uids = [each.metadata.uid for each in pods]
        self.expected.expect_deletions(uid, uids, request.client.clock.monotonic())
        return next(iter(await together([partial(delete_one, each) for each in pods])), None)


async def take_over(request: Request, owner: Object, pods: Claim) -> list[Object]:
    """Adopt the orphans and release the strays; gives those that were adopted."""
    client, changed = request.client.resource(PODS), dict[ObjectKey, Object]()
    if pods.orphans:  # ask the server: what an owner adopts that is gone, the garbage collector takes
        live = await request.client.resource(REPLICA_SETS).get(owner.key)
        if live.metadata.uid != owner.metadata.uid or live.metadata.deletion_timestamp is not None:
            raise ConflictError(409, "Conflict", f"ReplicaSet {owner.key} is going, or another one by now")

    async def change(pod: Object, reference: dict[str, Any]) -> None:
        metadata = {"uid": pod.metadata.uid, "ownerReferences": [reference]}  # only this very pod
        with suppress(NotFoundError):
            changed[pod.key] = await client.patch(pod.key, {"metadata": metadata}, kind="strategic")

    release = {"$patch": "delete", "uid": owner.metadata.uid}
    calls = [partial(change, each, release) for each in pods.strays]
    calls += [partial(change, each, kinformer.owner_reference(owner)) for each in pods.orphans]
    for error in await together(calls):
        raise error
    return [changed[each.key] for each in pods.orphans if each.key in changed]


async def together(calls: Iterable[Callable[[], Awaitable[object]]]) -> list[RequestError]:
    """Make requests side by side, each to its end; gives what went wrong."""
    errors: list[RequestError] = []

    async def attempt(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except RequestError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(attempt, call)
    return errors


async def report(request: Request, owner: Object, status: dict[str, Any]) -> None:
    """Write the status where it has changed, and only to this very object."""
    before = owner.thaw().get("status", {})
    if status != before:
        patch = {"metadata": {"uid": owner.metadata.uid}, "status": dict.fromkeys(before) | status}
        await request.client.resource(REPLICA_SETS).status.patch(owner.key, patch)


controller = ReplicaSets().controller


async def main() -> None:
    labels, container = {"app": "web"}, {"name": "web", "image": "nginx:1.29"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    web = custom_object(REPLICA_SETS, "web", spec=spec)
    async with Cluster(pod("orphan", labels=labels), web) as cluster, cluster.running(controller):
        sets, pods = cluster.client.resource(REPLICA_SETS), cluster.client.resource(PODS)

        async def until(count: int, story: str) -> None:
            async def is_so() -> bool:
                owned = [each for each in (await pods.list()).items if each.metadata.controller is not None]
                reported = [each["status"]["replicas"] for each in (await sets.list()).items] or [0]
                return reported == [len(owned)] == [count]

            await cluster.until(is_so)
            print(f"{count:>2} replicas: {story}")

        await until(3, "two are new, and the orphan was adopted")
        await pods.delete("default/orphan")
        await until(3, "somebody deleted it, and there is another in its place")
        stray = (await pods.list()).items[0].key
        await pods.patch(stray, {"metadata": {"labels": {"app": "debugging"}}})
        await until(3, f"{stray.name} got another label, was released and replaced")
        await sets.scale.patch("default/web", {"spec": {"replicas": 10}})
        await until(10, "scaled up, in batches of 1, 2 and 4")
        await sets.scale.patch("default/web", {"spec": {"replicas": 2}})
        await until(2, "scaled down")
        await sets.delete("default/web", propagation="Orphan")
        await until(0, f"deleted as with --cascade=orphan, which left {len((await pods.list()).items)} pods")


if __name__ == "__main__":
    anyio.run(main)
