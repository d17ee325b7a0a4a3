from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis import api_versions
from broker_sim.apis.kafka_apis import HANDLERS
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import encode_response
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Callable


def make_request(name: str = "test", version: str = "1.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize(("release", "produce", "own"), [("4.3.1", (0, 13), (0, 4)), ("3.7.2", (0, 10), (0, 3))])
def test_the_list_is_what_has_a_handler_at_the_versions_of_the_release(
    bench: Callable[..., Any], release: str, produce: tuple[int, int], own: tuple[int, int]
) -> None:
    response = bench(release=release).exchange(make_request(), 0)
    ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    listed = releases.get(release).api_versions
    assert list(ranges) == [key for key in HANDLERS.served if key in listed]
    assert (ranges[0], ranges[18]) == (produce, own)


def test_produce_is_listed_from_0_and_taken_from_3_on_4_3(bench: Callable[..., Any]) -> None:
    apis = bench().cluster.brokers[1].apis
    assert (apis.advertised[0].lowest, apis.enabled[0].start) == (0, 3)


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a", ""), ("-a", "1"), ("a", "1-"), ("a b", "1"), ("a_b", "1")]
)
def test_an_illegal_software_name_or_version_is_refused(bench: Callable[..., Any], name: str, version: str) -> None:
    response = bench().exchange(make_request(name, version), 3)
    assert (response.error_code, response.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_a_legal_name_is_remembered_with_the_connection(bench: Callable[..., Any]) -> None:
    request = make_request("apache-kafka-java", "3.7.2")
    context = bench().context(request, 4)
    api_versions.handle(request, context)
    connection = context.connection
    assert (connection.client_software_name, connection.client_software_version) == ("apache-kafka-java", "3.7.2")


def test_version_3_hides_features_that_start_at_0_and_version_4_shows_them(bench: Callable[..., Any]) -> None:
    api = bench()
    shown = {
        version: [item.name for item in api.exchange(make_request(), version).supported_features] for version in (3, 4)
    }
    assert shown[3] == ["metadata.version"]
    assert "transaction.version" in shown[4]
    assert api.exchange(make_request(), 4).finalized_features_epoch >= 0


@pytest.mark.parametrize("version", range(5))
def test_the_prepared_response_has_the_bytes_of_the_encoder(bench: Callable[..., Any], version: int) -> None:
    api = bench()
    epochs = {api.cluster.brokers[1].metadata_cache.image.version}
    for topic in (None, "orders"):  # a change of the metadata has another epoch
        if topic is not None:
            api.call(
                CreateTopicsRequest(
                    topics=[CreatableTopic(name=topic, num_partitions=1, replication_factor=1)], timeout_ms=1_000
                ),
                7,
            )
            api.settle()
            epochs.add(api.cluster.brokers[1].metadata_cache.image.version)
        context = api.context(make_request(), version)
        expected = encode_response(api_versions.handle(make_request(), context), version, correlation_id=7)
        context.correlation_id, context.transport = 7, SimpleNamespace(takes_frames=True)
        for _ in range(2):  # from the second request on the bytes are kept
            assert api_versions.handle(make_request(), context) == expected
    assert len(epochs) == 2
