from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.errors import UnknownApi, UnsupportedVersion
from protocol_specs.fuzzing import strategies
from protocol_specs.messages.fetch import FetchRequest, FetchResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.produce import ProduceRequest, ProduceResponse
from tests.protocol_specs.every_message import for_every_message

if TYPE_CHECKING:
    from protocol_specs.message import Message

QUICK = settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def smallest(strategy: st.SearchStrategy[Any], condition: Any) -> Any:
    return find(strategy, condition, settings=QUICK)


@for_every_message
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_drawn_message_survives_its_own_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(strategies.message(cls, version))
    body = message.encode(version)
    assert cls.decode_from(version, body, 0) == (message, len(body))


def test_a_message_shrinks_to_its_zero_values() -> None:
    assert smallest(strategies.request("Produce", version=9), lambda _: True) == ProduceRequest()
    zero = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    assert smallest(strategies.message(MetadataRequest, 12), lambda _: True) == zero


def test_one_named_topic_shrinks_to_nothing_else() -> None:
    drawn = smallest(
        strategies.request("Metadata", version=4), lambda message: any(topic.name for topic in message.topics or ())
    )
    assert drawn == MetadataRequest(topics=[MetadataRequestTopic(name="0")], allow_auto_topic_creation=False)


@pytest.mark.parametrize(
    ("drawn", "condition"),
    [
        (strategies.response("Produce", version=10), lambda m: m.node_endpoints),
        (strategies.request("Fetch", version=12), lambda m: m.cluster_id is not None),
        (strategies.response("Fetch", version=4), lambda m: m.responses and m.responses[0].partitions),
        (strategies.response("Produce", version=9), lambda m: m.unknown_tags),
        (strategies.request("Produce", version=9), lambda m: m.topic_data and len(m.topic_data[0].name) > 126),
        (strategies.request("CreateTopics", version=7), lambda m: m.validate_only),
    ],
)
def test_what_a_version_may_carry_is_drawn(drawn: st.SearchStrategy[Message], condition: Any) -> None:
    assert condition(find(drawn, condition, settings=settings(QUICK, phases=[Phase.generate])))


def test_fields_of_other_versions_keep_their_defaults() -> None:
    @QUICK
    @given(strategies.message(FetchRequest, 3))
    def check(message: FetchRequest) -> None:
        assert message.rack_id == ""
        assert message.session_epoch == -1
        assert list(message.unknown_tags) == []

    check()


def test_given_values_replace_those_of_a_field_by_name_or_path() -> None:
    values = {"error_code": st.just(7), "responses.partitions.records": st.just(b"batch")}

    @settings(max_examples=30, deadline=None)
    @given(strategies.message(FetchResponse, 12, values=values))
    def check(message: FetchResponse) -> None:
        assert message.error_code == 7
        partitions = [partition for topic in message.responses for partition in topic.partitions]
        assert all((p.error_code, p.records) == (7, b"batch") for p in partitions)

    check()


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match=r"ProduceRequest has no field 'ack': did you mean acks\?"):
        strategies.message(ProduceRequest, 9, values={"ack": st.just(1)})
    with pytest.raises(UnsupportedVersion, match="0-13"):
        strategies.message(ProduceResponse, 14)
    with pytest.raises(UnknownApi, match="did you mean Produce"):
        strategies.request("Produse", version=3)
    assert strategies.request(0, version=3) is strategies.message(registry.request_type(0), 3)
