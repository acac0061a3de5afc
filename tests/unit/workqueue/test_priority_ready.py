import math

import pytest

from kinformer.workqueue import PriorityReady


def taken(ready: PriorityReady[str], count: int = 100) -> list[str]:
    keys = []
    for _ in range(min(count, len(ready))):
        keys.append(ready.take())
        ready.done(keys[-1])
    return keys


def strict(bucket: bool = False) -> PriorityReady[str]:
    return PriorityReady(ageing=1000, bucket=(lambda key: key[0]) if bucket else None)


def test_higher_priorities_come_first_and_each_level_is_first_come_first_served() -> None:
    ready = strict()
    for key, priority in [("a", 0), ("b", -100), ("c", 5), ("d", 0), ("e", 5)]:
        ready.add(key, priority)
    assert taken(ready) == ["c", "e", "a", "d", "b"]


def test_adding_again_keeps_the_higher_priority_and_the_place_among_equals() -> None:
    ready = strict()
    for key, priority in [("a", 0), ("b", 0), ("a", 0), ("a", -5)]:
        ready.add(key, priority)
    assert list(ready.waiting()) == [("a", 0), ("b", 0)]


def test_a_key_that_is_raised_goes_to_the_back_of_its_new_level() -> None:
    ready = strict()
    for key, priority in [("low", -1), ("a", 0), ("b", 0), ("low", 0)]:
        ready.add(key, priority)
    assert taken(ready) == ["a", "b", "low"]


def test_asked_for_while_it_runs_a_key_comes_back_with_the_highest_priority_asked_for_meanwhile() -> None:
    ready = strict()
    ready.add("a", 9)
    ready.take()
    assert ready.priority("a") == 9
    assert ready.add("a", -1)
    assert not ready.add("a", 3)
    assert not ready.add("a", 2)
    assert len(ready) == 0
    ready.done("a")
    assert list(ready.waiting()) == [("a", 3)]


def test_one_key_in_so_many_is_the_one_that_waited_longest() -> None:
    ready = PriorityReady[str](ageing=3)
    ready.add("old", -100)
    for number in range(5):
        ready.add(f"urgent {number}", 10)
    assert taken(ready) == ["urgent 0", "urgent 1", "old", "urgent 2", "urgent 3", "urgent 4"]


@pytest.mark.parametrize("ageing", [1, 2, 8])
@pytest.mark.parametrize("others", [0, 1, 50])
def test_no_key_waits_longer_than_the_bound_however_urgent_the_others_are(ageing: int, others: int) -> None:
    ready = PriorityReady[str](ageing=ageing)
    for number in range(others):
        ready.add(f"before {number}", number % 3 - 200)
    ready.add("patient", -300)
    takes = 0
    while ready.wants("patient"):
        for number in range(3):  # three urgent keys for each that is taken
            ready.add(f"urgent {takes * 3 + number}", 100)
        ready.done(ready.take())
        takes += 1
    assert takes <= ageing * (others + 1)


def test_a_key_that_is_raised_grows_no_younger() -> None:
    ready = PriorityReady[str](ageing=2)
    for key in ("a", "b", "c"):
        ready.add(key, 5)
    ready.add("old", 0)
    ready.add("older", -1)
    assert ready.take() == "a"
    assert ready.take() == "b"
    ready.add("old", 5)
    ready.add("new", 5)
    assert ready.take() == "c"
    assert ready.take() == "old"


def test_buckets_of_a_level_take_turns() -> None:
    ready = strict(bucket=True)
    for number in range(4):
        ready.add(f"a{number}")
    ready.add("b0")
    ready.add("c0")
    ready.add("c1")
    order = [key for key, _ in ready.waiting()]
    assert order == ["a0", "b0", "c0", "a1", "c1", "a2", "a3"]
    assert taken(ready) == order


def test_a_bucket_that_comes_back_has_its_turn_after_the_others() -> None:
    ready = strict(bucket=True)
    for key in ("a0", "a1", "b0", "b1"):
        ready.add(key)
    assert taken(ready, 1) == ["a0"]
    ready.add("c0")
    assert taken(ready) == ["b0", "a1", "c0", "b1"]


def test_fairness_holds_inside_a_level_only() -> None:
    ready = strict(bucket=True)
    for key in ("a0", "a1", "a2"):
        ready.add(key, 1)
    ready.add("b0", 0)
    assert taken(ready) == ["a0", "a1", "a2", "b0"]


def test_nothing_is_kept_of_keys_that_are_done() -> None:
    ready = PriorityReady[int](bucket=lambda key: key % 10)
    for key in range(1000):
        ready.add(key, key % 7)
    while ready:
        ready.done(ready.take())
    assert ready.is_idle
    for kept in (ready._levels, ready._priorities, ready._ready, ready._running, ready._again):
        assert not kept


def test_a_bucket_function_that_raises_leaves_the_key_out() -> None:
    def bucket(key: str) -> str:
        raise ValueError(key)

    ready = PriorityReady[str](bucket=bucket)
    with pytest.raises(ValueError, match="x"):
        ready.add("x")
    assert ready.is_idle
    assert not ready._levels


def test_a_bucket_function_that_changes_its_mind_is_asked_once_for_each_time_a_key_comes_in() -> None:
    answers = iter(range(100))
    ready = PriorityReady[str](bucket=lambda key: next(answers), ageing=2)
    for key in ("a", "b", "c"):
        ready.add(key)
    ready.add("b", 5)
    assert [ready.take(), ready.take(), ready.take()] == ["b", "a", "c"]
    ready.add("c")
    ready.done("c")
    assert ready.take() == "c"
    assert next(answers) == 3


def test_a_bucket_function_that_raises_later_does_not_keep_a_key_from_coming_back() -> None:
    answers = ["x"]
    ready = PriorityReady[str](bucket=lambda key: answers.pop())
    ready.add("a")
    ready.take()
    ready.add("a")
    ready.done("a")
    assert ready.take() == "a"


def test_a_priority_that_is_no_number_is_refused_and_changes_nothing() -> None:
    ready = PriorityReady[str]()
    ready.add("held")
    ready.take()
    ready.add("a")
    for key in ("a", "b", "held"):
        with pytest.raises(ValueError, match=f"the priority of '{key}' must be a number, not nan"):
            ready.add(key, math.nan)  # type: ignore[arg-type]  # which mypy sees, and who does without does not
        with pytest.raises(TypeError):
            ready.add(key, "high")  # type: ignore[arg-type]
    assert list(ready.waiting()) == [("a", 0)]
    assert ready.depth == 1


def test_any_number_is_a_priority() -> None:
    ready = strict()
    for key, priority in {"a": True, "b": 0.5, "c": 1, "d": math.inf, "e": -math.inf}.items():
        ready.add(key, priority)  # type: ignore[arg-type]
    assert taken(ready) == ["d", "a", "c", "b", "e"]


def test_the_oldest_of_a_level_is_its_head_though_it_was_raised_to_the_back() -> None:
    ready = PriorityReady[str]()
    ready.add("old", -5)
    ready.add("new")
    ready.add("old")
    assert list(ready.heads()) == [(0, "old")]


@pytest.mark.parametrize("state", ["unknown", "ready", "done already"])
def test_done_of_a_key_that_nobody_holds_is_an_error_and_changes_nothing(state: str) -> None:
    ready = strict()
    if state != "unknown":
        ready.add("x")
    if state == "done already":
        ready.done(ready.take())
    before = len(ready)
    with pytest.raises(ValueError, match=r"done\('x'\): nobody holds this key"):
        ready.done("x")
    assert len(ready) == before


def test_taking_from_nothing_is_an_error() -> None:
    with pytest.raises(LookupError, match="no key is ready"):
        strict().take()


def test_ageing_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        PriorityReady[str](ageing=0)
