"""``kinformer run``: the controllers of a file, until interrupted."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

import anyio

from kinformer.cli._arguments import RunCommand
from kinformer.cli._complaint import Complaint
from kinformer.cli._embedded import embedded
from kinformer.cli._interruption import interruptible, say
from kinformer.cli._loading import Runnable, load, managed, select
from kinformer.cli._logging import show_log
from kinformer.cli._preflight import show
from kinformer.client import Client, Kubeconfig, ResourceClient
from kinformer.controller import Manager, serve
from kinformer.errors import ApiError, ConfigError, ForbiddenError, RequestError
from kinformer.hooks import Hooks
from kinformer.meta import Object, Resource
from kinformer.observe import ListenError
from kinformer.system_clock import SystemClock

__all__ = ["run"]

T = TypeVar("T")

_PATIENCE: Final = 5.0
"""Seconds that the server gets to answer at all, before anything is started."""


def run(command: RunCommand) -> int:
    """Run what the file has, and return 0 once interrupted.

    Raises:
        Complaint: Nothing can be run: the file, the configuration, the address or the server is not as it must be.
        Exception: What a controller failed with.
    """
    what = select(load(command.file), command.name, command.file)
    show_log(verbose=command.verbose)  # after the file, which may have configured the log itself
    manager = _manager(what, command)
    try:
        with suppress(KeyboardInterrupt):  # from the moments before and after we listen to signals
            anyio.run(partial(_run, manager, command))
    except ListenError as error:
        raise Complaint(error.strerror or str(error)) from error
    return 0


async def _run(manager: Manager, command: RunCommand) -> None:
    if manager.has_clients:
        await serve(manager)
        return
    with interruptible():  # while the controllers run, they hear the signals themselves
        async with _client(command, manager.hooks) as client:
            await _check(client)
            if command.preflight:
                show(await manager.preflight(client, namespace=command.namespace), command.file)
            names = ", ".join(controller.name for controller in manager.controllers)
            say(f"running {names} against {client.config.url}; Ctrl-C ends it\n")
            await serve(manager, client=client)


def _manager(what: Sequence[Runnable], command: RunCommand) -> Manager:
    manager = managed(what, command.file, address=command.address)
    chosen = {
        "--embedded": command.embedded,
        "--kubeconfig": command.kubeconfig,
        "--context": command.context,
        "--namespace": command.namespace,
        "--preflight": command.preflight,
    }
    given = [option for option, value in chosen.items() if value]
    if manager.has_clients and given:
        raise Complaint(
            f"the Manager in {command.file} has clients of its own, so {', '.join(given)} cannot be heeded: "
            "leave it out, or make the Manager without clients="
        )
    for controller in manager.controllers:
        for resource, scope in controller.scopes.items():
            if command.namespace and scope.namespaces not in {(), (command.namespace,)}:
                raise Complaint(
                    f"controller {controller.name} itself watches {resource} in {', '.join(scope.namespaces)}: "
                    f"--namespace {command.namespace} cannot be heeded"
                )
    return manager


@asynccontextmanager
async def _client(command: RunCommand, hooks: Hooks | None) -> AsyncIterator[Client]:
    if command.embedded:
        async with embedded() as server, _NamespacedClient(server.url, command.namespace, hooks) as client:
            say(f"{server}\nIt is empty. Bring what the controllers need, for example:\n")
            say(f"  kubectl --kubeconfig {server.kubeconfig} apply -f crd.yaml\n\n")
            yield client
        return
    config = (
        Kubeconfig(command.kubeconfig, command.context) if command.kubeconfig or command.context else None
    )
    client = _NamespacedClient(config, command.namespace, hooks)
    try:
        await client.__aenter__()
    except ConfigError as error:
        raise Complaint(str(error)) from error
    try:
        yield client
    finally:
        await client.__aexit__(None, None, None)


async def _check(client: Client) -> None:
    """See that there is a server and that it lets us in, before anything depends on it."""
    url = client.config.url
    with SystemClock().move_on_after(_PATIENCE) as scope:
        try:
            await client.request("GET", "/version")
        except ForbiddenError:
            pass  # it answers, and what we may do there is for the controllers to see
        except ApiError as error:
            raise Complaint(f"the server at {url} does not let us in: {error}") from error
        except ConfigError as error:  # credentials that cannot be sent
            raise Complaint(str(error)) from error
        except RequestError as error:
            raise Complaint(f"the server at {url} cannot be reached: {error}") from error
    if scope.cancelled_caught:
        raise Complaint(f"the server at {url} cannot be reached: no answer within {_PATIENCE:g} s")


class _NamespacedClient(Client):
    """A client whose lists and watches stay in one namespace unless they say otherwise; ``""`` for all."""

    def __init__(self, config: Kubeconfig | str | None, namespace: str, hooks: Hooks | None) -> None:
        super().__init__(config, hooks=hooks)
        self._namespace = namespace

    def resource(self, resource: Resource, model: type[Any] = Object) -> ResourceClient[Any]:
        """The verbs of one resource, in the namespace."""
        found = super().resource(resource, model)
        return found.where(namespace=self._namespace) if self._namespace and resource.namespaced else found
