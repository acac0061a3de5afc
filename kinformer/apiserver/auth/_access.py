"""Access: what somebody wants to do, as rules are asked about it (rules A-5, H-5)."""

from dataclasses import dataclass

from kinformer.apiserver.auth._users import User
from kinformer.apiserver.registry import StatusError

__all__ = ["Access", "PathAccess", "ResourceAccess", "refused"]


@dataclass(frozen=True, slots=True)
class ResourceAccess:
    """Something that is done to resources.

    Attributes:
        verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``, or one of those
            that only authorization knows, such as ``impersonate``.
        group: The API group; ``""`` is core.
        resource: The plural name.
        subresource: The subresource; ``""`` for the object itself.
        namespace: The namespace; ``""`` for all of them, or none.
        name: The object's name; ``""`` where none is named.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def combined(self) -> str:
        """The resource as rules name it, such as ``pods/log``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def __str__(self) -> str:
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'{self.verb} resource "{self.combined}" in API group "{self.group}" {where}'


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A request outside of the resources, such as for ``/version``; the verb is the HTTP method in lower case."""

    verb: str
    path: str

    def __str__(self) -> str:
        return f'{self.verb} path "{self.path}"'


Access = ResourceAccess | PathAccess


def refused(user: User, access: Access) -> StatusError:
    """403, in the words of the real server."""
    text = f'User "{user.name}" cannot {access}'
    if isinstance(access, PathAccess):
        return StatusError(403, "Forbidden", f"forbidden: {text}", details={})
    qualified = f"{access.resource}.{access.group}" if access.group else access.resource
    named = f' "{access.name}"' if access.name else ""
    members = {"name": access.name, "group": access.group, "kind": access.resource}
    details = {key: value for key, value in members.items() if value}
    return StatusError(403, "Forbidden", f"{qualified}{named} is forbidden: {text}", details=details)
