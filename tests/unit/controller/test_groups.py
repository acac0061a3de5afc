from kinformer.controller._groups import sole


def test_the_one_error_of_nested_groups_is_found() -> None:
    error = ValueError("x")
    assert sole(ExceptionGroup("a", [ExceptionGroup("b", [error])])) is error


def test_a_group_of_two_stays_whole() -> None:
    group = ExceptionGroup("a", [ValueError("x"), ValueError("y")])
    assert sole(group) is group
    assert sole(ExceptionGroup("outer", [group])) is group


def test_a_plain_error_stays_itself() -> None:
    error = ValueError("x")
    assert sole(error) is error
