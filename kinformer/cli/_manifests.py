"""``kinformer manifests``: what it takes to run the controllers of a file in a cluster, as YAML."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kinformer.cli._arguments import ManifestsCommand, is_label
from kinformer.cli._complaint import Complaint
from kinformer.cli._extras import require
from kinformer.cli._installation import Installation, as_name
from kinformer.cli._interruption import say
from kinformer.cli._loading import Runnable, load, managed, select
from kinformer.controller import EVERYWHERE, Manager
from kinformer.observe import Address

__all__ = ["manifests"]

_ADDRESS: Final = ":8080"
"""Where controllers without a manager of their own are told to answer probes."""
_LOOPBACK: Final = ("localhost", "127.", "::1")
_FOLDER: Final = "/app"


def manifests(command: ManifestsCommand) -> int:
    """Print them, and return 0.

    Raises:
        Complaint: The file has nothing that can be run, or cannot be reached by probes.
    """
    require("cli", "yaml")
    what = select(load(command.file), command.name, command.file)
    installation, remarks = _installation(command, what)
    say("".join(f"# {' '.join(remark.split())}\n" for remark in remarks) + _yaml(installation.objects()))
    return 0


def _installation(command: ManifestsCommand, what: Sequence[Runnable]) -> tuple[Installation, Sequence[str]]:
    manager = managed(what, command.file)
    is_own = isinstance(what[0], Manager)
    _check(command, manager)
    address = manager.address if is_own else _ADDRESS
    name = command.title or as_name(_title(command, manager))
    image = command.image or f"{name}:latest"
    file = f"{_FOLDER}/{command.file.name}" + (f":{command.name}" if command.name else "")
    remarks = [f"The image {image} has {command.file.name} in {_FOLDER}, and kinformer[cli]."]
    if not address:
        remarks.append("There are no probes, since the Manager has no address=; give it address=':8080'.")
    return (
        Installation(
            name,
            command.namespace or "default",
            image,
            ("kinformer", "run", file, *_options(manager, "" if is_own else address)),
            manager.permissions,
            port=_port(command, address),
            replicas=2 if manager.election or manager.sharding else 1,
            grace=manager.grace,
        ),
        remarks,
    )


def _check(command: ManifestsCommand, manager: Manager) -> None:
    """See that what a cluster would refuse is told here, where the file can be named."""
    for permission in manager.permissions:
        place = permission.namespace
        if place not in {"", EVERYWHERE} and not is_label(place):
            raise Complaint(
                f"{command.file} declares {permission.resource} in the namespace {place!r}: its name must have up to 63 "
                "lower-case letters, digits and dashes, and no dash at its ends"
            )
    if manager.grace == math.inf:
        raise Complaint(
            f"the Manager in {command.file} has grace=inf, which no pod gets: give it a number of seconds, as in grace=300"
        )


def _options(manager: Manager, address: str) -> Sequence[str]:
    """Those of ``kinformer run`` in the container; a manager with clients of its own is asked to take none."""
    preflight = () if manager.has_clients else ("--preflight",)
    return (*preflight, *(("--address", address) if address else ()))


def _title(command: ManifestsCommand, manager: Manager) -> str:
    """What the program is called: as its election or sharding, as its only controller, or else as its file."""
    contest = manager.election or manager.sharding
    if contest is not None:
        return contest.name
    return manager.controllers[0].name if len(manager.controllers) == 1 else command.file.stem


def _port(command: ManifestsCommand, address: str) -> int:
    if not address:
        return 0
    host, port = Address.parse(address)
    if host.startswith(_LOOPBACK):
        raise Complaint(
            f"the Manager in {command.file} has address={address!r}, which no probe of a cluster reaches: "
            f"leave out the host, as in address=':{port or 8080}'"
        )
    if not port:
        raise Complaint(
            f"the Manager in {command.file} has address={address!r}, a free port that no probe knows: "
            "name one, as in address=':8080'"
        )
    return port


def _yaml(objects: Iterable[Mapping[str, Any]]) -> str:
    """The objects as documents; lists of words on one line, as people write rules."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """See above."""

        def ignore_aliases(self, _: Any) -> bool:
            return True

    def represent(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
        is_flat = all(isinstance(value, str) for value in values)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_flat)

    Dumper.add_representer(list, represent)
    return yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, width=110, explicit_start=True)
