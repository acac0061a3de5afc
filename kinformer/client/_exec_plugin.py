"""ExecPlugin: a program that issues credentials, as a kubeconfig names it; and what it is told and answers. Pure.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from kinformer.client._issuer import Issued
from kinformer.client._tls import Certificate
from kinformer.errors import ConfigError

__all__ = ["EXTENSION", "ExecPlugin", "InteractiveMode"]

InteractiveMode = Literal["Never", "IfAvailable", "Always"]
"""Whether a plugin may talk to a person at the terminal."""

EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of a cluster whose content is for the plugin."""

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_SHOWN: Final = 500
"""How much of what a plugin complains is passed on."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """How the program is run. Arguments and environment may hold secrets, and are never shown.

    Attributes:
        command: The program: a name that is looked up in ``PATH``, or a path.
        args: Its arguments.
        env: Its environment, on top of ours.
        api_version: ``client.authentication.k8s.io/v1`` or ``/v1beta1``.
        install_hint: What to tell people who do not have the program.
        interactive: Whether it may ask the person at the terminal.
        cluster: What it is told about the cluster; ``None`` unless it wants to know (``provideClusterInfo``).
    """

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = _VERSIONS[0]
    install_hint: str = ""
    interactive: InteractiveMode = "IfAvailable"
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, fields: Mapping[str, Any], *, command: str, cluster: Mapping[str, Any]) -> "ExecPlugin":
        """Read the ``exec`` of a kubeconfig's user.

        Args:
            fields: The mapping.
            command: Its command, with a path already made absolute.
            cluster: What to tell about the cluster if it wants to know.

        Raises:
            ConfigError: A field is missing or has the wrong type; the message has its name and never its value.
        """
        try:
            read = msgspec.convert(fields, _Fields)
        except msgspec.ValidationError as error:  # its message has types and paths
            raise ConfigError(f"exec: {error}") from None
        if read.api_version not in _VERSIONS:
            raise ConfigError(
                f"exec.apiVersion {read.api_version!r} must be {' or '.join(_VERSIONS)}: "
                "ask for a newer release of the plugin"
            )
        return cls(
            command,
            tuple(read.args or ()),
            {variable.name: variable.value for variable in read.env or ()},
            read.api_version,
            (read.install_hint or "").strip(),
            read.interactive_mode or "IfAvailable",  # kubectl insists on it in v1
            cluster if read.provide_cluster_info else None,
        )

    def is_interactive(self, *, has_terminal: bool) -> bool:
        """Whether a run may ask the person at the terminal.

        Raises:
            ConfigError: It always wants to, and there is none.
        """
        if self.interactive == "Always" and not has_terminal:
            raise ConfigError(
                f"{self} wants to ask somebody at a terminal (interactiveMode Always), and there is none"
            )
        return has_terminal and self.interactive != "Never"

    def request(self, *, interactive: bool) -> str:
        """What the program finds in ``KUBERNETES_EXEC_INFO``.

        Raises:
            ConfigError: The cluster's extension holds what JSON cannot say, such as itself.
        """
        spec: dict[str, Any] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = dict(self.cluster)
        content = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        try:
            return msgspec.json.encode(content).decode()
        except (TypeError, ValueError, OverflowError, RecursionError):  # YAML can say more than JSON
            raise ConfigError(
                f"{self} is to be told what JSON cannot say: see the extension {EXTENSION}"
            ) from None

    def issued(self, output: bytes) -> Issued:
        """What the program printed, understood.

        Raises:
            ConfigError: It is no ``ExecCredential`` of the right version, or there is nothing in it to be let in with.
                What was printed is not quoted.
        """
        try:
            answer = _decode_answer(output)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ConfigError(f"{self} did not print an ExecCredential as JSON: {error}") from None
        if (answer.kind, answer.api_version) != ("ExecCredential", self.api_version):
            raise ConfigError(
                f"{self} printed {answer.kind!r} of {answer.api_version!r}, where ExecCredential of "
                f"{self.api_version!r} was asked for: correct exec.apiVersion"
            )
        status = answer.status or _Status()
        chain, key = status.client_certificate_data or "", status.client_key_data or ""
        if bool(chain) != bool(key):
            has, lacks = ("certificate", "key") if chain else ("key", "certificate")
            raise ConfigError(f"{self} printed a client {has} without its {lacks}")
        if not status.token and not chain:
            raise ConfigError(f"{self} printed neither status.token nor a client certificate with its key")
        return Issued(
            f"Bearer {status.token}" if status.token else "",
            Certificate(chain, key) if chain else None,
            status.expiration_timestamp,
        )

    def missing(self, error: OSError) -> ConfigError:
        """What to say where the program could not be started."""
        hint = f"\n\n{self.install_hint}" if self.install_hint else ": install it, or correct exec.command"
        return ConfigError(f"{self} could not be started ({error.strerror or error}){hint}")

    def failed(self, code: int, complaint: bytes) -> ConfigError:
        """What to say where the program ended badly; what it complained is passed on, without the secrets we know."""
        text = " ".join(complaint.decode(errors="replace").split())
        for secret in (*self.env.values(), *self.args):
            if len(secret) > 7:  # shorter ones are words such as "json"
                text = text.replace(secret, "[...]")
        if len(text) > _SHOWN:
            text = f"...{text[-_SHOWN:]}"
        return ConfigError(f"{self} ended with code {code}: {text or 'it printed no reason'}")

    def __str__(self) -> str:
        return f"the exec plugin {self.command!r}"


class _Variable(msgspec.Struct):
    name: str
    value: str


class _Fields(msgspec.Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: InteractiveMode | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _Answer(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


_decode_answer: Final = msgspec.json.Decoder(_Answer).decode
