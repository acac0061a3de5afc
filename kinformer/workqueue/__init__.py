"""Each key in at most one pair of hands.

``WorkQueue`` is what workers and event handlers meet at. Its parts decide and never wait: ``Ready`` and
``PriorityReady`` (what can be taken, what is held, in which order), ``Delayed`` (what comes later), and the limiters
(how long a failure waits).
"""

# the queue
# how long a failure waits
from kinformer.workqueue._attempts import MaxAttempts, TimedRetries

# which key is next, and which comes later
from kinformer.workqueue._contracts import ReadyKeys
from kinformer.workqueue._defaults import client_go_default, controller_default
from kinformer.workqueue._delayed import Delayed
from kinformer.workqueue._lease import Lease
from kinformer.workqueue._limits import ExponentialLimiter, FastSlow, Limiter, MaxWait, SlowestOf, TokenBucket
from kinformer.workqueue._priority_ready import LOW_PRIORITY, PriorityReady
from kinformer.workqueue._ready import Ready

# what it holds
from kinformer.workqueue._snapshot import DelayedKey, Gauges, ParkedKey, ReadyKey, RunningKey, Snapshot
from kinformer.workqueue._workqueue import WorkQueue

__all__ = [
    "LOW_PRIORITY",
    "Delayed",
    "DelayedKey",
    "ExponentialLimiter",
    "FastSlow",
    "Gauges",
    "Lease",
    "Limiter",
    "MaxAttempts",
    "MaxWait",
    "ParkedKey",
    "PriorityReady",
    "Ready",
    "ReadyKey",
    "ReadyKeys",
    "RunningKey",
    "SlowestOf",
    "Snapshot",
    "TimedRetries",
    "TokenBucket",
    "WorkQueue",
    "client_go_default",
    "controller_default",
]
