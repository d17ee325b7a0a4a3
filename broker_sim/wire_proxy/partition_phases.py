"""The phases of a request's handler at a proxy: before the request is passed on, and when its response has come.

A broker applies them to each partition of a Produce, and `before_append` to each of a Fetch, to other requests as a
whole. A proxy does not see the append: both phases after it come with the response. A partition that a rule refuses is
taken out of a Produce, so that the broker does not append it; of a Fetch, whose sessions need every partition, only the
response changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.control.events import BatchAppended, ProduceCompleted
from broker_sim.faults.interception import Outcome, Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import decode_response, encode_response
from protocol_specs.messages.fetch import FetchableTopicResponse, PartitionData
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.faults.interception import Interception
    from broker_sim.wire_proxy.exchange import Exchange
    from broker_sim.wire_proxy.wire_proxy import WireProxy

__all__ = ["PartitionPhases"]

UNKNOWN_OFFSET: Final = -1
AFTER: Final = (Phase.AFTER_APPEND, Phase.AFTER_REPLICATION)
CLOSES: Final = frozenset({Outcome.DISCONNECT, Outcome.CUT})
WAS_APPENDED: Final = frozenset({ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT})


class PartitionPhases:
    """The phases of one exchange."""

    def __init__(self, proxy: WireProxy, exchange: Exchange) -> None:
        self.refused_whole: ErrorCode | None = None
        """The error of a rule for the request as a whole."""
        self._proxy = proxy
        self._exchange = exchange
        self._refused: dict[tuple[str, int], ErrorCode] = {}
        self._topics: dict[str, Any] = {}
        """The topics of the request by name, as it has them."""
        self._records: dict[tuple[str, int], int] = {}
        """The number of records for each partition that were passed on."""

    # Before the request is passed on.

    @property
    def wants_request(self) -> bool:
        """True if a rule could fire before the append."""
        return Phase.BEFORE_APPEND in self._proxy.faults.open_phases

    async def before_append(self) -> bool:
        """Apply the phase; False to close the connection."""
        places: list[tuple[str | None, int | None]] = [*self._partitions()]
        for topic, partition in places or [(None, None)]:
            interception = await self._intercepted(Phase.BEFORE_APPEND, topic, partition)
            if interception is None:
                continue
            if interception.outcome in CLOSES:
                return False
            if interception.outcome is Outcome.DROP_RESPONSE:
                self._exchange.response_lost = True
            elif interception.outcome is Outcome.ERROR and (topic is None or partition is None):
                self.refused_whole = interception.error_code
                break
            elif interception.outcome is Outcome.ERROR:
                assert topic is not None
                assert partition is not None
                self._refused[topic, partition] = interception.error_code
        if self._refused and self._exchange.api_key is ApiKey.PRODUCE:
            self._take_out_refused()
        return True

    def _take_out_refused(self) -> None:
        exchange: Any = self._exchange
        request = exchange.request
        for topic in request.topic_data:
            name = self._name_of(topic)
            topic.partition_data = [each for each in topic.partition_data if (name, each.index) not in self._refused]
        request.topic_data = [topic for topic in request.topic_data if topic.partition_data]
        exchange.frame = exchange.frame[: exchange.body_start] + request.encode(exchange.api_version)

    @property
    def nothing_left(self) -> bool:
        """True if every partition of a Produce is refused."""
        request: Any = self._exchange.request
        return bool(self._refused) and self._exchange.api_key is ApiKey.PRODUCE and not request.topic_data

    def refusal(self) -> bytes:
        """Return the response to a Produce of which nothing is left."""
        response = ProduceResponse(responses=[])
        self._add_refused_batches(response)
        return self._encoded(response)

    def passed_on(self) -> None:
        """Record the batches of a Produce that go to the broker."""
        request: Any = self._exchange.parsed() if self._exchange.api_key is ApiKey.PRODUCE else None
        if request is None or not self._proxy.journal.full:
            return
        for topic in request.topic_data:
            for partition in topic.partition_data:
                self._note_batches(self._name_of(topic), partition)
                if request.acks == 0:
                    self._note_completion(self._name_of(topic), partition.index, ErrorCode.NONE, UNKNOWN_OFFSET)

    def _note_batches(self, topic: str, partition: Any) -> None:
        try:
            for header, batch in iterate_batches(partition.records or b""):
                key = topic, partition.index
                self._records[key] = self._records.get(key, 0) + header.records_count
                self._record(
                    BatchAppended,
                    topic=topic,
                    partition=partition.index,
                    base_offset=UNKNOWN_OFFSET,
                    last_offset=UNKNOWN_OFFSET,
                    leader_epoch=-1,
                    records=header.records_count,
                    size=len(batch),
                    producer_id=header.producer_id,
                    producer_epoch=header.producer_epoch,
                    base_sequence=header.base_sequence,
                )
        except ProtocolError:
            return  # of an older format, or invalid: for the broker to judge

    # When the response has come.

    @property
    def wants_response(self) -> bool:
        """True if the response is of interest here."""
        api_key = self._exchange.api_key
        return api_key is ApiKey.PRODUCE or (api_key is ApiKey.FETCH and bool(self._refused))

    async def responded(self, frame: bytes) -> bytes | None:
        """Apply the phases after the append; returns the response for the client, None to close the connection."""
        exchange = self._exchange
        if exchange.request is None:
            return frame
        try:
            _, response = decode_response(response_type(exchange.api_key), exchange.api_version, frame[4:])
        except ProtocolError:
            return frame
        changed = bool(self._refused)
        if exchange.api_key is ApiKey.FETCH:
            self._refuse_reads(response)
        else:
            errors = await self._after_append(response)
            if errors is None:
                return None
            changed = self._give_errors(response, errors) or changed
            self._add_refused_batches(response)
        return self._encoded(response) if changed else frame

    async def _after_append(self, response: Any) -> dict[tuple[str, int], ErrorCode] | None:
        errors: dict[tuple[str, int], ErrorCode] = {}
        results = [(self._name_of(topic), each) for topic in response.responses for each in topic.partition_responses]
        for topic, result in results:
            self._note_completion(topic, result.index, result.error_code, result.base_offset)
        for phase in AFTER:
            if phase not in self._proxy.faults.open_phases:
                continue
            for topic, result in results:
                if result.error_code not in WAS_APPENDED:
                    continue
                interception = await self._intercepted(phase, topic, result.index)
                if interception is None:
                    continue
                if interception.outcome in CLOSES:
                    return None
                if interception.outcome is Outcome.DROP_RESPONSE:
                    self._exchange.response_lost = True
                elif interception.outcome is Outcome.ERROR:
                    errors[topic, result.index] = interception.error_code
        return errors

    def _give_errors(self, response: Any, errors: dict[tuple[str, int], ErrorCode]) -> bool:
        for topic in response.responses:
            name = self._name_of(topic)
            topic.partition_responses = [
                _refused_batch(each.index, errors[name, each.index]) if (name, each.index) in errors else each
                for each in topic.partition_responses
            ]
        return bool(errors)

    def _add_refused_batches(self, response: Any) -> None:
        for (name, index), error_code in self._refused.items():
            self._note_completion(name, index, error_code, UNKNOWN_OFFSET)
            topic = next((each for each in response.responses if self._name_of(each) == name), None)
            if topic is None:
                requested = self._topics[name]
                topic = TopicProduceResponse(name=requested.name, topic_id=requested.topic_id, partition_responses=[])
                response.responses.append(topic)
            topic.partition_responses.append(_refused_batch(index, error_code))

    def _refuse_reads(self, response: Any) -> None:
        for (name, index), error_code in self._refused.items():
            refused = PartitionData(partition_index=index, error_code=error_code, high_watermark=-1, records=b"")
            topic = next((each for each in response.responses if self._name_of(each) == name), None)
            if topic is None:
                requested = self._topics[name]
                topic = FetchableTopicResponse(topic=requested.topic, topic_id=requested.topic_id, partitions=[])
                response.responses.append(topic)
            topic.partitions = [each for each in topic.partitions if each.partition_index != index] + [refused]

    # Both.

    async def _intercepted(self, phase: Phase, topic: str | None, partition: int | None) -> Interception | None:
        """Return the decision of the rules after its wait, None to go on."""
        interception = self._proxy.intercept(phase, self._exchange, topic, partition)
        if interception is not None and interception.wait is not None:
            await interception.wait
        return interception

    def _partitions(self) -> Iterator[tuple[str, int]]:
        request: Any = self._exchange.parsed()
        if request is None:
            return
        if self._exchange.api_key is ApiKey.PRODUCE:
            for topic in request.topic_data:
                self._topics[self._name_of(topic)] = topic
                for entry in topic.partition_data:
                    yield self._name_of(topic), entry.index
        elif self._exchange.api_key is ApiKey.FETCH:
            for topic in request.topics:
                self._topics[self._name_of(topic)] = topic
                for entry in topic.partitions:
                    yield self._name_of(topic), entry.partition

    def _name_of(self, topic: Any) -> str:
        named: str = topic.topic if self._exchange.api_key is ApiKey.FETCH else topic.name
        return named or self._proxy.cluster.topic_names.get(topic.topic_id, "")

    def _encoded(self, response: Any) -> bytes:
        exchange = self._exchange
        return encode_response(response, exchange.api_version, correlation_id=exchange.correlation_id)

    def _note_completion(self, topic: str, partition: int, error_code: int, base_offset: int) -> None:
        if not self._proxy.journal.full:
            return
        records = self._records.get((topic, partition), 0)
        request: Any = self._exchange.request
        self._record(
            ProduceCompleted,
            topic=topic,
            partition=partition,
            error_code=int(error_code),
            base_offset=base_offset,
            required_offset=UNKNOWN_OFFSET if error_code else base_offset + records,
            high_watermark=UNKNOWN_OFFSET,
            leader_epoch=-1,
            isr=(),
            acks=request.acks,
        )

    def _record(self, kind: Any, **values: Any) -> None:
        journal = self._proxy.journal
        exchange = self._exchange
        journal.append(
            kind(time_us=journal.now_us(), broker_id=exchange.node_id, request_id=exchange.request_id, **values)
        )


def _refused_batch(index: int, error_code: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error_code, base_offset=UNKNOWN_OFFSET)
