"""Which kinds are served, and what their objects must look like."""

from kinformer.apiserver.registry._builtins import builtin_kinds
from kinformer.apiserver.registry._errors import (
    FieldProblem,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    expired,
    forbidden,
    future_version,
    invalid,
    invalid_options,
    method_not_allowed,
    not_found,
    unprocessable,
)
from kinformer.apiserver.registry._registry import Registry, version_rank
from kinformer.apiserver.registry._served import ALL_VERBS, PrinterColumn, ScalePaths, Served, Traits

__all__ = [
    "ALL_VERBS",
    "FieldProblem",
    "PrinterColumn",
    "Registry",
    "ScalePaths",
    "Served",
    "StatusError",
    "Traits",
    "already_exists",
    "bad_request",
    "builtin_kinds",
    "conflict",
    "expired",
    "forbidden",
    "future_version",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "not_found",
    "unprocessable",
    "version_rank",
]
