import pickle

import pytest

from kinformer.errors import (
    AmbiguousError,
    ApiError,
    ConflictError,
    DecodeError,
    InvalidError,
    NotFoundError,
    TransportError,
)


@pytest.mark.parametrize(
    ("error", "attributes"),
    [
        (
            NotFoundError(404, "NotFound", "gone", retry_after=2.0, details={"name": "a"}, call="GET /x"),
            "code reason message retry_after details call",
        ),
        (TransportError("reset", refused=True, lasting=True), "refused lasting"),
        (DecodeError("bad", key="default/a"), "key"),
        (AmbiguousError("which?", candidates=("a.v1", "a.v2")), "candidates"),
    ],
    ids=["answer", "transport", "decode", "ambiguous"],
)
def test_an_error_comes_out_of_another_process_as_it_went_in(error: Exception, attributes: str) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    for name in attributes.split():
        assert getattr(copy, name) == getattr(error, name)


def test_an_answer_prints_the_servers_sentence_its_code_and_its_reason() -> None:
    assert str(ConflictError(409, "Conflict", "it changed")) == "it changed (409 Conflict)"
    assert str(ApiError(418)) == "the server gave no message (418)"
    assert (
        str(NotFoundError(404, message="404 page not found", call="GET /x"))
        == "GET /x: 404 page not found (404)"
    )


@pytest.mark.parametrize(
    ("message", "causes", "text"),
    [
        ("bad", [{"field": "spec.a", "message": "Required"}], "bad; spec.a: Required (422)"),
        ("bad", [{"field": "spec.a"}, {"message": "no"}, {}, None, {"field": 7}], "bad; spec.a; no (422)"),
        ("spec.a: Required", [{"field": "spec.a", "message": "Required"}], "spec.a: Required (422)"),
        ("bad", [{"message": "x" * 201}], f"bad; {'x' * 200}... (422)"),
        ("bad", [{"message": text} for text in "vwxyz"], "bad; v; w; x; and 2 more (422)"),
        ("two\nlines", [{"message": "and\r\na cause"}], "two lines; and a cause (422)"),
        ("bad", "none", "bad (422)"),
    ],
    ids=["field", "odd", "told", "long", "many", "lines", "nonsense"],
)
def test_an_answer_prints_in_one_line_the_causes_that_its_message_does_not_tell(
    message: str, causes: object, text: str
) -> None:
    error = InvalidError(422, message=message, details={"causes": causes})
    assert (str(error), error.message) == (text, message)
