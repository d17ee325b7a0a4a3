from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from broker_sim.apis import node_apis
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.kafka_apis import HANDLERS
from broker_sim.faults.grammar import parse_rule
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext

UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.fixture
def context(bench: Callable[..., Any]) -> RequestContext:
    return bench().context(ApiVersionsRequest(), 0)


def served_by(monkeypatch: pytest.MonkeyPatch, handle: Callable[[Any, Any], Any]) -> None:
    monkeypatch.setitem(HANDLERS.loaded, ApiKey.API_VERSIONS, ApiHandler(handle=handle))


def test_every_served_api_has_a_handler() -> None:
    assert all(isinstance(HANDLERS.handler_of(key), ApiHandler) for key in HANDLERS.served)


def test_an_exception_becomes_the_error_response_of_the_api(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(node_apis._log, "failure", lambda text, **_: logged.append(text))

    def broken(_request: Any, _context: Any) -> Any:
        raise RuntimeError("as the test wants it")

    served_by(monkeypatch, broken)
    returned = context.broker.rpc.handle(context)
    assert isinstance(returned, ApiVersionsResponse)
    assert returned.error_code == UNKNOWN
    assert logged == ["Unexpected error handling {context!r}"]


def test_a_failed_deferred_becomes_the_error_response_too(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_apis._log, "failure", lambda *_, **__: None)
    served_by(monkeypatch, lambda _request, _context: fail(RuntimeError("as the test wants it")))
    responses: list[Any] = []
    context.broker.rpc.handle(context).addCallback(responses.append)
    assert responses[0].error_code == UNKNOWN


def test_a_deferred_that_has_not_fired_is_passed_on(context: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    response = ApiVersionsResponse()
    late: Deferred[ApiVersionsResponse] = Deferred()
    served_by(monkeypatch, lambda _request, _context: late)
    responses: list[Any] = []
    context.broker.rpc.handle(context).addCallback(responses.append)
    assert not responses
    late.callback(response)
    assert responses == [response]


def test_the_result_of_a_fired_deferred_is_returned(context: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    response = ApiVersionsResponse()
    served_by(monkeypatch, lambda _request, _context: succeed(response))
    assert context.broker.rpc.handle(context) is response


def test_a_fired_deferred_that_waits_for_another_is_passed_on(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: Deferred[ApiVersionsResponse] = Deferred()
    served_by(monkeypatch, lambda _request, _context: succeed(None).addCallback(lambda _: late))
    responses: list[Any] = []
    context.broker.rpc.handle(context).addCallback(responses.append)
    late.callback(ApiVersionsResponse())
    assert len(responses) == 1


@pytest.mark.parametrize(
    ("act", "result"), [("drop_response", NoResponse.LOST), ({"error": "CLUSTER_AUTHORIZATION_FAILED"}, 31)], ids=str
)
def test_a_rule_fires_on_any_api_before_the_handler(context: RequestContext, act: Any, result: Any) -> None:
    faults: Any = context.broker._faults
    faults.add(parse_rule({"select": {"api": "ApiVersions"}, "phase": "before_append", "act": act}))
    responses: list[Any] = []
    context.origin.addCallback(responses.append)
    context.transport.accept(context)
    assert responses == [result] or responses[0].error_code == result


def test_a_context_names_itself(context: RequestContext) -> None:
    assert repr(context) == "<RequestContext 1: ApiVersions v0, correlation id 1, client None, call>"


def test_an_api_that_no_broker_serves_is_named() -> None:
    with pytest.raises(LookupError, match=r"broker_sim\.apis has no handler of Envelope"):
        HANDLERS.handler_of(ApiKey.ENVELOPE)
