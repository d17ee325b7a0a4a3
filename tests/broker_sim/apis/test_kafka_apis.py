from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from broker_sim.apis import kafka_apis
from broker_sim.apis.kafka_apis import HANDLERS, SERVED, ApiHandler, handler_of
from broker_sim.apis.request_context import NO_RESPONSE, ConnectionInfo, RequestContext
from broker_sim.faults.grammar import parse_rule
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.fixture
def context(bench: Callable[..., Any]) -> RequestContext:
    connection = ConnectionInfo(connection_id="test", client_host="127.0.0.1")
    return RequestContext(bench().cluster.brokers[1], connection, ApiKey.API_VERSIONS, 0, request=ApiVersionsRequest())


def served_by(monkeypatch: pytest.MonkeyPatch, handle: Callable[[Any, Any], Any]) -> None:
    monkeypatch.setitem(HANDLERS, 18, ApiHandler(api_key=ApiKey.API_VERSIONS, handle=handle))


def test_every_file_registers_the_handler_of_its_key() -> None:
    assert [handler_of(key).api_key for key in SERVED] == list(SERVED)


def test_an_exception_becomes_the_error_answer_of_the_api(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(kafka_apis._log, "failure", lambda text, **_: logged.append(text))

    def broken(_request: Any, _context: Any) -> Any:
        raise RuntimeError("as the test wants it")

    served_by(monkeypatch, broken)
    answer = context.broker.apis.handle(context.request, context)
    assert isinstance(answer, ApiVersionsResponse)
    assert answer.error_code == UNKNOWN
    assert logged == ["Unexpected error handling {context!r}"]


def test_a_failed_deferred_becomes_the_error_answer_too(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_apis._log, "failure", lambda *_, **__: None)
    served_by(monkeypatch, lambda _request, _context: fail(RuntimeError("as the test wants it")))
    told: list[Any] = []
    context.broker.apis.handle(context.request, context).addCallback(told.append)
    assert told[0].error_code == UNKNOWN


def test_what_a_handler_promises_is_passed_on(context: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    response = ApiVersionsResponse()
    served_by(monkeypatch, lambda _request, _context: succeed(response))
    told: list[Any] = []
    context.broker.apis.handle(context.request, context).addCallback(told.append)
    assert told == [response]


@pytest.mark.parametrize(
    ("act", "result"), [("drop_response", NO_RESPONSE), ({"error": "CLUSTER_AUTHORIZATION_FAILED"}, 31)], ids=str
)
def test_a_rule_strikes_any_api_before_it_is_applied(context: RequestContext, act: Any, result: Any) -> None:
    faults: Any = context.broker.faults
    faults.add(parse_rule({"select": {"api": "ApiVersions"}, "phase": "before_append", "act": act}))
    answer = context.broker.apis.handle(context.request, context)
    assert isinstance(answer, Deferred)
    told: list[Any] = []
    answer.addCallback(told.append)
    assert told == [result] or told[0].error_code == result


def test_a_context_names_itself(context: RequestContext) -> None:
    assert repr(context) == "<RequestContext -1: ApiVersions v0, correlation id 0, client None, test>"
