"""SASL: the handshake, the mechanisms, and everything that a client may do wrong before it is authenticated."""

from __future__ import annotations

import base64
import json
import struct
import time
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from protocol_specs import releases
from protocol_specs.json_form import from_json, to_json
from protocol_specs.messages.add_raft_voter import AddRaftVoterRequest
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.sasl.scram import ScramMechanism
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFirst, exchanged_by
from tests.differential.acl_requests import O, T, acl, acl_filter, creating, deleting, describing
from tests.differential.case import case
from tests.differential.cases.alter_partition_reassignments import reassign
from tests.differential.cases.client_quotas import alter as alter_quotas
from tests.differential.cases.client_quotas import describe as describe_quotas
from tests.differential.cases.client_quotas import entry
from tests.differential.cases.describe_configs import describe as describe_configs
from tests.differential.cases.describe_quorum import of
from tests.differential.cases.elect_leaders import elect
from tests.differential.cases.share_state import (
    alter_offsets,
    delete,
    delete_offsets,
    describe_offsets,
    initialize,
    read,
    summarize,
    write,
)
from tests.differential.cases.streams_group_heartbeat import streams_describe
from tests.differential.cases.user_scram_credentials import alter as alter_scram
from tests.differential.cases.user_scram_credentials import describe as describe_scram
from tests.differential.config_requests import SET, TOPIC, incremental, legacy
from tests.differential.group_requests import describe_groups
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.requests import all_versions, batch, produce
from tests.differential.sasl_exchanges import (
    DELAY_MS,
    SESSION_MS,
    SETTINGS,
    SHORT,
    Raw,
    Request,
    exchange_all,
    handshake,
    header,
    token,
)
from tests.differential.share_requests import share_describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.message import Message
    from tests.differential.probe import Probe
    from tests.differential.sasl_exchanges import Step

GOOD = b"\0alice\0secret"
VERSIONS = Request(ApiVersionsRequest(client_software_name="probe", client_software_version="1"), 3)
NO_NAME = Request(ApiVersionsRequest(client_software_name="", client_software_version="1"), 3)
METADATA = Request(MetadataRequest(topics=[]), 9)
HANDSHAKE_KEY, VERSIONS_KEY, AUTHENTICATE_KEY = 17, 18, 36
SIZE_MAX = 524_288
FIRST = ClientFirst(name="carol", nonce="abc")
SALT, ITERATIONS = b"salt of carol", 4096


@case()
def listeners_without_sasl(probe: Probe) -> None:
    for version in all_versions(SaslHandshakeRequest):
        probe.exchange(SaslHandshakeRequest(mechanism="PLAIN"), version)
    for version in all_versions(SaslAuthenticateRequest):
        probe.exchange(SaslAuthenticateRequest(auth_bytes=GOOD), version)


@case(settings=SETTINGS)
def first_frames(probe: Probe) -> None:
    exchange_all(
        probe,
        {
            "versions": [VERSIONS],
            "handshake": [handshake()],
            "handshake v0": [handshake(version=0)],
            "bytes behind the mechanism": [header(HANDSHAKE_KEY, 1, b"\0\5PLAINxxx")],
            "metadata": [METADATA],
            "token": [token(GOOD)],
            "junk": [Raw(b"\x60junk")],
            "long junk": [Raw(b"\x60" * 40)],
            "empty": [Raw(b"")],
            "unknown API": [header(999, 0)],
            "unknown mechanism": [handshake("NOPE")],
            "unknown mechanism, v0": [handshake("NOPE", 0)],
            "mechanism in small letters": [handshake("plain")],
            "no mechanism": [handshake("")],
            "GSSAPI": [handshake("GSSAPI")],
            "handshake v2": [header(HANDSHAKE_KEY, 2, b"\0\5PLAIN")],
            "handshake v-1": [header(HANDSHAKE_KEY, -1, b"\0\5PLAIN")],
            "short handshake": [header(HANDSHAKE_KEY, 1, b"\0\5PLA")],
            "too large": [Raw(struct.pack(">i", SIZE_MAX + 1), sized=False)],
            "negative": [Raw(struct.pack(">i", -5), sized=False)],
        },
    )


@case(settings=SETTINGS)
def after_versions(probe: Probe) -> None:
    newer = header(VERSIONS_KEY, 99, b"\0")
    exchange_all(
        probe,
        {
            "handshake": [VERSIONS, handshake()],
            "versions": [VERSIONS, VERSIONS],
            "versions after an error": [NO_NAME, VERSIONS, handshake()],
            "newer versions": [newer, VERSIONS],
            "newer versions after versions": [VERSIONS, newer],
            "metadata": [VERSIONS, METADATA],
            "junk": [VERSIONS, Raw(b"\x60junk")],
            "unknown mechanism": [VERSIONS, handshake("NOPE")],
            "too large": [VERSIONS, Raw(struct.pack(">i", SIZE_MAX + 1), sized=False)],
        },
    )


@case(settings=SETTINGS)
def between_tokens(probe: Probe) -> None:
    exchange_all(
        probe,
        {
            "metadata": [handshake(), METADATA],
            "metadata v1": [handshake(), replace(METADATA, version=1)],
            "versions": [handshake(), VERSIONS],
            "handshake": [handshake(), handshake()],
            "junk": [handshake(), Raw(b"\x60junk")],
            "unknown API": [handshake(), header(999, 0)],
            "newer token": [handshake(), header(AUTHENTICATE_KEY, 3, b"\0\x0e\0alice\0secret\0")],
            "short token": [handshake(), header(AUTHENTICATE_KEY, 1, struct.pack(">i", 50) + GOOD)],
            "too large": [handshake(), Raw(struct.pack(">i", SIZE_MAX + 1), sized=False)],
            "request after a handshake v0": [handshake(version=0), token(GOOD)],
            "metadata after SCRAM's first message": [handshake("SCRAM-SHA-256"), token(FIRST.encode()), METADATA],
        },
    )


def _requests_with_entries() -> list[Message]:
    """Requests whose error responses have texts, or might."""
    topic = b"an unknown topic"
    return [
        produce("t", batch(b"a")),
        produce("t", batch(b"a"), acks=0),
        FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"]),
        describe_groups("g"),
        DeleteGroupsRequest(groups_names=["g"]),
        consumer_describe("g"),
        consumer_heartbeat("g", "m", 0),
        CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]),
        DeleteTopicsRequest(topic_names=["t"], topics=[DeleteTopicState(name="t")]),
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)]),
        incremental((TOPIC, "t", [("a", SET, "1")])),
        legacy((TOPIC, "t", [("a", "1")])),
        describe_configs((TOPIC, "t")),
        elect(("t", [0])),
        reassign(("t", {0: [1]})),
        ListPartitionReassignmentsRequest(),
        creating(acl(T.TOPIC, "t", O.READ)),
        deleting(acl_filter()),
        describing(acl_filter()),
        alter_quotas(entry(("user", "a"), producer_byte_rate=1.0)),
        describe_quotas(),
        alter_scram(ScramCredentialDeletion(name="a", mechanism=1)),
        describe_scram("a"),
        UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="f", max_version_level=1)]),
        UnregisterBrokerRequest(broker_id=9),
        DescribeClusterRequest(),
        of(("t", (0,))),
        AddRaftVoterRequest(),
        RemoveRaftVoterRequest(),
        share_describe("g"),
        streams_describe("g"),
        describe_offsets(("g", {"t": [0]})),
        alter_offsets("g", {"t": {0: 1}}),
        delete_offsets("g", "t"),
        initialize("g", topic),
        read("g", topic),
        write("g", topic),
        delete("g", topic),
        summarize("g", topic),
    ]


@case(settings=SETTINGS)
def requests_with_texts_between_tokens(probe: Probe) -> None:
    served = releases.get(probe.release).api_versions
    steps: dict[str, list[Step]] = {}
    for place, message in enumerate(_requests_with_entries()):
        for version in served.get(message.API_KEY, ()):
            request = Request(from_json(type(message), version, to_json(message, version)), version)
            steps[f"{message.NAME} v{version}, {place}"] = [handshake(), request]
    exchange_all(probe, steps)


@case(settings=SETTINGS)
def plain(probe: Probe) -> None:
    good = {f"v{version}": [handshake(), token(GOOD, version), METADATA] for version in range(3)}
    tokens = {
        "wrong password": b"\0alice\0pw2",
        "unknown user": b"\0carol\0secret",
        "two parts": b"alice\0secret",
        "four parts": b"\0alice\0secret\0",
        "five parts": b"a\0b\0c\0d\0e",
        "empty": b"",
        "no user": b"\0\0secret",
        "no password": b"\0alice\0",
        "other authorization id": b"bob\0alice\0secret",
        "no UTF-8": b"\0\xff\xfe\0\x80",
    }
    failed = {name: [handshake(), token(data)] for name, data in tokens.items()}
    exchange_all(
        probe,
        {
            **good,
            "same authorization id": [handshake(), token(b"alice" + GOOD), METADATA],
            "bare": [handshake(version=0), Raw(GOOD), METADATA],
            "bare, wrong password": [handshake(version=0), Raw(b"\0alice\0x")],
            "wrong password, v0": [handshake(), token(b"\0alice\0x", 0)],
            "handshake after all": [handshake(), token(GOOD), handshake()],
            "token after all": [handshake(), token(GOOD), token(GOOD)],
            "versions after all": [handshake(), token(GOOD), VERSIONS],
            **failed,
        },
    )


@case(settings=SETTINGS)
def scram(probe: Probe) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        salted = mechanism.salted_password("pw", SALT, ITERATIONS)
        upsertion = ScramCredentialUpsertion(
            name="carol", mechanism=int(mechanism), iterations=ITERATIONS, salt=SALT, salted_password=salted
        )
        probe.quiet(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]), 0)
    probe.await_applied()
    begin = handshake("SCRAM-SHA-256")

    def proof(
        first: ClientFirst = FIRST,
        mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256,
        password: str = "pw",
        **changes: Any,
    ) -> Callable[[bytes], Step]:
        def final(payload: bytes) -> Step:
            response = ServerFirst.decode(payload)
            salted = mechanism.salted_password(password, response.salt, response.iterations)
            made = ClientFinal(channel_binding=first.header, nonce=response.nonce)
            made = replace(made, proof=mechanism.client_proof(salted, exchanged_by(first, response, made)))
            return token(replace(made, **changes).encode())

        return final

    extended, no_token = replace(FIRST, extensions={"foo": "bar"}), replace(FIRST, extensions={"tokenauth": "false"})
    sha_512 = ScramMechanism.SCRAM_SHA_512
    exchange_all(
        probe,
        {
            "proof": [begin, token(FIRST.encode()), proof(), METADATA],
            "proof, SHA-512": [handshake(sha_512.sasl_name), token(FIRST.encode()), proof(mechanism=sha_512), METADATA],
            "extension": [begin, token(extended.encode()), proof(extended), METADATA],
            "tokenauth=false": [begin, token(no_token.encode()), proof(no_token), METADATA],
            "tokenauth=true": [begin, token(replace(FIRST, extensions={"tokenauth": "true"}).encode())],
            "same authorization id": [begin, token(b"n,a=carol,n=carol,r=abc")],
            "other authorization id": [begin, token(b"n,a=bob,n=carol,r=abc")],
            "unknown user": [begin, token(b"n,,n=dave,r=abc")],
            "channel binding": [begin, token(b"y,,n=carol,r=abc")],
            "junk": [begin, token(b"junk")],
            "empty": [begin, token(b"")],
            "bare, unknown user": [handshake("SCRAM-SHA-256", 0), Raw(b"n,,n=dave,r=abc")],
            "wrong password": [begin, token(FIRST.encode()), proof(password="x")],
            "wrong nonce": [begin, token(FIRST.encode()), proof(nonce="abc")],
            "short proof": [begin, token(FIRST.encode()), proof(proof=b"abc")],
            "final junk": [begin, token(FIRST.encode()), token(b"junk")],
        },
    )


@case(settings=SETTINGS)
def oauthbearer(probe: Probe) -> None:
    now_s = int(time.time())
    claims = {"sub": "dave", "iat": now_s - 60, "exp": now_s + 3600}
    begin = handshake("OAUTHBEARER")
    confirm = token(b"\1")

    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    def jwt(head: Any = None, signature: str = "", **changes: Any) -> str:
        own = {name: value for name, value in (claims | changes).items() if value != "absent"}
        return f"{part(head or {'alg': 'none'})}.{part(own)}.{signature}"

    def message(text: str, gs2: str = "n,,", pairs: str = "") -> bytes:
        return f"{gs2}\1auth=Bearer {text}\1{pairs}\1".encode()

    expired = message(jwt(iat=now_s - 20, exp=now_s - 10))
    valid = {
        "token": message(jwt()),
        "no time of issue": message(jwt(iat="absent")),
        "scopes": message(jwt(scope=["a", "b"])),
        "fraction of a second": message(jwt(exp=now_s + 60.5)),
        "extension": message(jwt(), pairs="foo=bar\1"),
        "same authorization id": message(jwt(), gs2="n,a=dave,"),
        "small letters": f"n,,\1auth=bearer {jwt()}\1\1".encode(),
        "null": message(jwt(sub=None)),
    }
    invalid = {
        "expired": expired,
        "no subject": message(jwt(sub="absent")),
        "number as subject": message(jwt(sub=5)),
        "blank subject": message(jwt(sub="  ")),
        "no expiry": message(jwt(exp="absent")),
        "text as expiry": message(jwt(exp="12")),
        "from the future": message(jwt(iat=now_s + 600)),
        "number as scope": message(jwt(scope=5)),
        "algorithm": message(jwt({"alg": "HS256"}, "abc")),
        "signature": message(jwt(signature="abc")),
        "two parts": message("abc.def"),
        "four parts": message("abc.def..x"),
        "no JSON": message("abc.def."),
        "letters of URLs": message(jwt(x="~~~???>>>~~~")),
    }
    malformed = {
        "junk": b"junk",
        "empty": b"",
        "confirmation": b"\1",
        "no authorization": b"n,,\1foo=bar\1\1",
        "other scheme": b"n,,\1auth=Basic abc\1\1",
        "digit in an extension": message(jwt(), pairs="fo1=bar\1"),
        "reserved extension": message(jwt(), pairs="auth=bar\1"),
        "other authorization id": message(jwt(), gs2="n,a=bob,"),
        "no algorithm": message(jwt({"x": 1})),
        "end beyond 64 bits": message(jwt(exp=10**17)),
    }
    exchange_all(
        probe,
        {
            **{name: [begin, token(data), METADATA] for name, data in valid.items()},
            **{name: [begin, token(data), confirm] for name, data in invalid.items()},
            **{name: [begin, token(data)] for name, data in malformed.items()},
            "another token": [begin, token(expired), token(message(jwt())), METADATA],
            "another expired token": [begin, token(expired), token(expired), confirm],
            "junk after an error": [begin, token(expired), token(b"junk")],
            "bare": [handshake("OAUTHBEARER", 0), Raw(message(jwt())), METADATA],
            "bare, expired": [handshake("OAUTHBEARER", 0), Raw(expired), Raw(b"\1")],
            "bare, junk": [handshake("OAUTHBEARER", 0), Raw(b"junk")],
        },
    )


@case(settings=SETTINGS)
def sessions(probe: Probe) -> None:
    login = [handshake(), token(GOOD)]
    bare = [handshake(version=0), Raw(GOOD)]
    other = handshake("SCRAM-SHA-256")
    exchange_all(
        probe,
        {
            "login": login,
            "again": [*login, *login, METADATA],
            "too soon": [*login, *login, handshake()],
            "token after all": [*login, token(GOOD)],
            "bare, then again": [*bare, *login, METADATA],
            "again, bare": [*login, *bare, METADATA],
            "unknown mechanism": [*login, handshake("NOPE")],
            "other mechanism": [*login, other, token(FIRST.encode())],
            "metadata after another mechanism": [*login, other, METADATA],
            "other principal": [*login, handshake(), token(b"\0bob\0pw2")],
            "other principal, bare": [*login, handshake(version=0), Raw(b"\0bob\0pw2")],
            "wrong password": [*login, handshake(), token(b"\0alice\0x")],
            "metadata": [*login, handshake(), METADATA],
            "versions": [*login, handshake(), VERSIONS],
            "handshake v2": [*login, header(HANDSHAKE_KEY, 2, b"\0\5PLAIN")],
        },
        listener=SHORT,
    )


@case(settings=SETTINGS)
def ended_sessions(probe: Probe) -> None:
    connections = {name: probe.connect(listener=SHORT) for name in ("metadata", "handshake", "idle", "versions v0")}
    for name, connection in connections.items():
        probe.exchange(SaslHandshakeRequest(mechanism="PLAIN"), 1, on=connection, note=name, only=_without_mechanisms)
        version = 0 if name.endswith("v0") else 2
        probe.exchange(SaslAuthenticateRequest(auth_bytes=GOOD), version, on=connection, note=name)
    Event().wait((SESSION_MS + DELAY_MS / 10) / 1000)
    probe.exchange(MetadataRequest(topics=[]), 9, on=connections["metadata"], note="metadata")
    probe.exchange(
        SaslHandshakeRequest(mechanism="PLAIN"), 1, on=connections["handshake"], note="again", only=_without_mechanisms
    )
    probe.exchange(SaslAuthenticateRequest(auth_bytes=GOOD), 2, on=connections["handshake"], note="again")
    probe.exchange(MetadataRequest(topics=[]), 9, on=connections["versions v0"], note="versions v0")
    probe.keep(MetadataRequest(), 9, connections["idle"].receive(0.01), note="idle")


def _without_mechanisms(response: Any) -> Any:
    return {"errorCode": response["errorCode"]}
