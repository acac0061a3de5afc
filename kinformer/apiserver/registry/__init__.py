"""Which kinds are served, and what their objects must look like."""

from kinformer.apiserver.registry._builtin_types import check_types
from kinformer.apiserver.registry._builtins import builtin_kinds
from kinformer.apiserver.registry._custom import check_custom, shape_custom, show
from kinformer.apiserver.registry._definitions import (
    CLEANUP_FINALIZER,
    DEFINITIONS,
    check_definition,
    check_definition_update,
    prepare_definition,
    served_by,
    set_condition,
)
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
    too_many_requests,
    unprocessable,
)
from kinformer.apiserver.registry._metadata import check_metadata, check_metadata_update
from kinformer.apiserver.registry._names import generate_name
from kinformer.apiserver.registry._registry import Registry, version_rank
from kinformer.apiserver.registry._roles import check_roles, default_roles
from kinformer.apiserver.registry._served import ALL_VERBS, PrinterColumn, ScalePaths, Served, Traits
from kinformer.apiserver.registry._shapes import Shape
from kinformer.apiserver.registry._workloads import check_workloads

__all__ = [
    "ALL_VERBS",
    "CLEANUP_FINALIZER",
    "DEFINITIONS",
    "FieldProblem",
    "PrinterColumn",
    "Registry",
    "ScalePaths",
    "Served",
    "Shape",
    "StatusError",
    "Traits",
    "already_exists",
    "bad_request",
    "builtin_kinds",
    "check_custom",
    "check_definition",
    "check_definition_update",
    "check_metadata",
    "check_metadata_update",
    "check_roles",
    "check_types",
    "check_workloads",
    "conflict",
    "default_roles",
    "expired",
    "forbidden",
    "future_version",
    "generate_name",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "not_found",
    "prepare_definition",
    "served_by",
    "set_condition",
    "shape_custom",
    "show",
    "too_many_requests",
    "unprocessable",
    "version_rank",
]
