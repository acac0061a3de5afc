from kinformer.workqueue._failing import Failing


def test_a_sweep_takes_out_what_is_gone_and_goes_on_where_the_last_one_ended() -> None:
    failing = Failing[str]()
    for key in "abcd":
        failing.add(key)
    looked_at: list[str] = []

    def is_gone(key: str) -> bool:
        looked_at.append(key)
        return key in "bd"

    assert failing.sweep(3, is_gone) == ["b"]
    assert failing.sweep(3, is_gone) == ["d"]
    assert looked_at == ["a", "b", "c", "d", "a", "c"]
    assert len(failing) == 2


def test_a_sweep_looks_at_each_key_once_at_most() -> None:
    failing = Failing[str]()
    failing.add("a")
    looked_at: list[str] = []

    def is_gone(key: str) -> bool:
        looked_at.append(key)
        return False

    assert failing.sweep(5, is_gone) == []
    assert looked_at == ["a"]


def test_a_key_fails_twice_and_is_looked_at_once() -> None:
    failing = Failing[str]()
    failing.add("a")
    failing.add("a")
    failing.discard("unknown")
    assert len(failing) == 1
    failing.discard("a")
    assert len(failing) == 0


def test_it_holds_about_twice_what_is_not_gone() -> None:
    failing = Failing[int]()
    for key in range(100_000):
        failing.add(key)
        failing.sweep(2, lambda other, newest=key: other <= newest - 100)  # type: ignore[misc]
        assert len(failing) <= 2 * 100 + 2
