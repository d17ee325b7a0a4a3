"""Values by the entity or the names of their fields."""

from protocol_specs.entities import GROUP_ID, PRODUCER_ID, TRANSACTIONAL_ID, entity_values, named_values
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.share_fetch import ShareFetchRequest


def test_values_of_arrays_come_one_by_one():
    assert list(entity_values(DescribeGroupsRequest(groups=["a", "b"]), GROUP_ID)) == ["a", "b"]


def test_nested_structs_are_searched():
    transaction = AddPartitionsToTxnTransaction(transactional_id="t", producer_id=7, producer_epoch=0, topics=[])
    request = AddPartitionsToTxnRequest(transactions=[transaction])
    assert "t" in list(entity_values(request, TRANSACTIONAL_ID))
    assert 7 in list(entity_values(request, PRODUCER_ID))


def test_null_is_left_out():
    request = ShareFetchRequest(group_id=None, member_id=None)
    assert list(entity_values(request, GROUP_ID)) == []
    assert list(named_values(request, frozenset({"member_id"}))) == []
