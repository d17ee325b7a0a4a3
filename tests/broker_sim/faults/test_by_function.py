from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Admin, Producer
from broker_sim.faults.rule import RuleError
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_cluster import DescribeClusterResponse
from protocol_specs.messages.produce import ProduceResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Message

SECONDS_MAX = 30


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    running = ThreadedCluster(brokers=1, topics=["orders:1:1"])
    yield running
    running.close()


def test_a_function_responds_returns_an_error_or_lets_the_broker_serve(cluster: ThreadedCluster) -> None:
    results: list[Message | ErrorCode | None] = [ErrorCode.NOT_LEADER_OR_FOLLOWER, None]
    seen: list[Any] = []

    def respond(request: Message) -> Message | ErrorCode | None:
        seen.append(request)
        return results.pop(0)

    rule = cluster.respond("Produce", respond, client="shop")
    with Producer(bootstrap_servers=cluster.bootstrap_servers, client_id="shop") as producer:
        assert producer.send("orders", b"v").result(SECONDS_MAX).offset == 0
    assert len(seen) == 2
    assert [request.NAME for request in seen] == ["Produce", "Produce"]
    [report] = cluster.rule_reports()
    assert (report.name, report.fired, report.problem) == (rule, 1, None)


def test_a_response_of_the_callers_own_is_sent(cluster: ThreadedCluster) -> None:
    cluster.respond("DescribeCluster", lambda _: DescribeClusterResponse(cluster_id="mine", controller_id=-1))
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert admin.describe_cluster().cluster_id == "mine"


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (ProduceResponse(), "the function has returned ProduceResponse"),
        (ZeroDivisionError("x"), "the function has failed: ZeroDivisionError: x"),
        (None, "never fired, nearest miss: the function has returned None"),
    ],
)
def test_a_function_without_a_response_leaves_the_request_to_the_broker(
    cluster: ThreadedCluster, result: Any, problem: str
) -> None:
    def respond(_: Message) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    cluster.respond("DescribeCluster", respond)
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert admin.describe_cluster().cluster_id == cluster.cluster.cluster_id
    [report] = cluster.rule_reports()
    assert report.problem is not None
    assert report.problem.startswith(problem)


def test_an_unknown_api_is_refused(cluster: ThreadedCluster) -> None:
    with pytest.raises(RuleError, match="did you mean 'Produce'"):
        cluster.respond("Prodce", lambda _: None)
