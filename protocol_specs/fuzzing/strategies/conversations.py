"""Strategies for the traffic of one connection: requests, pipelined or not, and their responses in order.

Correlation ids ascend from 0, as those of Kafka's clients do. A broker responds to the requests of a connection in
order (see KafkaChannel), each response with the correlation id of its request; Produce with acks of 0 has no response.
A client that reads anything else closes the connection, as Kafka's NetworkClient does. `noticed` is False for a fault
that a careful peer can miss: bytes of another version are sometimes readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import encode_request, encode_response, framed
from protocol_specs.fuzzing.rules import shown
from protocol_specs.fuzzing.strategies.frames import draw_request_type
from protocol_specs.fuzzing.strategies.messages import broken, message
from protocol_specs.messages.headers import RequestHeader, request_header_version, response_header_version

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from protocol_specs.message import Message
    from protocol_specs.version_range import VersionRange

EXCHANGES_MAX: Final = 4
"""How many requests a conversation has at most by default."""

_INT32_MAX: Final = 2**31 - 1
_CLIENT_IDS: Final = (None, "producer-1", "", "клиент")
_ACKS: Final = st.sampled_from((1, -1, 0))
_ACKS_WITH_RESPONSE: Final = st.sampled_from((1, -1))
_SIZE_BYTES: Final = 4
_CORRELATION_BYTES: Final = 4


class Exchange(NamedTuple):
    """A request and its response, as messages and as frames with their size; None where no response is due."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    request: Message
    response: Message | None
    request_frame: bytes
    response_frame: bytes | None

    def __repr__(self) -> str:
        name = f"{ApiKey.of(self.api_key).api_name} v{self.version}"
        response = "no response" if self.response_frame is None else shown(self.response_frame)
        return f"<{name}, correlation id {self.correlation_id}: {shown(self.request_frame)} -> {response}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One connection: the valid `exchanges`, and the frames that are sent in either direction.

    `bursts` are the numbers of requests that the client sends before it waits for their responses. `rule` is the one
    that a side breaks, in the frame `broken_frame` of `requests` or of `responses`; empty in a valid conversation. A
    frame that was cut is the last one of its direction.
    """

    exchanges: Sequence[Exchange]
    bursts: Sequence[int]
    requests: Sequence[bytes]
    responses: Sequence[bytes]
    rule: str = ""
    noticed: bool = False
    broken_side: str = ""
    broken_frame: int = -1


@st.composite
def conversations(
    draw: DrawFn,
    *,
    versions: Mapping[int, VersionRange] | None = None,
    exchanges_max: int = EXCHANGES_MAX,
) -> Conversation:
    """Draw valid conversations; `versions` are those that are served, by API key: all declared ones if not given."""
    return _valid(draw, versions, 1, exchanges_max)


@st.composite
def broken_conversations(
    draw: DrawFn,
    *,
    versions: Mapping[int, VersionRange] | None = None,
    exchanges_max: int = EXCHANGES_MAX,
    rules: Sequence[str] | None = None,
) -> Conversation:
    """Draw conversations with one rule broken; `rules` are a selection of CONVERSATION_RULES."""
    rule = draw(st.sampled_from(CONVERSATION_RULES if rules is None else rules))
    fault = _FAULTS[rule]
    exchanges_max = max(exchanges_max, fault.exchanges_min)
    valid = _valid(draw, versions, fault.exchanges_min, exchanges_max, always_respond=True)
    index = draw(st.integers(0, len(valid.exchanges) - fault.exchanges_min))
    requests, responses = list(valid.requests), list(valid.responses)
    frames = requests if fault.side == "request" else responses
    fault.broken(draw, valid, index, frames)
    if fault.side == "request":
        del responses[index:]  # the broker closes the connection instead
    return replace(
        valid,
        requests=requests,
        responses=responses,
        rule=rule,
        noticed=fault.noticed,
        broken_side=fault.side,
        broken_frame=index,
    )


_Breaker: TypeAlias = Callable[["DrawFn", Conversation, int, list[bytes]], None]
"""Breaks the frames of one side at an index, in place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    side: str
    noticed: bool
    exchanges_min: int
    broken: _Breaker


def _valid(
    draw: DrawFn,
    versions: Mapping[int, VersionRange] | None,
    exchanges_min: int,
    exchanges_max: int,
    *,
    always_respond: bool = False,
) -> Conversation:
    count = draw(st.integers(exchanges_min, exchanges_max))
    client_id = draw(st.sampled_from(_CLIENT_IDS))
    exchanges = [_exchange(draw, versions, index, client_id, always_respond) for index in range(count)]
    bursts: list[int] = []
    while sum(bursts) < count:
        bursts.append(draw(st.integers(1, count - sum(bursts))))
    return Conversation(
        exchanges=exchanges,
        bursts=bursts,
        requests=[exchange.request_frame for exchange in exchanges],
        responses=[exchange.response_frame for exchange in exchanges if exchange.response_frame is not None],
    )


def _exchange(
    draw: DrawFn,
    versions: Mapping[int, VersionRange] | None,
    correlation_id: int,
    client_id: str | None,
    always_respond: bool,  # noqa: FBT001 - passed on
) -> Exchange:
    cls, version, _ = draw_request_type(draw, versions)
    values = {"acks": _ACKS_WITH_RESPONSE if always_respond else _ACKS} if cls.API_KEY == ApiKey.PRODUCE else None
    request = draw(message(cls, version, values=values))
    response = response_frame = None
    if cls.API_KEY != ApiKey.PRODUCE or request.acks != 0:  # type: ignore[attr-defined]
        response = draw(message(registry.response_type(cls.API_KEY), version))
        response_frame = encode_response(response, version, correlation_id=correlation_id)
    if request_header_version(cls, version) == 0:
        client_id = ""  # a reader returns it where the header has none
    return Exchange(
        api_key=cls.API_KEY,
        version=version,
        correlation_id=correlation_id,
        client_id=client_id,
        request=request,
        response=response,
        request_frame=encode_request(request, version, correlation_id=correlation_id, client_id=client_id),
        response_frame=response_frame,
    )


def _foreign_correlation_id(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    ids = [exchange.correlation_id for exchange in valid.exchanges]
    other = draw(st.integers(-_INT32_MAX - 1, _INT32_MAX).filter(lambda drawn: drawn not in ids))
    frame = frames[index]
    head, rest = frame[:_SIZE_BYTES], frame[_SIZE_BYTES + _CORRELATION_BYTES :]
    frames[index] = head + other.to_bytes(_CORRELATION_BYTES, "big", signed=True) + rest


def _swapped(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    del draw, valid
    frames[index], frames[index + 1] = frames[index + 1], frames[index]


def _missing(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    del draw, valid
    del frames[index]


def _twice(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    del draw, valid
    frames.insert(index, frames[index])


def _other_version(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    exchange = valid.exchanges[index]
    cls = registry.response_type(exchange.api_key)
    others = [version for version in cls.VERSIONS if version != exchange.version] or [exchange.version]
    frames[index] = _response(draw, cls, draw(st.sampled_from(others)), exchange.correlation_id)


def _other_api(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    exchange = valid.exchanges[index]
    cls = registry.response_type(draw(st.sampled_from([key for key in ApiKey if key != exchange.api_key])))
    frames[index] = _response(draw, cls, draw(st.sampled_from(list(cls.VERSIONS))), exchange.correlation_id)


def _response(draw: DrawFn, cls: type[Message], version: int, correlation_id: int) -> bytes:
    return encode_response(draw(message(cls, version)), version, correlation_id=correlation_id)


def _cut(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    """The connection ends inside a frame: nothing follows."""
    del valid
    frames[index] = frames[index][: draw(st.integers(1, len(frames[index]) - 1))]
    del frames[index + 1 :]


def _negative_size(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    del valid
    size = draw(st.integers(-_INT32_MAX - 1, -1))
    frames[index] = size.to_bytes(_SIZE_BYTES, "big", signed=True) + frames[index][_SIZE_BYTES:]


def _refused_response(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    exchange = valid.exchanges[index]
    cls = registry.response_type(exchange.api_key)
    head = _SIZE_BYTES + _CORRELATION_BYTES + response_header_version(cls, exchange.version)
    frames[index] = _with_refused_body(draw, cls, exchange.version, frames[index], head)


def _refused_request(draw: DrawFn, valid: Conversation, index: int, frames: list[bytes]) -> None:
    exchange = valid.exchanges[index]
    cls = registry.request_type(exchange.api_key)
    head = RequestHeader.decode_from(request_header_version(cls, exchange.version), frames[index], _SIZE_BYTES)[1]
    frames[index] = _with_refused_body(draw, cls, exchange.version, frames[index], head)


def _with_refused_body(draw: DrawFn, cls: type[Message], version: int, frame: bytes, head: int) -> bytes:
    data, _, _ = broken(draw, cls, version, frame[head:], refused=True)
    return framed(frame[_SIZE_BYTES:head] + data)


def _fault(side: str, breaker: _Breaker, *, noticed: bool = True, exchanges_min: int = 1) -> _Fault:
    return _Fault(side=side, noticed=noticed, exchanges_min=exchanges_min, broken=breaker)


_FAULTS: Final[Mapping[str, _Fault]] = {
    "a response has the correlation id of no request": _fault("response", _foreign_correlation_id),
    "two responses are swapped": _fault("response", _swapped, exchanges_min=2),
    "a response is missing": _fault("response", _missing),
    "a response comes twice": _fault("response", _twice),
    "a response ends early": _fault("response", _cut),
    "the size of a response is negative": _fault("response", _negative_size),
    "the body of a response cannot be read": _fault("response", _refused_response),
    "a response is of another version": _fault("response", _other_version, noticed=False),
    "a response is of another API": _fault("response", _other_api, noticed=False),
    "a request ends early": _fault("request", _cut),
    "the size of a request is negative": _fault("request", _negative_size),
    "the body of a request cannot be read": _fault("request", _refused_request),
}

CONVERSATION_RULES: Final = tuple(_FAULTS)
"""Every rule that can be broken."""
