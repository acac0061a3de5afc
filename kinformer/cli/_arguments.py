"""The arguments of the command line, from text to one frozen command."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from kinformer.cli._complaint import Complaint
from kinformer.observe import Address

__all__ = [
    "ApiserverCommand",
    "Command",
    "DemoCommand",
    "ManifestsCommand",
    "RunCommand",
    "is_label",
    "parse",
]


@dataclass(frozen=True, slots=True)
class DemoCommand:
    """``kinformer demo``."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """``kinformer run``; empty text means that the option was not given."""

    file: Path
    name: str = ""
    embedded: bool = False
    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    verbose: bool = False
    address: str = ""
    preflight: bool = False


@dataclass(frozen=True, slots=True)
class ManifestsCommand:
    """``kinformer manifests``; ``title`` is what the objects are called. Empty text means that the option was not given."""

    file: Path
    name: str = ""
    title: str = ""
    namespace: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class ApiserverCommand:
    """``kinformer apiserver``; port 0 means any free one, no path means a file of our own, and no etcd means in memory.

    ``rbac`` brings ``tls`` with it, since kubectl sends no token without.
    """

    port: int = 0
    write_kubeconfig: Path | None = None
    verbose: bool = False
    etcd: str = ""
    tls: bool = False
    rbac: bool = False


Command: TypeAlias = DemoCommand | RunCommand | ManifestsCommand | ApiserverCommand

_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

_ABOUT: Final = """\
Controllers for Kubernetes in Python.

Try it without a cluster:
  kinformer demo

Run a controller of yours:
  kinformer run website.py                 against the current context of your kubeconfig
  kinformer run website.py --embedded      against an apiserver inside this process

Install it in a cluster:
  kinformer manifests website.py --image registry.example/website:1 | kubectl apply -f -
"""

_DEMO: Final = """\
Start an apiserver inside this process, let a controller keep Websites in order while they are created, changed,
broken and deleted, and show each step. Takes some seconds; needs the extras apiserver and cli, and no cluster.

Exit codes: 0 the world converged; 1 it did not, and what is missing was printed; 130 interrupted.
"""

_RUN: Final = """\
Run the controllers of a Python file until interrupted. The file is imported as a module, so that what stands under
'if __name__ == "__main__":' does not run. What runs is NAME, a Controller or a Manager; without NAME the file's one
Manager, else all its Controllers.

Exit codes: 0 interrupted, by Ctrl-C, SIGTERM or SIGHUP; 1 a controller failed; 2 nothing could be started, and why.
"""

_RUN_EXAMPLES: Final = """\
examples:
  kinformer run website.py                        the current context, or the pod's own cluster
  kinformer run website.py:controller             only this one
  kinformer run website.py --context staging --namespace shop
  kinformer run website.py --embedded             try it out; kubectl can talk to it, too
"""

_MANIFESTS: Final = """\
Print what it takes to run the controllers of a Python file in a cluster, as YAML: an account, roles with no more
rights than the controllers declare use for, bindings, and a Deployment with probes. FILE[:NAME] is as for 'run'.

Exit codes: 0 printed; 2 it could not be, and why.
"""

_MANIFESTS_EXAMPLES: Final = """\
examples:
  kinformer manifests website.py --image registry.example/website:1 > website.yaml
  kinformer manifests website.py --namespace websites | kubectl apply -f -
"""

_APISERVER: Final = """\
Serve an apiserver on the loopback interface until interrupted, and print where its kubeconfig is. It keeps its
objects in memory, and then they are gone when it ends, or in an etcd, which several may share.

Exit codes: 0 interrupted, by Ctrl-C, SIGTERM or SIGHUP; 2 it could not be started, and why.
"""

_APISERVER_EXAMPLES: Final = """\
examples:
  kinformer apiserver --port 8001
  kinformer apiserver --write-kubeconfig ./kubeconfig &
  kubectl --kubeconfig ./kubeconfig get namespaces
  kinformer apiserver --storage etcd://127.0.0.1:2379
  kinformer apiserver --rbac                      roles count; the kubeconfig is that of an administrator
"""


def parse(arguments: Sequence[str], *, version: str) -> Command:
    """Read the arguments that follow the program's name.

    Raises:
        Complaint: They make no command.
        SystemExit: ``--help`` or ``--version`` was asked for, and printed.
    """
    found = _parser(version).parse_args(arguments)
    match found.command:
        case "demo":
            return DemoCommand()
        case "run":
            return _run(found)
        case "manifests":
            file, name = _split(found.file)
            return ManifestsCommand(file, name, found.name or "", found.namespace or "", found.image or "")
        case "apiserver":
            path = Path(found.write_kubeconfig) if found.write_kubeconfig else None
            return ApiserverCommand(
                found.port, path, found.verbose, found.storage, found.tls or found.rbac, found.rbac
            )
        case other:
            raise AssertionError(f"the parser let {other!r} pass")


def _run(found: argparse.Namespace) -> RunCommand:
    if found.embedded and (found.kubeconfig or found.context):
        raise Complaint("--embedded brings its own server: leave out --kubeconfig and --context")
    file, name = _split(found.file)
    return RunCommand(
        file=file,
        name=name,
        embedded=found.embedded,
        kubeconfig=found.kubeconfig,
        context=found.context,
        namespace=found.namespace or "",
        verbose=found.verbose,
        address=found.address or "",
        preflight=found.preflight,
    )


def _split(text: str) -> tuple[Path, str]:
    r"""``FILE:NAME`` or ``FILE``; a colon that no name follows, as in ``C:\web.py``, belongs to the file."""
    file, colon, name = text.rpartition(":")
    if colon and file and name.isidentifier():
        return Path(file), name
    return Path(text), ""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Room for our longest option, so that each stands in one line with its help."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **(options | {"max_help_position": 30, "width": 110}))


class _Parser(argparse.ArgumentParser):
    """Texts as we wrote them, options in full, and one line for an error where argparse prints its usage, too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise Complaint(f"{message}; see {self.prog} --help")


def _parser(version: str) -> _Parser:
    parser = _Parser(prog="kinformer", description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"kinformer {version}")
    commands = parser.add_subparsers(dest="command", required=True, title="commands")
    commands.add_parser("demo", help="see a controller at work, without a cluster", description=_DEMO)
    run = commands.add_parser(
        "run", help="run the controllers of a file", description=_RUN, epilog=_RUN_EXAMPLES
    )
    run.add_argument("file", metavar="FILE[:NAME]", help="a Python file, and what of it to run")
    run.add_argument("--embedded", action="store_true", help="against an apiserver inside this process")
    run.add_argument(
        "--kubeconfig", metavar="PATH", default="", help="instead of $KUBECONFIG or ~/.kube/config"
    )
    run.add_argument("--context", metavar="NAME", default="", help="instead of the kubeconfig's current one")
    run.add_argument(
        "--namespace",
        metavar="NAME",
        type=_namespace,
        help="watch this namespace only, instead of all",
    )
    run.add_argument(
        "--address",
        metavar="[HOST]:PORT",
        type=_address,
        help="serve /healthz, /readyz and /metrics there",
    )
    run.add_argument(
        "--preflight",
        action="store_true",
        help="first show which permissions are granted, and what the caches will take",
    )
    run.add_argument("-v", "--verbose", action="store_true", help="log each transition")
    manifests = commands.add_parser(
        "manifests",
        help="print what installs a file in a cluster",
        description=_MANIFESTS,
        epilog=_MANIFESTS_EXAMPLES,
    )
    manifests.add_argument("file", metavar="FILE[:NAME]", help="a Python file, and what of it is to be run")
    manifests.add_argument(
        "--name", metavar="NAME", type=_label, help="of the objects; by default what the controller is called"
    )
    manifests.add_argument(
        "--namespace", metavar="NAME", type=_namespace, help="where it is to run, instead of default"
    )
    manifests.add_argument(
        "--image",
        metavar="IMAGE",
        type=_image,
        help="the container image; by default NAME:latest",
    )
    apiserver = commands.add_parser(
        "apiserver", help="serve an apiserver on loopback", description=_APISERVER, epilog=_APISERVER_EXAMPLES
    )
    apiserver.add_argument("--port", metavar="N", type=_port, default=0, help="instead of any free one")
    apiserver.add_argument(
        "--write-kubeconfig",
        metavar="PATH",
        default="",
        help="where the kubeconfig goes (mode 0600); a file that kinformer did not write is left alone",
    )
    apiserver.add_argument(
        "--storage",
        metavar="WHERE",
        type=_storage,
        default="memory",
        help=(
            "memory, which is the default, or etcd://HOST:PORT, or etcds://HOST:PORT with TLS; ETCDCTL_CACERT, ETCDCTL_CERT, "
            "ETCDCTL_KEY, ETCDCTL_USER and ETCDCTL_PASSWORD are as for etcdctl"
        ),
    )
    apiserver.add_argument("--tls", action="store_true", help="speak HTTPS; the kubeconfig has what to trust")
    apiserver.add_argument(
        "--rbac",
        action="store_true",
        help="ask for tokens and let roles decide, instead of letting all do all",
    )
    apiserver.add_argument("-v", "--verbose", action="store_true", help="log each request")
    return parser


def is_label(text: str) -> bool:
    """Whether a namespace, or an object that wants a plain name, can be called so (RFC 1123)."""
    return _LABEL.fullmatch(text) is not None


def _port(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)


def _address(text: str) -> str:
    try:
        Address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _label(text: str) -> str:
    if not is_label(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name: it has up to 63 lower-case letters, digits and dashes, and no dash at its ends"
        )
    return text


def _storage(text: str) -> str:
    """The address of an etcd, with ``etcds://`` before it where it speaks TLS; empty for memory."""
    if text == "memory":
        return ""
    scheme, _, address = text.rpartition("://")
    host, colon, port = address.rpartition(":")
    if scheme not in {"etcd", "etcds"} or not (host and colon and port.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no storage: give memory, or etcd://HOST:PORT as in etcd://127.0.0.1:2379"
        )
    return address if scheme == "etcd" else text


def _namespace(text: str) -> str:
    if not is_label(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no namespace: it has up to 63 lower-case letters, digits and dashes, and no dash at its ends"
        )
    return text


def _image(text: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no image: give its name without spaces, as in registry.example/website:1"
        )
    return text
