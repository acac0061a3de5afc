from dataclasses import dataclass

from kinformer.client._stream._idle import IdleConnections


@dataclass
class Line:
    is_open: bool = True


def idle() -> IdleConnections[str, Line]:
    return IdleConnections(limit=2, age=60.0)


def test_the_newest_connection_of_the_right_server_is_taken_first() -> None:
    held, (a, b, c) = idle(), [Line(), Line(), Line()]
    for key, line in (("x", a), ("y", b)):
        assert held.put(key, line, 0.0) == []
    assert held.take("x", 1.0) == (a, [])
    held.put("y", c, 2.0)
    assert held.take("x", 3.0) == (None, [])
    assert held.take("y", 3.0)[0] is c
    assert held.take("y", 3.0)[0] is b
    assert len(held) == 0


def test_too_many_push_out_the_oldest() -> None:
    held, (a, b, c) = idle(), [Line(), Line(), Line()]
    held.put("x", a, 0.0)
    held.put("x", b, 0.0)
    (outdated,) = held.put("x", c, 0.0)
    assert outdated is a
    assert len(held) == 2


def test_what_waited_for_too_long_is_given_back_to_be_closed() -> None:
    held, old, young = idle(), Line(), Line()
    held.put("x", old, 0.0)
    held.put("x", young, 30.0)
    taken, outdated = held.take("y", 60.0)
    assert taken is None
    assert len(outdated) == 1
    assert outdated[0] is old
    assert held.take("x", 89.0)[0] is young


def test_what_was_closed_meanwhile_is_never_taken() -> None:
    held, line = idle(), Line()
    held.put("x", line, 0.0)
    line.is_open = False
    taken, outdated = held.take("x", 1.0)
    assert taken is None
    assert outdated[0] is line
