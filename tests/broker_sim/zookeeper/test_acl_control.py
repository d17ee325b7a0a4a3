"""Access control entries of brokers in ZooKeeper mode: every broker changes them, and all follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.zookeeper.acl_control import AclCache
from broker_sim.zookeeper.messages import ZOOKEEPER_ID
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol_specs.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.zookeeper.conftest import ZooKeeperCluster

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
SIMPLE = "kafka.security.auth.SimpleAclAuthorizer"


def entry(name: str = "t", *, operation: int = 4, principal: str = "User:a", kind: int = 2) -> AclCreation:
    return AclCreation(
        resource_type=kind, resource_name=name, principal=principal, host="*", operation=operation, permission_type=3
    )


def selecting(name: str | None = None, principal: str | None = None) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=name,
        pattern_type_filter=1,
        principal_filter=principal,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


class Guarded:
    """A cluster of three brokers with an authorizer, and the requests about its entries."""

    def __init__(self, cluster: ZooKeeperCluster) -> None:
        self.cluster = cluster

    def start(self, request: Any, broker: int) -> list[Any]:
        """Send a request; the list has the response once it is there."""
        responses: list[Any] = []
        PlainCalls(self.cluster.broker(broker)).call(request, 1).addCallback(responses.append)
        return responses

    def call(self, request: Any, broker: int = 1) -> Any:
        responses = self.start(request, broker)
        self.cluster.run(ms=1_000)
        return responses[0]

    def create(self, *creations: AclCreation, broker: int = 1) -> list[tuple[int, str | None]]:
        results = self.call(CreateAclsRequest(creations=list(creations)), broker).results
        return [(each.error_code, each.error_message) for each in results]

    def delete(self, *filters: DeleteAclsFilter, broker: int = 1) -> list[list[str]]:
        results = self.call(DeleteAclsRequest(filters=list(filters)), broker).filter_results
        return [[f"{acl.resource_name} {acl.principal}" for acl in each.matching_acls] for each in results]

    def shown(self, broker: int) -> list[str]:
        request = DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        resources = self.call(request, broker).resources
        return [f"{each.resource_name} {acl.principal}" for each in resources for acl in each.acls]

    def may_write(self, broker: int, name: str = "t") -> bool:
        authorizer = self.cluster.broker(broker).authorizer
        assert authorizer is not None
        return authorizer.allows("User:a", "h", AclOperation.WRITE, ResourceType.TOPIC, name)


@pytest.fixture
def guarded(zookeeper_cluster: Callable[..., Any]) -> Callable[..., Guarded]:
    def make(release: str = "2.7", name: str = ACL_AUTHORIZER) -> Guarded:
        config = {"authorizer.class.name": name, "allow.everyone.if.no.acl.found": "true"}
        return Guarded(zookeeper_cluster(release, config=config))

    return make


@pytest.mark.parametrize(("release", "name"), [("2.0", SIMPLE), ("2.7", ACL_AUTHORIZER), ("3.7.2", ACL_AUTHORIZER)])
def test_every_broker_serves_the_requests_and_all_follow(
    guarded: Callable[..., Guarded], release: str, name: str
) -> None:
    made = guarded(release, name)
    assert made.may_write(2)
    made.create(entry(principal="User:b"), broker=3)
    assert [made.may_write(each) for each in (1, 2, 3)] == [False] * 3
    assert made.shown(2) == ["t User:b"]
    assert made.delete(selecting("t"), broker=2) == [["t User:b"]]
    assert [made.may_write(each) for each in (1, 2, 3)] == [True] * 3
    assert made.cluster.zookeeper.acls.acls == {}


def test_an_entry_that_exists_is_written_again_without_a_notification(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.create(entry())
    assert made.create(entry()) == [(0, "")]
    [stored] = made.cluster.zookeeper.acls.acls.values()
    assert (len(stored.acls), stored.version) == (1, 1)
    assert len(made.cluster.requests("ZooKeeperCreateAclChange")) == 1


def test_a_broker_whose_write_comes_late_reads_again(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.create(entry(principal="User:1"))
    made.cluster.hold(2, ZOOKEEPER_ID)
    late = made.start(CreateAclsRequest(creations=[entry(principal="User:2")]), 2)
    made.create(entry(principal="User:3"), broker=3)
    made.cluster.release(2, ZOOKEEPER_ID)
    made.cluster.run(ms=1_000)
    assert [each.error_code for each in late[0].results] == [0]
    assert [made.shown(broker) for broker in (1, 2, 3)] == [["t User:1", "t User:2", "t User:3"]] * 3
    [stored] = made.cluster.zookeeper.acls.acls.values()
    assert stored.version == 2
    assert len(made.cluster.requests("ZooKeeperSetAcls")) == 4


def test_after_too_many_conflicts_the_request_fails(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.cluster.zookeeper.acls.write = lambda *_: None  # type: ignore[method-assign,assignment]
    responses = made.start(CreateAclsRequest(creations=[entry()]), 1)
    made.cluster.run(ms=900)
    assert responses == []
    made.cluster.run(ms=700)
    assert [each.error_code for each in responses[0].results] == [-1]
    assert made.delete(selecting("t")) == [[]]


def test_a_broker_that_was_away_reads_what_it_has_missed(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.cluster.cut_from_zookeeper(3)
    made.create(entry(principal="User:b"))
    assert (made.may_write(1), made.may_write(3)) == (False, True)
    made.cluster.run_out_session()
    made.cluster.back_to_zookeeper(3)
    made.cluster.run_out_session()
    assert not made.may_write(3)


def test_a_broker_knows_the_entries_when_it_has_started(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.create(entry(principal="User:b"))
    made.cluster.cluster.broker(3).kill()
    made.cluster.run_out_session()
    made.cluster.broker(3).start()
    made.cluster.run(ms=2_000)
    assert not made.may_write(3)


def test_an_entry_is_a_result_of_the_first_filter_that_selects_it(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    made.create(entry(), entry(principal="User:b"), entry("u"))
    assert made.delete(selecting("t", "User:b"), selecting("t"), selecting()) == [
        ["t User:b"],
        ["t User:a"],
        ["u User:a"],
    ]


def test_a_principal_without_a_type_fails_the_entries_of_its_pattern(guarded: Callable[..., Guarded]) -> None:
    made = guarded()
    mixed = [entry(), entry(principal="bob"), entry("u")]
    assert made.create(*mixed) == [(-1, None), (-1, None), (0, "")]
    text = "expected a string in format principalType:principalName but got bob"
    cause = f"java.lang.IllegalArgumentException: {text}"
    assert guarded("2.4").create(*mixed) == [(-1, cause), (-1, cause), (0, None)]
    simple = guarded("2.3", SIMPLE)
    assert simple.create(*mixed) == [(0, None), (42, text), (0, None)]


def test_codes_of_filters_fail_the_whole_request(guarded: Callable[..., Guarded]) -> None:
    assert guarded().create(entry(), entry(operation=1)) == [(-1, None), (-1, None)]


def test_a_cache_has_another_index_after_each_change() -> None:
    cache = AclCache()
    before = cache.entries
    cache.update({})
    assert cache.entries is not before
