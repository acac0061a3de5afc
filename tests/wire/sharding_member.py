"""One of several processes that share the keys of a controller; run by ``test_sharding``. It tells of each reconcile.

Usage: python sharding_member.py URL IDENTITY
"""

import sys
from contextlib import suppress

import anyio

from kinformer.client import Client
from kinformer.controller import Controller, Manager, Request, RequeueAfter, Sharding
from kinformer.errors import MembershipLostError
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock

CLOCK = SystemClock()


def tell(what: str, request: Request) -> None:
    sys.stdout.write(f"{what} {request.key.name} {CLOCK.monotonic()}\n")
    sys.stdout.flush()


async def reconcile(request: Request) -> RequeueAfter:
    tell("begin", request)
    try:
        await CLOCK.sleep(0.02)
    finally:
        tell("end", request)
    return RequeueAfter(0.1)


async def main(url: str, identity: str) -> None:
    controller = Controller("maps", reconcile).watches(Resource.builtin("ConfigMap"), namespaces=["default"])
    sharding = Sharding("maps", identity=identity, lease_duration=2, renew_deadline=1.5, retry_period=0.15)
    async with Client(url) as client:
        while True:  # as a pod that is restarted
            with suppress(MembershipLostError):
                await Manager(controller, clients=client, sharding=sharding, grace=1).run()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
