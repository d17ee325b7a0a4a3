from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from protocol_specs.codec.annotate import annotate
from protocol_specs.errors import MessageDecodeError
from protocol_specs.fuzzing import strategies
from protocol_specs.fuzzing.rules import RULES
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.produce import ProduceResponse
from tests.protocol_specs.every_message import for_every_message

if TYPE_CHECKING:
    from protocol_specs.fuzzing.rules import Rule
    from protocol_specs.message import Message

QUICK = settings(max_examples=1000, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@for_every_message
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_reader_refuses_and_takes_what_is_predicted(cls: type[Message], version: int, data: st.DataObject) -> None:
    broken = data.draw(strategies.nearly_valid(cls, version))
    if broken.refused:
        for read in (cls.decode, lambda version, body: annotate(cls, version, body)):
            with pytest.raises(MessageDecodeError) as raised:
                read(version, broken.data)
            assert raised.value.position <= len(broken.data)
    else:
        _, end = cls.decode_from(version, broken.data, 0)
        spans = annotate(cls, version, broken.data)
        assert end == (spans[-1].stop if spans else 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_broken_somewhere(rule: Rule) -> None:
    messages = ((ProduceResponse, 9), (FetchRequest, 15), (MetadataRequest, 12), (DescribeTopicPartitionsRequest, 0))
    broken = find(
        st.sampled_from(messages).flatmap(lambda which: strategies.nearly_valid(*which, rules=[rule.name])),
        lambda _: True,
        settings=settings(QUICK, phases=[Phase.generate]),
    )
    assert (broken.rule, broken.refused) == (rule.name, rule.refused)


def test_broken_bytes_shrink_to_the_shortest() -> None:
    broken = find(
        strategies.nearly_valid(MetadataRequest, 1), lambda found: found.rule == "the bytes end early", settings=QUICK
    )
    assert broken == (b"", "the bytes end early", True)
