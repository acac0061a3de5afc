"""Speak HTTP to an apiserver: find it, read, watch and write its objects.

``Client`` is one cluster, ``ResourceClient`` the verbs of one resource in it.
"""

from kinformer.client._body import Body
from kinformer.client._calls import Call, FieldValidation, PatchKind, Propagation
from kinformer.client._catalog import Catalog, ServedResource
from kinformer.client._claims import is_deleted
from kinformer.client._client import Client
from kinformer.client._config import Config, load_config
from kinformer.client._conflicts import retry_on_conflict
from kinformer.client._credentials import Anonymous, BasicAuth, BearerToken, Credentials, TokenFile
from kinformer.client._filters import Fields, Labels
from kinformer.client._impersonation import Impersonation
from kinformer.client._kubeconfig import Kubeconfig
from kinformer.client._kubernetes_asyncio import KubernetesAsyncioSource
from kinformer.client._mapper import Mapper
from kinformer.client._rate_limit import RateLimit
from kinformer.client._reader import ResourceReader
from kinformer.client._resource import ResourceClient
from kinformer.client._tls import Certificate, Certificates, Tls
from kinformer.client._waiting import wait_for
from kinformer.client._witness import Witness

__all__ = [
    "Anonymous",
    "BasicAuth",
    "BearerToken",
    "Body",
    "Call",
    "Catalog",
    "Certificate",
    "Certificates",
    "Client",
    "Config",
    "Credentials",
    "FieldValidation",
    "Fields",
    "Impersonation",
    "Kubeconfig",
    "KubernetesAsyncioSource",
    "Labels",
    "Mapper",
    "PatchKind",
    "Propagation",
    "RateLimit",
    "ResourceClient",
    "ResourceReader",
    "ServedResource",
    "Tls",
    "TokenFile",
    "Witness",
    "is_deleted",
    "load_config",
    "retry_on_conflict",
    "wait_for",
]
