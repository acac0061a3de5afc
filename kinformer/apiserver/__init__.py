"""The embedded apiserver: Kubernetes' wire format over HTTP or in memory, small enough to start inside a test."""

from kinformer.apiserver._server import ApiServer
from kinformer.apiserver.auth import Rbac, User
from kinformer.apiserver.cacher import CacheOptions, Cacher
from kinformer.apiserver.http import Endpoint

__all__ = ["ApiServer", "CacheOptions", "Cacher", "Endpoint", "Rbac", "User"]
