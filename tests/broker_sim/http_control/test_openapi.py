from __future__ import annotations

from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from broker_sim.http_control.openapi import openapi_document
from broker_sim.http_control.operations import OPERATIONS

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_the_document_is_openapi_and_has_every_call() -> None:
    document = openapi_document()
    validate(document)
    described = {
        (method.upper(), path, call["operationId"])
        for path, calls in document["paths"].items()
        for method, call in calls.items()
    }
    assert described == {(each.method, each.path, each.name) for each in OPERATIONS}


def test_responses_are_as_the_document_has_them(control: Control) -> None:
    path = control.new_cluster(brokers=1, topics=["orders:1:1"])
    document = control.get("/openapi.json")
    assert document == openapi_document()
    for name in ("brokers", "topics", "groups", "transactions", "rules", "connections", "requests", "events"):
        call = document["paths"][f"/clusters/{{cluster}}/{name}"]["get"]
        schema = call["responses"]["200"]["content"]["application/json"]["schema"]
        validator = Draft202012Validator({**schema, "components": document["components"]})
        validator.validate(control.get(f"{path}/{name}"))
