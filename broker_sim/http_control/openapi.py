"""The OpenAPI 3.1 document of the HTTP interface, made from its operations."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import msgspec

from broker_sim.http_control.operations import OPERATIONS
from broker_sim.http_control.problems import Problem
from sim_runtime.version import VERSION

if TYPE_CHECKING:
    from broker_sim.http_control.operation import Operation

__all__ = ["openapi_document"]

REFERENCE: Final = "#/components/schemas/{name}"
DESCRIPTION: Final = """\
Control of the clusters of one `broker-sim serve --control` process.

A path names a cluster; `default` is the one that `serve` has started. An error is a problem (RFC 9457) whose `detail`
names the value and what was expected: 400 for invalid input, 404 for an unknown name, 504 for a wait whose time is
over.
"""
_PARAMETER: Final = re.compile(r"{(\w+)}")
_STATUS: Final = {200: "the result", 201: "it exists", 204: "it is done"}
NUMBERS: Final = frozenset({"broker", "partition", "source", "target"})


def openapi_document() -> dict[str, Any]:
    """Return the document."""
    types = list(dict.fromkeys(kind for each in OPERATIONS for kind in _types(each)))
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=REFERENCE)
    schema_of = dict(zip([_key(kind) for kind in [*types, Problem]], schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "broker-sim control", "version": VERSION, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "--control-token-file"}},
        },
        "security": [{}, {"token": []}],
    }


def _types(operation: Operation) -> list[Any]:
    return [kind for kind in (operation.body, operation.result) if kind is not None]


def _key(kind: Any) -> str:
    return repr(kind)


def _operation(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [*map(_path_parameter, _PARAMETER.findall(operation.path)), *_query_parameters(operation)],
        "responses": _responses(operation, schema_of),
    }
    if operation.body is not None:
        schema = operation.body_schema or schema_of[_key(operation.body)]
        made["requestBody"] = {
            "required": not operation.body_is_optional,
            "content": {"application/json": {"schema": schema}},
        }
    return made


def _path_parameter(name: str) -> dict[str, Any]:
    kind = "integer" if name in NUMBERS else "string"
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    assert is_dataclass(operation.query)
    hints = get_type_hints(operation.query)
    return [
        {
            "name": each.name,
            "in": "query",
            "required": each.default is MISSING,
            "schema": msgspec.json.schema(hints[each.name])
            | ({} if each.default in (MISSING, None) else {"default": each.default}),
        }
        for each in fields(operation.query)
    ]


def _responses(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": _STATUS[operation.status]}
    if operation.result is not None:
        doc = inspect.getdoc(operation.result) if is_dataclass(operation.result) else None
        if doc:
            success["description"] = doc
        success["content"] = {operation.media_type: {"schema": schema_of[_key(operation.result)]}}
    problem = {
        "description": inspect.getdoc(Problem),
        "content": {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name=Problem.__name__)}}},
    }
    return {str(operation.status): success, "default": problem}
