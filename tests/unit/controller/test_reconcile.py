import math
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest

from kinformer.client import Client
from kinformer.controller import Request, RequeueAfter
from kinformer.meta import ObjectKey, Resource

SECRETS = Resource.builtin("Secret")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
NO_CLIENT = cast("Client", None)


@pytest.mark.parametrize("seconds", [0, 0.5, 30])
def test_a_delay_is_seconds(seconds: float) -> None:
    assert RequeueAfter(seconds).seconds == seconds


@pytest.mark.parametrize("seconds", [-1, -0.001, math.inf, math.nan])
def test_a_delay_that_never_ends_or_lies_behind_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="zero or more, and finite"):
        RequeueAfter(seconds)


@pytest.mark.parametrize("seconds", ["30", None, True])
def test_a_delay_that_is_no_number_is_refused(seconds: Any) -> None:
    with pytest.raises(TypeError, match="as a number of seconds"):
        RequeueAfter(seconds)


def test_a_request_does_not_change() -> None:
    request = Request("", ObjectKey("default", "shop"), NO_CLIENT)
    assert request.attempt == 1
    with pytest.raises(FrozenInstanceError):
        request.attempt = 2  # type: ignore[misc]


def test_an_undeclared_resource_says_how_to_declare_it() -> None:
    request = Request("", ObjectKey("default", "shop"), NO_CLIENT)
    with pytest.raises(LookupError, match=r"no cache of secrets: declare it with .reads.*declared: nothing"):
        request.lister(SECRETS)
