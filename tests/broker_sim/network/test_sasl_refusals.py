"""The texts of error responses in the middle of an authentication."""

from __future__ import annotations

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.network.sasl_refusals import with_refusal_text
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol_specs.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from protocol_specs.messages.unregister_broker import UnregisterBrokerResponse

REFUSED = ErrorCode.ILLEGAL_SASL_STATE
OF_THE_ERROR = "Request is not valid given the current SASL state."


def test_some_take_the_text_of_the_exception():
    response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=REFUSED)])
    refused = with_refusal_text(response, ApiKey.CREATE_TOPICS, "unexpected", behaviour_of("4.3.1"))
    assert [topic.error_message for topic in refused.topics] == ["unexpected"]


def test_others_take_the_text_of_the_error():
    response = DescribeConfigsResponse(results=[DescribeConfigsResult(error_code=REFUSED, resource_name="t")])
    refused = with_refusal_text(response, ApiKey.DESCRIBE_CONFIGS, "unexpected", behaviour_of("3.7.2"))
    assert [result.error_message for result in refused.results] == [OF_THE_ERROR]


@pytest.mark.parametrize(("release", "text"), [("3.7.2", ""), ("4.0.0", ""), ("4.1.1", "unexpected")])
def test_unregister_broker_has_one_from_4_1_on(release, text):
    response = UnregisterBrokerResponse(error_code=REFUSED, error_message="")
    refused = with_refusal_text(response, ApiKey.UNREGISTER_BROKER, "unexpected", behaviour_of(release))
    assert refused.error_message == text
