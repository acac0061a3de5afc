"""LeaderElection: several replicas, of which one works."""

import re
import secrets
import socket
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Final

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller._leadership import Campaign, Leadership
from kinformer.controller._lease import LEASES, checked_place, checked_times
from kinformer.controller._permissions import Permission
from kinformer.hooks import Hooks, guarded
from kinformer.meta import ObjectKey

__all__ = ["LeaderElection"]

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST: Final = 253
"""Letters of an object's name."""


class LeaderElection:
    """Lets one of several replicas work at a time, by a Lease; for ``Manager(election=...)``, or for use by itself.

    ```python
    async with LeaderElection("my-operator").lead(client) as leadership:
        ...  # nobody else is in here
    ```

    The leader renews the Lease each retry period. Where it has not managed to for the renew deadline, its block is
    cancelled, and has the rest of the lease duration to end before anybody else may begin. The durations are client-go's.

    Args:
        name: The Lease's name; all replicas have the same, and no other program has it.
        namespace: The Lease's namespace; ``""`` is that of the pod, or of the kubeconfig's context.
        identity: What this replica is called; no two that run may be called the same. By default the host's name, which
            is the pod's, and something random. A name of yours that comes back after a crash waits until the lease of
            its earlier life has expired, since that might be somebody else's.
        lease_duration: Whole seconds for which others wait after each renewal that they see.
        renew_deadline: Seconds without a renewal after which the leader stops.
        retry_period: Seconds between two renewals, and at least those between two looks of who stands by.
        is_fenced: Whether a manager's reconcilers make sure, right before each write through ``request.client``, that the
            lease is still theirs, and fail otherwise. It counts where a machine or an event loop stood still.

    Raises:
        TypeError: A name is no text, or a duration no number.
        ValueError: A duration is out of order, or nothing can be called by such a name.
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
        for what, text in (("name", name), ("identity", identity)):
            if not isinstance(text, str):
                raise TypeError(f"{what}={text!r} must be a text")
        if len(name) > _LONGEST or not _NAME.fullmatch(name):
            raise ValueError(
                f"name={name!r}: an election needs a name, that of the Lease that all replicas share: small letters, digits, "
                f"dashes and dots, at most {_LONGEST}"
            )
        if not identity.isprintable():
            raise ValueError(f"identity={identity!r} must be a text in one line")
        checked_times(lease_duration, renew_deadline, retry_period)
        self.name: Final = name
        self.namespace: Final = checked_place(namespace)
        self.identity: Final = identity or f"{socket.gethostname()}_{secrets.token_hex(8)}"
        self.lease_duration: Final = int(lease_duration)
        self.renew_deadline: Final = float(renew_deadline)
        self.retry_period: Final = float(retry_period)
        self.is_fenced: Final = is_fenced

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the program's account needs: to make one Lease, and to read and write it."""
        return (
            Permission(LEASES, ("create",), self.namespace),
            Permission(LEASES, ("get", "update"), self.namespace, (self.name,)),
        )

    def lead(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> AbstractAsyncContextManager[Leadership]:
        """Wait until this replica is the leader; the block runs while it is.

        When the block ends, however it does, the lease is released for the next, and not before. So what works in the
        block must have ended with it: run tasks in a task group inside. A lease that went to another meanwhile is left
        alone; a server that cannot be reached is given up on after half the renew deadline, and the lease expires.

        Args:
            client: The client of the cluster that has the Lease.
            clock: The time; by default the client's.
            random: Spreads the tries of those who stand by.
            hooks: Hear of each beginning and end.

        Raises:
            LeadershipLostError: From the end of the block: it was cancelled, since somebody else may lead.
        """
        key = ObjectKey(self.namespace or client.config.namespace, self.name)
        return Campaign(
            self,
            key,
            client.resource(LEASES).without_retries(),
            clock=clock or client.clock,
            random=random or Random(),  # noqa: S311 -- jitter, no secret
            hooks=guarded(hooks),
        ).lead()

    def __repr__(self) -> str:
        return f"<LeaderElection {self.name} of {self.identity}>"
