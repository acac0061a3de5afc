"""Where a watch begins: the table of ``Cacher.Watch`` (``k8s.io/apiserver/pkg/storage/cacher``) as plain functions."""

from dataclasses import dataclass, replace

__all__ = ["Beginning"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a client said about where its watch is to begin.

    Attributes:
        version: The revision; ``None`` where none was given, 0 for any.
        initial_events: Whether the present state is to come first; ``None`` where the client did not say, which means yes
            without a revision or with 0, but promises no bookmark behind it, nor that the state is the latest.
    """

    version: int | None = None
    initial_events: bool | None = None

    def defaulted(self) -> "Beginning":
        """The same where the server can promise the latest: without a revision, or with 0, the client gets a watch-list.

        That is ``SetListOptionsDefaults`` (apimachinery), with the feature WatchList.
        """
        if self.initial_events is None and not self.version:
            return replace(self, initial_events=True)
        return self

    @property
    def has_state(self) -> bool:
        """Whether the present state comes first."""
        return not self.version if self.initial_events is None else self.initial_events

    @property
    def needs_latest(self) -> bool:
        """Whether it begins with the revision that the storage is at when the request comes."""
        return self.version is None and self.initial_events is not None

    @property
    def ends_with_bookmark(self) -> bool:
        """Whether a bookmark ends the initial events, for who wants bookmarks at all."""
        return bool(self.initial_events)

    def since(self, latest: int, known: int) -> int:
        """The revision behind which changes are told, where no state comes first.

        Args:
            latest: What the storage is at, if it was asked.
            known: What the cache is at.
        """
        if self.version is None:
            return latest
        return self.version or known
