from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.broker_sim.http_control.sent_records import ONE_BROKER

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("GET", "/clusers", None, 404, "there is no path /clusers; did you mean '/clusters'?; see /openapi.json"),
        ("PUT", "/clusters", None, 405, "PUT is not a method of /clusters: expected GET, POST"),
        ("POST", "/clusters", {"broker": 3}, 400, "unknown key 'broker'; did you mean 'brokers'?"),
        ("POST", "/clusters", {"brokers": "3"}, 400, 'brokers: expected a whole number, not "3"'),
        ("POST", "/clusters", [], 400, "the body: expected an object, not []"),
        ("POST", "/clusters/bad/rules", [{"act": "hold"}], 400, 'the body: expected an object, not [{"act": "hold"}]'),
        ("POST", "/clusters/bad/brokers/1/clock", {"jump_ms": "x"}, 400, 'jump_ms: expected a number or null, not "x"'),
        ("POST", "/clusters/bad/brokers/1/clock", {}, 400, "the body has no change of the clock"),
        ("POST", "/clusters", {"release": "9.9"}, 400, "release '9.9' is not emulated"),
        ("POST", "/clusters", {"topics": ["orders:0:1"]}, 400, "expected name:partitions:replication"),
        ("POST", "/clusters", {"config": {"min.insync.replica": 2}}, 400, "did you mean 'min.insync.replicas'?"),
        ("POST", "/clusters", {"name": "a/b"}, 400, "name: 'a/b' is not 1 to 100 letters"),
        ("POST", "/clusters/bad/brokers/7/kill", None, 404, "there is no broker 7: they are [1]"),
        ("POST", "/clusters/bad/brokers/one/kill", None, 404, "broker 'one' is not a whole number"),
        ("POST", "/clusters/bad/rules", None, 400, "addRule needs a body in JSON"),
        ("POST", "/clusters/bad/rules", {"act": {"kill": 7}}, 400, "act.kill: there is no broker 7"),
        ("POST", "/clusters/bad/rules", {"act": "disconect"}, 400, "did you mean 'disconnect'?"),
        ("POST", "/clusters/bad/rules", {"act": "disconnect", "when": {"acked_share": 0.5}}, 400, "acked_records"),
        ("GET", "/clusters/bad/rules/lost", None, 404, "there is no rule 'lost'"),
        ("GET", "/clusters/bad/topics/order", None, 404, "there is no topic 'order'; did you mean 'orders'?"),
        ("GET", "/clusters/bad/topics/orders/partitions/9", None, 404, "there is no partition orders-9"),
        ("GET", "/clusters/bad/topics/orders/records?partition=9", None, 404, "there is no partition orders-9"),
        ("GET", "/clusters/bad/topics/orders/records?limit=-1", None, 400, "limit: expected a whole number >= 0"),
        ("GET", "/clusters/bad/events?limit=-1", None, 400, "limit"),
        ("GET", "/clusters/bad/requests?limit=-1", None, 400, "limit"),
        ("GET", "/clusters/bad/topics/orders/records?from=1", None, 400, "unknown query parameter 'from'"),
        ("GET", "/clusters/bad/topics?x=1", None, 400, "x: listTopics has no query parameters"),
        ("GET", "/clusters/bad/wait/leader?topic=orders&partition=0&partition=1", None, 400, "partition: given twice"),
        ("GET", "/clusters/bad/wait/leader?topic=nope", None, 400, "there is no topic 'nope'"),
        ("GET", "/clusters/bad/wait/leader", None, 400, "topic: missing"),
        ("GET", "/clusters/bad/wait/rule?rule=none", None, 404, "there is no rule 'none'"),
        ("GET", "/clusters/bad/wait/quiet?timeout_ms=0", None, 400, "timeout_ms: 0 is not above 0"),
        ("GET", "/clusters/bad/wait/isr?topic=orders&brokers=a", None, 400, "is not a list of broker ids"),
        ("GET", "/clusters/bad/wait/group?group=g&timeout_ms=1", None, 504, "no such group"),
        ("GET", "/clusters/bad/events?kind=LeaderElectd", None, 400, "did you mean 'LeaderElected'?"),
        ("GET", "/clusters/bad/events?kind=LeaderElected&where=topik=1", None, 400, "did you mean 'topic'?"),
        ("GET", "/clusters/bad/requests?api=Prodce", None, 400, "did you mean 'Produce'?"),
        ("GET", "/clusters/bad/groups/g", None, 404, "there is no group 'g'"),
        ("GET", "/clusters/bad/transactions/t", None, 404, "there is no transactional id 't'"),
        ("POST", "/clusters/bad/links/1/9/cut", None, 404, "there is no broker 9"),
        ("POST", "/clusters/bad/links/1/3000/delay", {"delay_ms": -1}, 400, "delay_ms: -1 is below 0"),
        ("POST", "/clusters/bad/verify", {"count": "many"}, 400, "count: 'many' is not a number"),
        ("POST", "/clusters/bad/controllers/active/kill", None, 400, "one controller, which never fails"),
    ],
)
def test_bad_input_is_a_problem_that_names_it(
    control: Control, method: str, path: str, body: Any, status: int, detail: str
) -> None:
    if control.call("GET", "/clusters/bad").status == 404:
        control.new_cluster(name="bad", **ONE_BROKER)
    response = control.call(method, path, body)
    assert response.status == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert detail in response.json["detail"]
    assert response.json["status"] == status


def test_broken_json_is_refused(control: Control) -> None:
    response = control.call("POST", "/clusters", data=b"{")
    assert (response.status, response.json["detail"][:20]) == (400, "the body is not JSON")
