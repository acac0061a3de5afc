"""Views: what people are given for a record: a handle, or an object of a model."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from kinformer.meta import Object, Record

__all__ = ["Views"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Views(Generic[T]):
    """Makes views of one model.

    Each is made afresh, for one handler and one notification, or for one call of a lister, and nothing is kept: so
    what its holder does to it, be it past the wrappers or in a model that is not frozen, nobody else sees.
    """

    model: type[T]

    def of(self, record: Record) -> T:
        """A new view of a record.

        Raises:
            DecodeError: The object does not fit the model.
        """
        return Object(record).decode(self.model)
