"""Each key in at most one pair of hands.

``WorkQueue`` is what workers and event handlers meet at. Its parts decide and never wait: ``Ready`` (what can be taken,
what is held), ``Delayed`` (what comes later), and the limiters (how long a failure waits).
"""

from kinformer.workqueue._defaults import client_go_default, controller_default
from kinformer.workqueue._delayed import Delayed
from kinformer.workqueue._limits import ExponentialLimiter, Limiter, MaxWait, SlowestOf, TokenBucket
from kinformer.workqueue._ready import Ready
from kinformer.workqueue._workqueue import Lease, ReadyKeys, WorkQueue

__all__ = [
    "Delayed",
    "ExponentialLimiter",
    "Lease",
    "Limiter",
    "MaxWait",
    "Ready",
    "ReadyKeys",
    "SlowestOf",
    "TokenBucket",
    "WorkQueue",
    "client_go_default",
    "controller_default",
]
