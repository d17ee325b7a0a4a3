"""docs/reference/http-control.md, written from the calls: `python -m broker_sim.http_control.reference_page`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from broker_sim.http_control.openapi import DESCRIPTION, openapi_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["reference_page"]

INTRODUCTION: Final = f"""\
# Control over HTTP, call by call

`make docs` writes this page from the code; a server has the same as an OpenAPI 3.1 document under `/openapi.json`, for
generators of clients. [How to control a cluster over HTTP](../how-to/control-over-http.md) shows the calls in use.

{DESCRIPTION.strip()}"""


def reference_page() -> str:
    """Return the page in Markdown."""
    document = openapi_document()
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).extend(_call(method.upper(), path, operation))
    lines = [f"{INTRODUCTION}\n"]
    for tag, calls in by_tag.items():
        lines += [f"## {tag.capitalize()}\n", *calls]
    lines.append("## Types\n")
    for name, schema in document["components"]["schemas"].items():
        lines += _type(name, schema)
    return "\n".join(lines)


def _call(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {operation['operationId']}\n"
    yield f"`{method} {path}`\n"
    yield f"{operation['summary']}\n"
    parameters = [each for each in operation["parameters"] if each["in"] == "query"]
    if parameters:
        yield "| parameter | type | default |\n|---|---|---|"
        for each in parameters:
            default = "required" if each["required"] else _code(each["schema"].get("default"))
            yield f"| `{each['name']}` | {_form(each['schema'])} | {default} |"
        yield ""
    if "requestBody" in operation:
        body = operation["requestBody"]
        need = "" if body["required"] else ", optional"
        yield f"Body{need}: {_form(body['content']['application/json']['schema'])}.\n"
    status, response = next(iter(operation["responses"].items()))
    content = response.get("content", {})
    returned = "".join(f": {_form(each['schema'])}, {kind}" for kind, each in content.items())
    yield f"Returns {status}{returned}.\n"


def _type(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield " ".join(schema.get("description", "").split()) + "\n"
    if schema.get("properties"):
        yield "| field | type | default |\n|---|---|---|"
        required = schema.get("required", ())
        for field, each in schema["properties"].items():
            default = "required" if field in required else _code(each.get("default"))
            yield f"| `{field}` | {_form(each)} | {default} |"
        yield ""


def _form(schema: Mapping[str, Any]) -> str:
    """Return a schema in words: a type of this page, a list of it, or the JSON type."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_form, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(map(_code, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {_form(schema['items'])}" if schema.get("items") else "array"
    if "properties" in schema:
        return "the keys of [a rule](faults.md)" if "act" in schema["properties"] else "object"
    if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return f"object of {_form(schema['additionalProperties'])}"
    form: str = schema.get("type", "any value")
    return form


def _code(value: object) -> str:
    # msgspec's schemas have the defaults of empty lists and objects since its version 0.23.
    if value in ([], {}):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{str(value).lower()}`" if value is not None else ""


if __name__ == "__main__":
    sys.stdout.write(reference_page())
