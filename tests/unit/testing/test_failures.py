from kinformer.hooks import KeyAdded, NoHooks, ReconcileFinished, ReconcileResult
from kinformer.meta import ObjectKey
from kinformer.testing._failures import Failures

A, B = ObjectKey("default", "a"), ObjectKey("default", "b")


class Depths(NoHooks):
    def __init__(self) -> None:
        self.depths: list[int] = []

    def key_added(self, event: KeyAdded, /) -> None:
        self.depths.append(event.depth)


def finished(key: ObjectKey, error: Exception | None = None) -> ReconcileFinished:
    result = ReconcileResult.ERROR if error else ReconcileResult.SUCCESS
    return ReconcileFinished("c", key, result, 0.1, error)


def test_the_last_failure_of_each_key_is_kept_until_a_success() -> None:
    failures = Failures(None)
    for error in (ValueError("first"), ValueError("second")):
        failures.reconcile_finished(finished(A, error))
    failures.reconcile_finished(finished(B, KeyError("other")))
    assert (
        str(failures)
        == "reconciles failed:\n  c, default/a: ValueError('second')\n  c, default/b: KeyError('other')"
    )
    assert isinstance(failures.last, KeyError)
    failures.reconcile_finished(finished(B))
    failures.reconcile_finished(finished(A))
    assert str(failures) == ""
    assert failures.last is None


def test_what_it_does_not_hear_itself_is_passed_on() -> None:
    depths = Depths()
    Failures(depths).key_added(KeyAdded(queue="q", depth=3))
    assert depths.depths == [3]
