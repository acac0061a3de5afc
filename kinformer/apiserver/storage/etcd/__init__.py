"""A storage in a real etcd, over gRPC; needs the extra ``etcd``."""

from kinformer.apiserver.storage.etcd._access import EtcdTls, EtcdUser
from kinformer.apiserver.storage.etcd._kv import EtcdKV

__all__ = ["EtcdKV", "EtcdTls", "EtcdUser"]
