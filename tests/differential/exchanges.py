"""Replay of recorded conversations: requests that a one-node cluster was sent in order, and what came back.

The requests speak of ids that their broker gave (topics, producers, fetch sessions). A replay learns which of our ids
stands for which, from the pairs of responses, and sends ours; then both responses are normalised and compared.
"""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.json_form import from_json, to_json
from protocol_specs.registry import request_type, response_type
from protocol_specs.uuids import from_text
from tests.differential.cases.describe_quorum import steady
from tests.differential.normalise import Normaliser
from tests.differential.probe import CLOSED, RESPONSE_SECONDS, SILENT, Connection, attempts

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = Path(__file__).parents[1] / "data" / "exchanges.jsonl.gz"
CLIENT_ID: Final = "t"
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
"""What the recorded cluster was given besides its defaults."""

SILENCE_SECONDS: Final = 0.3
OUTCOMES: Final = {"connection closed": CLOSED, "no response": SILENT}
LOADING: Final = 14
LEARNT: Final = ("topicId", "producerId", "sessionId", "clientInstanceId", "subscriptionId", "memberId")
MASKED: Final = "<bytes>"
"""What the recorder has written in place of a token's HMAC, also of an empty one."""
ANY_HMAC: Final = "aG1hYw=="
NOTHING: Final = (None, 0, -1, "", "AAAAAAAAAAAAAAAAAAAAAA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its outcome on the real broker of `release`; `response` is JSON, CLOSED or SILENT."""

    release: str
    listener: str
    case: str
    api_key: int
    version: int
    request: Any
    response: Any

    @property
    def key(self) -> tuple[str, int, int]:
        """The identity of the exchange within its release."""
        return self.case, self.api_key, self.version


PRODUCER_IDS_BEGIN: Final = "init producer id: no transactional id"
FIRST_INITIALIZATION: Final = Exchange(
    release="",
    listener="broker",
    case="init producer id: transactional, first time",
    api_key=ApiKey.INIT_PRODUCER_ID,
    version=4,
    request={"transactionalId": "tx1", "transactionTimeoutMs": 10_000, "producerId": -1, "producerEpoch": -1},
    response=None,
)


@cache
def exchanges(release: str) -> tuple[Exchange, ...]:
    """Every recorded exchange of a release, in the order in which they happened."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    return tuple(
        Exchange(
            release=each["release"],
            listener=each["listener"],
            case=each["case"],
            api_key=each["api_key"],
            version=each["version"],
            request=each["request"],
            response=each["response"] if "response" in each else OUTCOMES[each["outcome"]],
        )
        for each in found
        if each["release"] == release
    )


class Replay:
    """One side of the conversation over again, on a broker of ours."""

    def __init__(self, bootstrap: str, controller: str) -> None:
        self._addresses = {"broker": _address(bootstrap), "controller": _address(controller)}
        self._connections: dict[str, Connection] = {}
        self._ours: dict[tuple[str, Any], Any] = {}
        self._mine = Normaliser()
        self._theirs = Normaliser()

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()

    def run(self, exchange: Exchange) -> tuple[Any, Any]:
        """Send the request again; return our response and the real broker's, both normalised."""
        if exchange.case == PRODUCER_IDS_BEGIN:
            # The recorded cluster had given this transactional id its producer once before: it has id 0.
            self._exchange(FIRST_INITIALIZATION)
        ours = self._exchange(exchange)
        theirs = exchange.response
        if isinstance(ours, str) or isinstance(theirs, str):
            return ours, theirs
        self._learn(theirs, ours)
        if theirs.get("hmac") == MASKED:
            ours = ours | {"hmac": MASKED}
        if exchange.api_key == ApiKey.DESCRIBE_QUORUM:
            ours, theirs = steady(ours), steady(deepcopy(theirs))
        return _worded(self._mine.normalise(ours)), _worded(self._theirs.normalise(theirs))

    def _exchange(self, exchange: Exchange) -> Any:
        """Return our response. As the recorder did, retry while a broker has no producer ids yet."""
        for _ in attempts(f"a response to {exchange.case}"):
            response = self._exchange_once(exchange)
            if exchange.api_key != ApiKey.INIT_PRODUCER_ID or response["errorCode"] != LOADING:
                break
        return response

    def _exchange_once(self, exchange: Exchange) -> Any:
        connection = self._connections.get(exchange.listener)
        if connection is None or connection.closed:
            if connection is not None:
                connection.close()
            connection = self._connections[exchange.listener] = Connection(self._addresses[exchange.listener])
        request = from_json(request_type(exchange.api_key), exchange.version, self._translated(exchange.request))
        connection.send(encode_request(request, exchange.version, correlation_id=1, client_id=CLIENT_ID))
        response = connection.receive(SILENCE_SECONDS if exchange.response == SILENT else RESPONSE_SECONDS)
        if isinstance(response, str):
            if response == SILENT:  # a late response would be taken for the next one
                connection.close()
                del self._connections[exchange.listener]
            return response
        response_class = response_type(exchange.api_key)
        return to_json(decode_response(response_class, exchange.version, response)[1], exchange.version)

    def _translated(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._translated(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._translated(item, key) for item in value]
        if value == MASKED:
            return ANY_HMAC
        return self._ours.get((key, value), value) if key in LEARNT else value

    def _learn(self, theirs: Any, ours: Any) -> None:
        names = {}
        for name, topic_id in _topics(ours):
            names[name] = topic_id
            self._mine.know_topic(name, from_text(topic_id))
        for name, topic_id in _topics(theirs):
            self._theirs.know_topic(name, from_text(topic_id))
            if name in names:
                self._ours["topicId", topic_id] = names[name]
        for (key, their), (_, mine) in zip(_ids(theirs), _ids(ours), strict=False):
            if their not in NOTHING and mine not in NOTHING:
                self._ours.setdefault((key, their), mine)


def _address(bootstrap: str) -> tuple[str, int]:
    host, port = bootstrap.rsplit(":", 1)
    return host, int(port)


def _topics(value: Any) -> Iterator[tuple[str, str]]:
    """Every topic that a response names with its id."""
    if isinstance(value, dict):
        name = value.get("name") or value.get("topic") or value.get("topicName")
        if name and value.get("topicId") not in NOTHING:
            yield name, value["topicId"]
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _topics(item)


def _ids(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every id that a later request may speak of, in the order of the response."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _ids(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _ids(item, key)
    elif key in LEARNT and key != "topicId":
        yield key, value


def _worded(value: Any, key: str = "") -> Any:
    """Return the response with texts for people and volatile values replaced."""
    if isinstance(value, dict):
        return {name: _worded(item, name) for name, item in value.items()}
    if key == "configResources":
        return sorted((_worded(item) for item in value), key=json.dumps)  # their order is not fixed
    if isinstance(value, list):
        return [_worded(item, key) for item in value]
    if key in ("errorMessage", "batchIndexErrorMessage", "documentation", "statusDetail") and value:
        return "<text>"
    if key in ("clientInstanceId", "subscriptionId", "memberId") and value not in NOTHING:
        return f"<{key}>"
    if key == "logDir":
        return "<dir>"
    if key in ("totalBytes", "usableBytes"):
        return 0
    return value
