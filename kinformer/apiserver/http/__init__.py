"""The ASGI application: paths, discovery, negotiation, errors."""

from kinformer.apiserver.http._about import SERVER_VERSION
from kinformer.apiserver.http._app import Application
from kinformer.apiserver.http._kubeconfig import kubeconfig_text, write_kubeconfig
from kinformer.apiserver.http._serving import Endpoint, serve

__all__ = ["SERVER_VERSION", "Application", "Endpoint", "kubeconfig_text", "serve", "write_kubeconfig"]
