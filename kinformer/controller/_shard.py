"""Shard: the keys that are ours while we are a member of a group. The shell around ``Membership``."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final, Protocol

import anyio

from kinformer.clock import Clock
from kinformer.controller._leadership import LeaseClient, Terms
from kinformer.controller._lease import released
from kinformer.controller._member import LABEL, MemberRecord, lease_of_member
from kinformer.controller._membership import Admission, Membership
from kinformer.controller._moment import Moment
from kinformer.controller._ring import Member, Ring, point_of
from kinformer.controller._tenure import Tenure
from kinformer.errors import ConflictError, MembershipLostError, NotFoundError, RequestError
from kinformer.hooks import Hooks, MembersChanged
from kinformer.meta import Object, ObjectKey, ObjectList

__all__ = ["Enrolment", "MemberClient", "Shard"]

logger = logging.getLogger("kinformer.controller")

_STEPS: Final = 4
"""Looks and writes in one try: the first write, a look beside whom it stands, and again after a conflict."""

_PATIENCE: Final = 2
"""Lease durations after which whoever has not joined says for whom it waits; a member that has died takes less than that."""


class MemberClient(LeaseClient, Protocol):
    """The part of a ``ResourceClient`` that sharding needs."""

    async def list(self, *, namespace: str, labels: str) -> ObjectList[Object]:
        """Read all Leases of the group, as they are now."""

    async def delete(self, key: ObjectKey | str, /, *, uid: str, version: str) -> None:
        """Remove one that has not changed since."""


class Shard:
    """The keys that belong to this replica, while it is a member of the group.

    Attributes:
        name: The group's name.
        identity: Under which name this replica is a member.
    """

    def __init__(self, terms: Terms, membership: Membership, clock: Clock) -> None:
        self.name: Final = terms.name
        self.identity: Final = terms.identity
        self._membership = membership
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []

    @property
    def members(self) -> tuple[str, ...]:
        """The identities of all who take up keys, this replica's among them until it retires, in order."""
        return tuple(sorted(member.identity for member in self.ring.members))

    @property
    def ring(self) -> Ring:
        """How the keys are shared; another object each time that a member comes or goes."""
        return self._membership.ring

    @property
    def is_held(self) -> bool:
        """Whether no other member can have our keys at this moment, even if our event loop or machine stood still for a while."""
        return self._membership.left(Moment.now(self._clock)) > 0

    def check(self) -> None:
        """The fencing check, for right before what only the owner of a key may do.

        Raises:
            MembershipLostError: Other members may have our keys by now.
        """
        if not self.is_held:
            raise MembershipLostError(
                f"{self.identity} is no member of {self.name} any more: its Lease was not renewed"
            )

    def owns(self, key: ObjectKey, ring: Ring | None = None) -> bool:
        """Whether a key is ours by the members that there are, or were in another ``ring``; another one may be finishing it."""
        return (ring or self.ring).owner(point_of(str(key))) == self._membership.member.name

    def enter(self, key: ObjectKey) -> Admission:
        """Begin the work on a key, if it may begin now. Then ``leave`` must follow, whatever becomes of it.

        What is the same key in several clusters is one key here.
        """
        return self._membership.enter(point_of(str(key))) if self.is_held else Admission.ELSEWHERE

    def leave(self, key: ObjectKey) -> None:
        """The work on a key has ended."""
        self._membership.leave(point_of(str(key)))

    def retire(self) -> None:
        """Take up no key any more, and let the others have those on which nobody works here; for good."""
        self._membership.retire()

    def heed(self, listener: Callable[[], None]) -> None:
        """Call ``listener()`` each time that the ring is another one, between two awaits."""
        self._listeners.append(listener)

    def tell(self) -> None:
        """The ring is another one."""
        for listener in self._listeners:
            listener()


class Enrolment:
    """One membership: join, renew the Lease while a block runs, and leave when it has ended.

    Args:
        terms: How.
        namespace: Where the Leases are.
        leases: Reads and writes them, each request tried once.
        clock: The time.
        random: Tells our Lease from all that there were.
        hooks: Hear of each change of the members.
    """

    def __init__(
        self,
        terms: Terms,
        namespace: str,
        leases: MemberClient,
        *,
        clock: Clock,
        random: Random,
        hooks: Hooks,
    ) -> None:
        self._terms = terms
        self._namespace = namespace
        self._leases = leases
        self._clock = clock
        self._random = random
        self._hooks = hooks
        self._patience = max(1.0, terms.renew_deadline / 2)
        self._shard: Shard | None = None
        self._begin()

    def _begin(self) -> None:
        """As somebody whom nobody knows."""
        terms = self._terms
        name = f"{terms.name}-{terms.identity}-{self._random.getrandbits(32):08x}"
        self._key = ObjectKey(self._namespace, name)
        self._lease: Object | None = None
        self._found: dict[str, Object] = {}
        self._membership = Membership(
            Member(name, terms.identity), duration=float(terms.lease_duration), deadline=terms.renew_deadline
        )
        self._tenure = Tenure(
            self._key,
            self._membership,
            self._step,
            period=terms.retry_period,
            patience=self._patience,
            clock=self._clock,
        )

    @asynccontextmanager
    async def join(self) -> AsyncIterator[Shard]:
        """Wait until all others make room for us, stay during the block, and leave after it has ended.

        See ``Sharding.join``.
        """
        try:
            await self._join()
            self._shard = Shard(self._terms, self._membership, self._clock)
            self._tell(self._shard.members)
            try:
                async with self._tenure.held():
                    yield self._shard
            finally:
                self._tell(())
        finally:
            await self._leave()
        if self._tenure.is_lost:
            reason = self._tenure.trouble or "its Lease was not renewed in time, or somebody has ended it"
            raise MembershipLostError(
                f"{self._terms.identity} is no member of {self._terms.name} any more: {reason}"
            )

    async def _join(self) -> None:
        began, is_told = self._clock.monotonic(), False
        while True:
            await self._tenure.attempt()
            if self._membership.is_joined and self._membership.left(self._now()) > 0:
                return
            if not is_told and self._clock.monotonic() - began > _PATIENCE * self._terms.lease_duration:
                is_told = self._tell_waits()
            if self._membership.is_over:  # its Lease expires
                self._begin()
            await self._clock.sleep(self._terms.retry_period)

    async def _step(self) -> None:
        """Look at all Leases, and write ours."""
        for _ in range(_STEPS):
            await self._look()
            if not self._membership.may_write:
                return
            is_new = self._lease is None
            try:
                await self._write()
            except (ConflictError, NotFoundError):  # a late write of ours, or somebody has ended it
                continue
            if not is_new:  # else look at once beside whom it stands
                break
        await self._tidy()

    async def _look(self) -> None:
        sent = self._now()
        listed = await self._leases.list(namespace=self._namespace, labels=f"{LABEL}={self._terms.name}")
        if listed.rejected:  # it may be a member's
            raise listed.rejected[0]
        before = self._membership.ring
        self._found = {lease.metadata.name: lease for lease in listed.items}
        self._lease = self._found.get(self._key.name)
        self._membership.saw(map(MemberRecord.of, listed.items), sent, self._now())
        is_other = self._membership.ring is not before and not self._membership.is_retiring
        if self._shard is not None and is_other:
            self._shard.tell()
            self._tell(self._shard.members)

    async def _write(self) -> None:
        sent = self._now()
        content = lease_of_member(  # no await from here to the write: it must be true when it is sent
            self._lease,
            self._key,
            self._terms.name,
            self._terms.identity,
            members=[member.name for member in self._membership.ring.members],
            finishing=self._membership.finishing,
            is_retiring=self._membership.is_retiring,
            duration=self._terms.lease_duration,
            now=sent.wall,
        )
        self._membership.wants(sent)
        write = self._leases.create if self._lease is None else self._leases.replace
        self._lease = await write(content)
        self._membership.wrote(sent, self._now())

    async def _tidy(self) -> None:
        """Remove a Lease whose member is gone, one in each try."""
        for name in self._membership.litter(self._now())[:1]:
            metadata = self._found[name].metadata
            try:
                await self._leases.delete(
                    ObjectKey(self._namespace, name), uid=metadata.uid, version=metadata.resource_version
                )
            except (ConflictError, NotFoundError):  # somebody else has
                return

    async def _leave(self) -> None:
        """Say that we are gone; the others wait for our Lease to expire if that does not work."""
        if not self._membership.has_begun:
            return
        with anyio.CancelScope(shield=True), self._clock.move_on_after(self._patience):
            try:
                for _ in range(_STEPS):
                    lease = await self._leases.get(self._key)
                    if not MemberRecord.of(lease).member.identity:
                        return
                    if await self._release(lease):
                        return
            except NotFoundError:
                return
            except RequestError as error:
                logger.warning("%s: the Lease is not released, so it must expire: %s", self._key, error)

    async def _release(self, lease: Object) -> bool:
        content: dict[str, Any] = released(lease, now=self._clock.now())
        try:
            await self._leases.replace(content)
        except ConflictError:  # a late renewal of ours
            return False
        return True

    def _tell_waits(self) -> bool:
        """Warn of the Leases that keep us from joining, if there are some."""
        waits = [
            f"{record.member.name} of {record.member.identity}, which is good for {record.duration:.0f} s"
            for record in self._membership.waits_for
        ]
        if waits:
            logger.warning(
                "%s: %s has not joined yet, since it waits for the Lease %s; "
                "where that replica is gone, take the holderIdentity out of its Lease",
                self._terms.name,
                self._terms.identity,
                ", and ".join(waits),
            )
        return bool(waits)

    def _tell(self, members: tuple[str, ...]) -> None:
        name, identity = self._terms.name, self._terms.identity
        if members:
            logger.info("%s: %s shares the keys as one of %s", name, identity, ", ".join(members))
            if members.count(identity) > 1:
                logger.warning(
                    "%s: %d replicas are called %s, and only one of them gets keys: give each its own Sharding(identity=...)",
                    name,
                    members.count(identity),
                    identity,
                )
        else:
            logger.info("%s: %s is no member any more", name, identity)
        self._hooks.members_changed(MembersChanged(name, identity, members))

    def _now(self) -> Moment:
        return Moment.now(self._clock)
