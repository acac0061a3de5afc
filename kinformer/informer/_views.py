"""Views: what people are given for a record: a handle, or an object of a model."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from kinformer.meta import Object, Record, check_model

__all__ = ["Views"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Views(Generic[T]):
    """Makes views of one model.

    Each is made afresh, for one handler and one notification, or for one call of a lister, and nothing is kept: so
    what its holder does to it, be it past the wrappers or in a model that is not frozen, nobody else sees.

    Raises:
        TypeError: It is no model.
    """

    model: type[T]

    def __post_init__(self) -> None:
        check_model(self.model)

    def of(self, record: Record) -> T:
        """A new view of a record.

        Raises:
            DecodeError: The object does not fit the model.
        """
        return Object(record).decode(self.model)
