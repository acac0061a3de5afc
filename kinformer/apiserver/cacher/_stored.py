"""StoredObject: an object on its way out, serialised once for everybody."""

from typing import Any, Final, Self

import msgspec

__all__ = ["StoredObject"]

# Only the server itself writes what is stored, with kind and apiVersion first, so the first such mark is the right one.
_METADATA: Final = b',"metadata":{'


class StoredObject:
    """An object as clients see it: with kind, apiVersion and resourceVersion.

    It is made from stored bytes, which lack the version, by splicing the version in; nothing is decoded until somebody
    asks for ``content``. It is shared between requests and watchers: read it, never change it.
    """

    __slots__ = ("_content", "_head", "_json", "_tail", "version")

    def __init__(self, stored: bytes, version: int, *, kind: str, api_version: str) -> None:
        """Take up ``stored`` bytes (made by ``encode``) in the form of ``api_version``.

        Args:
            stored: What the storage holds.
            version: The revision to stamp on it; 0 stamps none (the answer to a dry-run create).
            kind: The kind to show.
            api_version: The version to show; nothing but this field is converted.
        """
        self.version = version
        self._head = f'"kind":"{kind}","apiVersion":"{api_version}"'.encode()
        at = stored.index(_METADATA) + len(_METADATA)
        comma = b"" if stored[at : at + 1] == b"}" else b","
        stamp = b'"resourceVersion":"%d"' % version + comma if version else b""
        self._tail = b'"metadata":{' + stamp + stored[at:]
        self._json: bytes | None = None
        self._content: dict[str, Any] | None = None

    @classmethod
    def of(cls, content: dict[str, Any], version: int = 0) -> Self:
        """Make one from content: what is shown but not stored in this form, such as a ``Scale``."""
        return cls(cls.encode(content), version, kind=content["kind"], api_version=content["apiVersion"])

    @staticmethod
    def encode(content: dict[str, Any]) -> bytes:
        """The bytes to store: kind, apiVersion and metadata first, no resourceVersion."""
        metadata = {key: value for key, value in content["metadata"].items() if key != "resourceVersion"}
        first = {"kind": content["kind"], "apiVersion": content["apiVersion"], "metadata": metadata}
        return msgspec.json.encode({**first, **{k: v for k, v in content.items() if k not in first}})

    @property
    def json(self) -> bytes:
        """The whole object."""
        if self._json is None:
            self._json = b"{" + self._head + b"," + self._tail
        return self._json

    @property
    def item(self) -> bytes:
        """The object without kind and apiVersion, as lists of built-in kinds show it."""
        return b"{" + self._tail

    @property
    def content(self) -> dict[str, Any]:
        """The whole object, decoded; shared, so it must not be changed."""
        if self._content is None:
            decoded: dict[str, Any] = msgspec.json.decode(self.json)
            self._content = decoded
        return self._content

    def __repr__(self) -> str:
        metadata = self.content["metadata"]
        return f"<{self.content['kind']} {metadata.get('namespace', '')}/{metadata.get('name')} at {self.version}>"
