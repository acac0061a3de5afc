"""Who comes, and what they may do: bearer tokens, and role-based access control."""

from kinformer.apiserver.auth._access import Access, PathAccess, ResourceAccess, refused
from kinformer.apiserver.auth._caller import Caller
from kinformer.apiserver.auth._guard import Guard
from kinformer.apiserver.auth._policy import RBAC, Policy
from kinformer.apiserver.auth._rbac import Rbac
from kinformer.apiserver.auth._rules import Rule
from kinformer.apiserver.auth._users import User

__all__ = [
    "RBAC",
    "Access",
    "Caller",
    "Guard",
    "PathAccess",
    "Policy",
    "Rbac",
    "ResourceAccess",
    "Rule",
    "User",
    "refused",
]
