import ssl

import httpx
import pytest

from kinformer.client._calls import Call
from kinformer.client._failures import answer_error, transport_error
from kinformer.client._proxies import Proxy
from kinformer.errors import ApiError, ForbiddenError, TransportError

GET = Call("GET", "/version")
PROXY = Proxy("http://me:hunter2@proxy:3128", "$HTTPS_PROXY")
AT = "the proxy proxy:3128 of $HTTPS_PROXY"
SEE_TO_IT = "; put a user and a password that it takes into its URL"


@pytest.mark.parametrize(
    ("error", "direct", "proxied", "refused", "lasting"),
    [
        (
            httpx.ConnectError("all failed"),
            "the server cannot be reached: all failed",
            f"the server cannot be reached through {AT}: all failed",
            True,
            False,
        ),
        (
            httpx.ReadError(""),
            "the connection was lost: ReadError",
            f"the connection through {AT} was lost: ReadError",
            False,
            False,
        ),
        (
            httpx.ProxyError("407 Proxy Authentication Required"),
            f"the proxy refuses: 407 Proxy Authentication Required{SEE_TO_IT}",
            f"{AT} refuses: 407 Proxy Authentication Required{SEE_TO_IT}",
            True,
            True,
        ),
        (
            httpx.ProxyError("502 Bad Gateway"),
            "the proxy refuses: 502 Bad Gateway",
            f"{AT} refuses: 502 Bad Gateway",
            True,
            False,
        ),
    ],
    ids=["not reached", "lost", "password", "gateway"],
)
def test_a_failure_says_where_it_was_and_whether_it_lasts(
    error: Exception, direct: str, proxied: str, refused: bool, lasting: bool
) -> None:
    for proxy, text in ((None, direct), (PROXY, proxied)):
        found = transport_error(GET, error, proxy)
        assert str(found) == f"GET /version: {text}"
        assert (found.refused, found.lasting) == (refused, lasting)


@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_certificate_that_is_not_accepted_is_not_accepted_the_next_time_either(is_wrapped: bool) -> None:
    alert = ssl.SSLError(1, "alert")
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    busy = ssl.SSLError(1, "other")
    busy.reason = "TLSV1_ALERT_INTERNAL_ERROR"
    for cause, lasting in ((ssl.SSLCertVerificationError(), True), (alert, True), (busy, False)):
        error: Exception = httpx.ConnectError("tls") if is_wrapped else cause
        error.__cause__ = cause if is_wrapped else None
        assert transport_error(GET, error, None).lasting is lasting


def test_a_proxy_of_an_http_server_is_told_from_the_server() -> None:
    found = answer_error(GET, 407, b"", {}, PROXY)
    assert isinstance(found, TransportError)
    assert found.lasting
    assert str(found) == f"GET /version: {AT} refuses: 407 Proxy Authentication Required{SEE_TO_IT}"
    assert isinstance(answer_error(GET, 407, b"", {}, None), ApiError)
    assert isinstance(answer_error(GET, 403, b"", {}, PROXY), ForbiddenError)
