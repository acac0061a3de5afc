"""Sharding: several replicas that share the keys, each key in the hands of one."""

import re
import socket
from contextlib import AbstractAsyncContextManager
from random import Random, SystemRandom
from typing import Final

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller._lease import LEASES, checked_place, checked_times
from kinformer.controller._permissions import Permission
from kinformer.controller._shard import Enrolment, Shard
from kinformer.hooks import Hooks, guarded

__all__ = ["Sharding"]

_LONGEST: Final = 63
"""Letters of a name, since it is the value of a label, and of an identity: both are parts of a Lease's name."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class Sharding:
    """Shares the keys among all replicas that run, by a Lease of each; for ``Manager(sharding=...)``, or for use by itself.

    ```python
    async with Sharding("my-operator").join(client) as shard:
        ...  # shard.enter(key) says whether to work on a key, shard.leave(key) that this has ended
    ```

    Which replica has a key is decided by consistent hashing of its namespace and name, so that one which comes or goes moves
    only keys from or to itself. A key moves when nobody works on it any more: whoever has to give it away finishes
    first, and the other one waits. A replica that cannot renew its Lease for the renew deadline is cancelled, and has
    the rest of the lease duration to end before its keys go to others. Clocks may differ by any time.

    Args:
        name: The group's name, which all replicas have, and no other program: letters, digits and dashes, at most 63.
            The Leases are called by it, and bear the label ``kinformer.dev/sharding`` with it.
        namespace: The Leases' namespace; ``""`` is that of the pod, or of the kubeconfig's context.
        identity: What this replica is called, likewise written. By default the host's name, which is the pod's. Of two that
            run under one identity only one gets keys.
        lease_duration: Whole seconds for which others wait after each renewal that they see.
        renew_deadline: Seconds without a renewal after which this replica stops.
        retry_period: Seconds between two renewals, before each of which all Leases of the group are read. A key takes two
            of them to move.
        is_fenced: Whether a manager's reconcilers make sure, right before each write through ``request.client``, that the
            Lease is still good, and fail otherwise. It counts where a machine or an event loop stood still.

    Raises:
        TypeError: A name is no text, or a duration no number.
        ValueError: A duration is out of order, or a name cannot be part of a Lease's.
    """

    def __init__(
        self,
        name: str,
        *,
        namespace: str = "",
        identity: str = "",
        lease_duration: int = 15,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        is_fenced: bool = True,
    ) -> None:
        checked_times(lease_duration, renew_deadline, retry_period)
        self.name: Final = _checked("name", name)
        self.namespace: Final = checked_place(namespace)
        self.identity: Final = _checked("identity", identity or _host())
        self.lease_duration: Final = int(lease_duration)
        self.renew_deadline: Final = float(renew_deadline)
        self.retry_period: Final = float(retry_period)
        self.is_fenced: Final = is_fenced

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the program's account needs: to read and write the Leases of all members, whose names are not known before."""
        return (Permission(LEASES, ("create", "delete", "get", "list", "update"), self.namespace),)

    def join(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> AbstractAsyncContextManager[Shard]:
        """Wait until all others have made room for this replica; the block runs while it is a member.

        That takes two or three retry periods, or the lease duration where a member has died just before. When the block
        ends, however it does, the Lease is released, and the others take the keys at their next look. So what works in
        the block must have ended with it: run tasks in a task group inside.

        Args:
            client: The client of the cluster that has the Leases.
            clock: The time; by default the client's.
            random: A part of the Lease's name is drawn from it, by which it is told from any that there was: one with a
                seed is for tests.
            hooks: Hear of each change of the members.

        Raises:
            MembershipLostError: From the end of the block: it was cancelled, since others may have the keys.
        """
        return Enrolment(
            self,
            self.namespace or client.config.namespace,
            client.resource(LEASES).without_retries(),
            clock=clock or client.clock,
            random=random or SystemRandom(),
            hooks=guarded(hooks),
        ).join()

    def __repr__(self) -> str:
        return f"<Sharding {self.name} of {self.identity}>"


def _checked(what: str, name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what}={name!r} must be a text")
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise ValueError(
            f"{what}={name!r} must be small letters, digits and dashes, at most {_LONGEST}: a Lease is called by it"
        )
    return name


def _host() -> str:
    """The host's name as a Lease may have it."""
    return re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:_LONGEST].strip("-") or "host"
