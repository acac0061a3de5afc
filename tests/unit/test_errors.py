import pickle

import pytest

from kinformer.errors import (
    AmbiguousError,
    ApiError,
    ConflictError,
    DecodeError,
    NotFoundError,
    TransportError,
)


@pytest.mark.parametrize(
    ("error", "attributes"),
    [
        (
            NotFoundError(404, "NotFound", "gone", retry_after=2.0, details={"name": "a"}),
            "code reason message retry_after details",
        ),
        (TransportError("reset", refused=True), "refused"),
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
