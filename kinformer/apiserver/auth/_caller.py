"""Caller: who asks, and by which policy; what a request carries with it to be judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kinformer.apiserver.auth._access import Access, ResourceAccess, refused
from kinformer.apiserver.auth._policy import RBAC, Policy
from kinformer.apiserver.auth._rules import Rule, missing
from kinformer.apiserver.auth._users import User
from kinformer.apiserver.registry import StatusError

__all__ = ["Caller"]

_ROLES: Final = {"roles", "clusterroles"}
_PASSING: Final = {"finalizers", "ownerReferences", "managedFields", "resourceVersion", "generation"}
_BINDINGS: Final = {"rolebindings", "clusterrolebindings"}


@dataclass(frozen=True, slots=True)
class Caller:
    """A user, and the policy that held when the request came; it is the request's to the end, a watch's too."""

    user: User
    policy: Policy

    def may(self, access: Access) -> str:
        """Why this is allowed; ``""`` where it is not."""
        return self.policy.granted(self.user, access)

    def require(self, access: Access) -> None:
        """See that this is allowed.

        Raises:
            StatusError: 403, it is not.
        """
        if not self.may(access):
            raise refused(self.user, access)

    def check_write(
        self, access: ResourceAccess, old: Mapping[str, Any] | None, new: Mapping[str, Any]
    ) -> None:
        """See that what an allowed write is about to store may be stored by this user.

        Who creates an object by an update or a patch must be allowed to create. Who writes a role must have what it gives, or the
        verb ``escalate``; who binds one must have what it gives, or the verb ``bind``. A label of a role counts too, since others
        may gather it by that; what the garbage collector changes does not.
        https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping

        Args:
            access: What was allowed.
            old: What is stored; ``None`` where the object is new.
            new: What is to be stored.

        Raises:
            StatusError: 403, it may not; 404, there is no such role to bind.
        """
        if old is None and access.verb in {"update", "patch"}:
            self.require(replace(access, verb="create"))
        if (
            access.group != RBAC
            or self.user.is_master
            or (old is not None and _lasting(old) == _lasting(new))
        ):
            return
        name = new["metadata"].get("name", "")
        if access.resource in _ROLES:
            if not self.may(replace(access, verb="escalate", name=name)):
                self._check_held(access, name, _given(new, gathers=_gathers(new) or _gathers(old or {})))
        elif access.resource in _BINDINGS:
            role = new.get("roleRef") or {}
            kind = "clusterroles" if role.get("kind") == "ClusterRole" else "roles"
            bind = ResourceAccess("bind", RBAC, kind, "", access.namespace, role.get("name", ""))
            if not self.may(bind):
                if not self.policy.knows(role, access.namespace):
                    raise _no_role(bind)  # nobody knows yet what it is going to give
                self._check_held(access, name, self.policy.rules_in(role, access.namespace))

    def _check_held(self, access: ResourceAccess, name: str, given: Sequence[Rule]) -> None:
        lacking = missing(self.policy.rules_of(self.user, access.namespace), given)
        if not lacking:
            return
        groups = ", ".join(f'"{group}"' for group in self.user.groups)
        text = (
            f'user "{self.user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
            + "\n".join(sorted(map(str, lacking)))
        )
        raise StatusError(
            403,
            "Forbidden",
            f'{access.resource}.{RBAC} "{name}" is forbidden: {text}',
            details={"name": name, "group": RBAC, "kind": access.resource},
        )


def _given(role: Mapping[str, Any], *, gathers: bool) -> Sequence[Rule]:
    """What a role gives; one that gathers others could come to give everything, or keep others from that."""
    everything = (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))
    return (*(Rule.of(rule) for rule in role.get("rules") or ()), *(everything if gathers else ()))


def _gathers(role: Mapping[str, Any]) -> bool:
    return bool(role.get("aggregationRule"))


def _lasting(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """All but what the garbage collector changes, and what the server itself writes down."""
    metadata = {key: value for key, value in content["metadata"].items() if key not in _PASSING}
    return {**content, "metadata": metadata}


def _no_role(bind: ResourceAccess) -> StatusError:
    text = f'{bind.resource}.{RBAC} "{bind.name}" not found'
    details = {"name": bind.name, "group": RBAC, "kind": bind.resource}
    return StatusError(404, "NotFound", text, details=details)
