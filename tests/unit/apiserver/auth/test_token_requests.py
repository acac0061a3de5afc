from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.apiserver.auth._token_requests import answer_token_request
from kinformer.apiserver.auth._tokens import AUDIENCE, Tokens
from kinformer.apiserver.registry import StatusError

NOW = datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)
ACCOUNT = {"metadata": {"namespace": "shop", "name": "cart", "uid": "u1"}}
TOKENS = Tokens(b"secret")


def answered(spec: Any) -> dict[str, Any]:
    return answer_token_request(ACCOUNT, {"spec": spec}, TOKENS, NOW)


def test_a_token_lives_an_hour_by_default_r_3() -> None:
    answer = answered(None)
    assert answer["spec"] == {"audiences": [AUDIENCE], "expirationSeconds": 3600}
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    claims = TOKENS.read(answer["status"]["token"], NOW)
    assert claims is not None
    assert (claims.namespace, claims.name, claims.uid) == ("shop", "cart", "u1")


def test_it_lives_as_long_and_is_for_whom_it_says() -> None:
    answer = answered({"expirationSeconds": 600, "audiences": ["vault"]})
    claims = TOKENS.read(answer["status"]["token"], NOW, ["vault"])
    assert claims is not None
    assert claims.expires == NOW.replace(microsecond=0) + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("spec", "code", "text"),
    [
        ({"expirationSeconds": 599}, 422, "less than 10 minutes"),
        ({"expirationSeconds": 2**32 + 1}, 422, "larger than"),
        ({"boundObjectRef": {"kind": "Pod", "name": "p"}}, 422, "spec.boundObjectRef: Forbidden"),
        ({"expirationSeconds": "1h"}, 400, "expirationSeconds must be an integer"),
        ({"expirationSeconds": True}, 400, "expirationSeconds must be an integer"),
        ({"audiences": "vault"}, 400, "audiences a list"),
        ({"audiences": [1]}, 400, "audiences a list"),
        ([1], 400, "spec must be an object"),
    ],
)
def test_what_cannot_be_had_is_refused(spec: Any, code: int, text: str) -> None:
    with pytest.raises(StatusError, match=text) as refusal:
        answered(spec)
    assert refusal.value.code == code
