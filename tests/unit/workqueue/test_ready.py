import gc
import weakref

import pytest

from kinformer.workqueue import Ready


def test_keys_are_taken_in_order_of_their_first_add() -> None:
    ready = Ready[str]()
    for key in ("b", "a", "b", "c"):
        ready.add(key)
    assert [ready.take() for _ in range(len(ready))] == ["b", "a", "c"]


def test_two_adds_before_a_take_are_one_run() -> None:
    ready = Ready[str]()
    assert ready.add("x")
    assert not ready.add("x")
    assert len(ready) == 1


def test_a_key_added_while_running_cannot_be_taken_but_counts_as_depth() -> None:
    ready = Ready[str]()
    ready.add("x")
    ready.take()
    assert ready.add("x")
    assert not ready.add("x")
    assert len(ready) == 0
    assert ready.depth == 1


def test_a_key_added_while_running_is_handed_out_again_once() -> None:
    ready = Ready[str]()
    ready.add("x")
    ready.take()
    ready.add("x")
    ready.add("x")
    ready.done("x")
    assert ready.take() == "x"
    ready.done("x")
    assert len(ready) == 0
    assert ready.is_idle


def test_a_key_added_while_running_goes_behind_what_was_queued_by_then() -> None:
    ready = Ready[str]()
    ready.add("x")
    ready.take()
    ready.add("y")
    ready.add("x")
    ready.done("x")
    assert [ready.take(), ready.take()] == ["y", "x"]


@pytest.mark.parametrize("state", ["unknown", "queued", "done already"])
def test_done_of_a_key_that_nobody_holds_is_an_error_and_changes_nothing(state: str) -> None:
    ready = Ready[str]()
    if state != "unknown":
        ready.add("x")
    if state == "done already":
        ready.take()
        ready.done("x")
    before = len(ready)
    with pytest.raises(ValueError, match=r"done\('x'\): nobody holds this key"):
        ready.done("x")
    assert len(ready) == before


def test_taking_from_nothing_is_an_error() -> None:
    ready = Ready[str]()
    ready.add("x")
    ready.take()
    ready.add("x")
    with pytest.raises(LookupError, match="no key is ready"):
        ready.take()


def test_it_is_idle_only_with_nothing_queued_and_nothing_running() -> None:
    ready = Ready[str]()
    claims = [ready.is_idle]
    ready.add("x")
    claims.append(ready.is_idle)
    ready.take()
    claims.append(ready.is_idle)
    ready.done("x")
    claims.append(ready.is_idle)
    assert claims == [True, False, False, True]


def test_a_key_that_is_done_is_let_go_of() -> None:
    class Key:
        pass

    ready = Ready[Key]()
    key = Key()
    watcher = weakref.ref(key)
    ready.add(key)
    ready.done(ready.take())
    del key
    gc.collect()
    assert watcher() is None
