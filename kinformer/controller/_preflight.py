"""look: ask a cluster what we may do there, and how much there is, before anything depends on it."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import anyio
import msgspec

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller._permissions import EVERYWHERE, Permission
from kinformer.controller._preflight_report import Forecast, Preflight, Review
from kinformer.controller._sources import Scope
from kinformer.errors import RequestError
from kinformer.meta import LabelSelector, Resource, prune_managed_fields
from kinformer.tasks import open_task_group

__all__ = ["look", "tell"]

logger = logging.getLogger("kinformer.controller")

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_AT_ONCE: Final = 8
"""Requests at one time."""
_PATIENCE: Final = 10.0
"""Seconds for all of it; what has not been answered then is not known."""


class _Status(msgspec.Struct):
    allowed: bool = False


class _Answer(msgspec.Struct):
    """What is read of a review."""

    status: _Status


class _Cache(NamedTuple):
    """One list that a cache begins with."""

    resource: Resource
    namespace: str
    labels: LabelSelector | None


async def look(
    client: Client,
    permissions: Iterable[Permission],
    caches: Iterable[tuple[Resource, Scope]],
    *,
    clock: Clock,
    namespace: str = "",
) -> Preflight:
    """Ask for each verb whether it is granted, and of each list for its first object and how many follow.

    Takes ten seconds at most. A cluster that refuses to answer, or does not, leaves gaps in what it gives, and no error.

    Args:
        client: Whose permissions these are.
        permissions: What is declared.
        caches: What will be listed.
        clock: Measures the ten seconds.
        namespace: Where everything namespaced stays, whatever is declared; ``""`` for no such limit.
    """
    looking = _Look(client, namespace)
    asked = tuple(looking.placed(permission) for permission in permissions)
    wanted = {
        _Cache(resource, place, scope.labels): None
        for resource, scope in caches
        for place in scope.namespaces or (looking.everywhere(resource),)
    }
    with clock.move_on_after(_PATIENCE) as patience:
        async with open_task_group() as tasks:
            for permission in asked:
                for verb in permission.verbs:
                    for name in permission.names or ("",):
                        tasks.start_soon(looking.review, permission, verb, name)
            for cache in wanted:
                tasks.start_soon(looking.forecast, cache)
    if patience.cancelled_caught:
        looking.obstacle = looking.obstacle or f"no answer within {_PATIENCE:g} s"
    return Preflight(
        tuple(looking.reviewed(permission) for permission in asked),
        tuple(looking.forecasts.get(cache, Forecast(cache.resource, cache.namespace)) for cache in wanted),
        looking.obstacle,
    )


async def tell(
    cluster: str,
    client: Client,
    permissions: Iterable[Permission],
    caches: Iterable[tuple[Resource, Scope]],
    *,
    clock: Clock,
) -> None:
    """Look, and log what comes out; at ERROR what is missing, with what to do about it.

    Args:
        cluster: The cluster's name; ``""`` for the only one.
        client: As for ``look``.
        permissions: As for ``look``.
        caches: As for ``look``.
        clock: As for ``look``.
    """
    found = await look(client, permissions, caches, clock=clock)
    where = f" of {cluster}" if cluster else ""
    logger.info("preflight%s\n%s", where, found)
    if complaint := found.complaint():
        logger.error("preflight%s: %s", where, complaint)


class _Look:
    """The answers to one look, as they come."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._turns = anyio.CapacityLimiter(_AT_ONCE)
        self._answers: dict[tuple[Permission, str], bool] = {}
        self.forecasts: dict[_Cache, Forecast] = {}
        self.obstacle = ""

    def everywhere(self, resource: Resource) -> str:
        return (resource.namespaced and self._namespace) or EVERYWHERE

    def placed(self, permission: Permission) -> Permission:
        """A permission with the place that is really meant."""
        if permission.namespace == EVERYWHERE:
            return replace(permission, namespace=self.everywhere(permission.resource))
        return permission

    async def review(self, permission: Permission, verb: str, name: str) -> None:
        place = permission.namespace or self._client.config.namespace
        attributes = {
            "namespace": "" if place == EVERYWHERE else place,
            "verb": verb,
            "group": permission.resource.group,
            "version": permission.resource.version,
            "resource": permission.resource.plural,
            "subresource": permission.subresource,
            "name": name,
        }
        async with self._turns:
            if self.obstacle:
                return  # who refuses one such question refuses all
            try:
                answer = await self._client.request("POST", _REVIEWS, content=_review(attributes))
                is_granted = msgspec.json.decode(answer, type=_Answer).status.allowed
            except (RequestError, msgspec.MsgspecError) as error:
                self._stumble(error)
                return
        key = permission, verb
        self._answers[key] = is_granted and self._answers.get(key, True)  # of several names each counts

    def _stumble(self, error: Exception) -> None:
        """Remember the first of several that were under way."""
        self.obstacle = self.obstacle or str(error)

    async def forecast(self, cache: _Cache) -> None:
        place = "" if cache.namespace == EVERYWHERE else cache.namespace
        async with self._turns:
            try:
                page = await self._client.resource(cache.resource).list(
                    namespace=place if cache.resource.namespaced else None, labels=cache.labels, limit=1
                )
            except RequestError:
                return  # why is in the first table, or will be told by the cache itself
        sizes = [len(prune_managed_fields(record.raw)) for record in page.records]
        following = page.remaining if page.continue_token else 0
        objects = None if following is None else len(sizes) + following
        self.forecasts[cache] = Forecast(cache.resource, cache.namespace, objects, max(sizes, default=None))

    def reviewed(self, permission: Permission) -> Review:
        answers = {verb: self._answers.get((permission, verb)) for verb in permission.verbs}
        granted = tuple(verb for verb, answer in answers.items() if answer)
        missing = tuple(verb for verb, answer in answers.items() if answer is False)
        return Review(permission, granted, missing)


def _review(attributes: Mapping[str, str]) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
    )
