"""The watch cache between storage and the verbs."""

from kinformer.apiserver.cacher._stored import StoredObject

__all__ = ["StoredObject"]
