"""Which reconcile the code that runs belongs to."""

from contextvars import ContextVar
from typing import Final, NamedTuple

__all__ = ["Reconciling", "reconciling"]


class Reconciling(NamedTuple):
    """One call of a reconciler.

    Attributes:
        controller: Its name.
        cluster: Which of the manager's clients it is about, ``""`` where there is only one.
        key: The object, as ``namespace/name``.
        reconcile_id: Of this call and no other; also in ``Request``, in hooks and in spans.
        attempt: 1, or one more than the failures in a row of this key.
    """

    controller: str
    cluster: str
    key: str
    reconcile_id: str
    attempt: int


reconciling: Final[ContextVar[Reconciling | None]] = ContextVar("reconciling", default=None)
"""The call that the present code belongs to, in its tasks and threads too; None outside of any."""
