"""What a handler of a model is told in place of what happened; numbers of replicas that are numbers fit."""

from typing import TypeAlias

import msgspec
import pytest

from kinformer.errors import DecodeError
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._fitting import Fitting
from kinformer.informer._views import Views
from kinformer.meta import Object, Record
from tests.unit.informer.listener_stage import Model, Spec, record

Told: TypeAlias = Notification[Model]
ONE, TWO = record("a", replicas=1), record("a", version="2", replicas=2)
MANY, MORE = record("a", version="3", replicas="many"), record("a", version="4", replicas="more")


def tell(fitting: Fitting[Model], happened: Notification[Record]) -> list[Told | str]:
    """What the listener makes of it: what is told, after the name of one that does not fit."""
    try:
        told = fitting(happened)
    except DecodeError as error:
        told = fitting.instead(happened)
        return [error.key] if told is None else [error.key, told]
    return [] if told is None else [told]


def model(replicas: int) -> Model:
    return Model(Spec(replicas))


@pytest.mark.parametrize(
    ("story", "told"),
    [
        pytest.param(
            [Added(ONE, is_initial=True), Updated(ONE, TWO), Deleted(TWO)],
            [Added(model(1), is_initial=True), Updated(model(1), model(2)), Deleted(model(2))],
            id="fits always",
        ),
        pytest.param([Added(MANY), Updated(MANY, MORE)], ["default/a"] * 2, id="fits never"),
        pytest.param([Added(MANY), Deleted(MORE)], ["default/a"], id="is deleted without ever having fitted"),
        pytest.param([Added(MANY), Deleted(ONE)], ["default/a"], id="fits only in its last state"),
        pytest.param(
            [Added(MANY, is_initial=True), Updated(MANY, TWO)],
            ["default/a", Added(model(2))],
            id="begins to fit",
        ),
        pytest.param(
            [Added(ONE), Updated(ONE, MANY), Deleted(MANY)],
            [Added(model(1)), "default/a", Deleted(model(1))],
            id="ceases to fit and is deleted",
        ),
        pytest.param(
            [Added(ONE), Updated(ONE, MANY), Updated(MANY, MORE), Updated(MORE, TWO), Updated(TWO, ONE)],
            [
                Added(model(1)),
                *("default/a", Deleted(model(1)), "default/a"),
                *(Added(model(2)), Updated(model(2), model(1))),
            ],
            id="fits again",
        ),
        pytest.param(
            [Added(ONE), Deleted(MANY)],
            [Added(model(1)), "default/a", Deleted(model(1))],
            id="is deleted with a last state that does not fit",
        ),
        pytest.param(
            [Added(ONE), Deleted(MANY, is_tombstone=True)],
            [Added(model(1)), "default/a", Deleted(model(1), is_tombstone=True)],
            id="ceases to fit and is deleted unseen, in one",
        ),
        pytest.param(
            [Added(ONE), Updated(MANY, TWO)],
            [Added(model(1)), Updated(model(1), model(2))],
            id="is updated from a state that was merged away",
        ),
        pytest.param(
            [Added(ONE), Updated(ONE, ONE), Updated(ONE, MANY), Updated(MANY, MANY)],
            [Added(model(1)), Updated(model(1), model(1)), "default/a", Deleted(model(1)), "default/a"],
            id="is shown again",
        ),
    ],
)
def test_only_what_fits_is_told(story: list[Notification[Record]], told: list[Told | str]) -> None:
    fitting = Fitting(Views(Model))
    assert [answer for each in story for answer in tell(fitting, each)] == told


def test_objects_are_told_apart() -> None:
    fitting = Fitting(Views(Model))
    assert tell(fitting, Added(ONE)) == [Added(model(1))]
    assert tell(fitting, Added(record("b"))) == [Added(model(1))]
    assert tell(fitting, Deleted(record("c"))) == []
    assert tell(fitting, Deleted(ONE)) == [Deleted(model(1))]


@pytest.mark.parametrize("kind", [Object, Model])
def test_a_resync_shows_one_object_twice(kind: type) -> None:
    fitting: Fitting[object] = Fitting(Views(kind))
    fitting(Added(ONE))
    told = fitting(Updated(ONE, ONE))
    assert isinstance(told, Updated)
    assert told.old is told.new


def test_the_default_model_fits_all_and_leaves_nothing_to_know() -> None:
    fitting = Fitting(Views(Object))
    story: list[Notification[Record]] = [Added(MANY), Updated(MANY, ONE), Deleted(ONE, is_tombstone=True)]
    assert [fitting(each) for each in story] == [
        Added(Object(MANY)),
        Updated(Object(MANY), Object(ONE)),
        Deleted(Object(ONE), is_tombstone=True),
    ]
    assert fitting(Deleted(TWO)) == Deleted(Object(TWO))


def test_a_model_that_refuses_what_it_took_before_is_an_error_once() -> None:
    class Fickle(msgspec.Struct):
        """Fits once."""

        taken = 0

        def __post_init__(self) -> None:
            Fickle.taken += 1
            if Fickle.taken > 1:
                raise ValueError("once is enough")

    fitting = Fitting(Views(Fickle))
    assert isinstance(fitting(Added(ONE)), Added)
    with pytest.raises(DecodeError, match="once is enough"):
        fitting(Updated(ONE, TWO))
    with pytest.raises(DecodeError, match="once is enough"):
        fitting.instead(Updated(ONE, TWO))
    assert fitting(Deleted(TWO)) is None
