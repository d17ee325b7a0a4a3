"""Delegation tokens (KIP-48): who may create, see, renew and end them, and what a login with one may do."""

from __future__ import annotations

import base64
import hmac
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.acl_codes import AclOperation, ResourceType
from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from protocol_specs.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest
from protocol_specs.sasl.scram import ScramMechanism
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFirst, exchanged_by
from tests.differential.acl_requests import AUTHORIZER, acl, give
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import all_versions
from tests.differential.sasl_exchanges import LOGIN, SETTINGS, Request, exchange_all, handshake, token

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.message import Message
    from tests.differential.probe import Connection, Probe
    from tests.differential.sasl_exchanges import Step

SECRET: Final = "s3cret"
MINUTE_MS: Final = 60_000
STEP_MS = 5 * MINUTE_MS
"""Times are shown in these steps: a slow machine may need a minute or two between a request and its response."""
EXPIRY_MS, LIFETIME_MS = 20 * MINUTE_MS, 60 * MINUTE_MS
TOKENS: Final = (
    *SETTINGS,
    ("delegation.token.secret.key", SECRET),
    ("delegation.token.expiry.time.ms", str(EXPIRY_MS)),
    ("delegation.token.max.lifetime.ms", str(LIFETIME_MS)),
)
NEWEST, NEWEST_CHANGE = 3, 2
PERIODS: Final = (-1, 0, 5 * MINUTE_MS, 40 * MINUTE_MS, 2**62)
PASSWORDS: Final = {"alice": "secret", "bob": "pw2"}
TIMES: Final = ("issueTimestampMs", "expiryTimestampMs", "maxTimestampMs", "issueTimestamp", "expiryTimestamp",
                "maxTimestamp")  # fmt: skip


def creating(
    *renewers: tuple[str, str], owner: tuple[str | None, str | None] = (None, None), lifetime_ms: int = -1
) -> CreateDelegationTokenRequest:
    """A CreateDelegationToken."""
    return CreateDelegationTokenRequest(
        owner_principal_type=owner[0],
        owner_principal_name=owner[1],
        renewers=[CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in renewers],
        max_lifetime_ms=lifetime_ms,
    )


def renewing(digest: bytes, period_ms: int = -1) -> RenewDelegationTokenRequest:
    """A RenewDelegationToken."""
    return RenewDelegationTokenRequest(hmac=digest, renew_period_ms=period_ms)


def expiring(digest: bytes, period_ms: int = -1) -> ExpireDelegationTokenRequest:
    """An ExpireDelegationToken."""
    return ExpireDelegationTokenRequest(hmac=digest, expiry_time_period_ms=period_ms)


def describing(*owners: tuple[str, str]) -> DescribeDelegationTokenRequest:
    """A DescribeDelegationToken of these owners."""
    named = [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, name in owners]
    return DescribeDelegationTokenRequest(owners=named)


EVERYTHING: Final = DescribeDelegationTokenRequest(owners=None)


class Tokens:
    """The tokens of one case: responses are shown without what is random or of the clock."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._names: dict[str, str] = {}
        self.alice = self.login("alice")

    def login(self, user: str) -> Connection:
        """A connection of a user."""
        connection = self.probe.connect(listener=LOGIN)
        for step in (handshake(), token(f"\0{user}\0{PASSWORDS[user]}".encode())):
            response: Any = self.probe.quiet(step.message, step.version, on=connection)
            assert response.error_code == 0, response
        return connection

    def create(
        self, request: CreateDelegationTokenRequest, version: int = NEWEST, *, on: Connection | None = None, note: str
    ) -> Any:
        """Create a token, and wait until the broker knows it; return the response."""
        response = self.exchange(request, version, on=on, note=note)
        if response.error_code == 0:
            self.await_token(response.token_id, lambda found: found is not None)
        return response

    def exchange(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> Any:
        """Send a request, of alice by default, and record the response."""
        return self.probe.exchange(request, version, on=on or self.alice, note=note, only=self._shown)

    def await_token(self, token_id: str, condition: Callable[[Any], bool]) -> None:
        """Wait until what the broker describes of a token fulfils a condition; None for a token that is not there."""
        for _ in attempts(f"token {token_id}"):
            response: Any = self.probe.quiet(EVERYTHING, NEWEST, on=self.alice)
            if condition(next((each for each in response.tokens if each.token_id == token_id), None)):
                return

    def _shown(self, response: dict[str, Any]) -> dict[str, Any]:
        if "tokens" in response:
            own = [each for each in response["tokens"] if each["tokenId"] in self._names]
            return response | {"tokens": sorted(map(self._token, own), key=lambda each: each["tokenId"])}
        return self._token(response)

    def _token(self, response: dict[str, Any]) -> dict[str, Any]:
        shown = dict(response)
        token_id = shown.get("tokenId")
        if token_id:
            digest = hmac.digest(SECRET.encode(), token_id.encode(), "sha512")
            assert base64.b64decode(shown["hmac"]) == digest
            shown["hmac"] = "<hmac>"
            shown["tokenId"] = self._names.setdefault(token_id, f"<token {len(self._names) + 1}>")
        now_ms = time.time() * 1000
        for name in TIMES:
            if shown.get(name, -1) < -1:
                shown[name] = "<overflow>"
            elif shown.get(name, -1) > 0:
                shown[name] = f"<in {round((shown[name] - now_ms) / STEP_MS) * STEP_MS // MINUTE_MS} minutes>"
        return shown


@case()
def without_login(probe: Probe) -> None:
    digest = b"h" * 64
    for listener in (None, "CONTROLLER"):
        for request in (creating(("User", "ann")), renewing(digest), expiring(digest)):
            for version in all_versions(type(request)):
                connection = probe.connect(listener=listener)
                probe.exchange(request, version, on=connection, note=f"listener {listener}")
    probe.exchange(creating(("Group", "x"), owner=("User", "ann")), NEWEST)
    probe.exchange(creating(owner=(None, "ann")), NEWEST, note="owner without a type")
    for request in (EVERYTHING, describing(), describing(("User", "ann"))):
        for version in all_versions(DescribeDelegationTokenRequest):
            probe.exchange(request, version)
    probe.exchange(EVERYTHING, NEWEST, on=probe.connect(listener="CONTROLLER"), note="at a controller")


@case(settings=SETTINGS)
def without_a_secret(probe: Probe) -> None:
    tokens = Tokens(probe)
    digest = b"h" * 64
    tokens.exchange(creating(), NEWEST)
    tokens.exchange(creating(("Group", "x")), NEWEST, note="a renewer that is no user")
    tokens.exchange(creating(owner=("Group", "x")), NEWEST, note="an owner that is no user")
    tokens.exchange(creating(owner=(None, "x")), NEWEST, note="owner without a type")
    tokens.exchange(renewing(digest), NEWEST_CHANGE)
    tokens.exchange(expiring(digest), NEWEST_CHANGE)
    for request in (EVERYTHING, describing(), describing(("User", "alice"))):
        tokens.exchange(request, NEWEST)


@case(settings=TOKENS)
def creations(probe: Probe) -> None:
    tokens = Tokens(probe)
    for version in (1, 2, 3):
        tokens.create(creating(("User", "bob")), version, note="one renewer")
    for lifetime_ms in PERIODS:
        tokens.create(creating(lifetime_ms=lifetime_ms), note=f"life of {lifetime_ms} ms")
    tokens.create(creating(("User", "bob"), ("User", "alice"), ("User", "bob"), ("User", "")), note="renewers")
    tokens.create(creating(("User", "a:b,c"), ("User", "Ω")), note="renewers with odd names")
    tokens.exchange(creating(("User", "bob"), ("Group", "bob")), NEWEST, note="a group as renewer")
    tokens.exchange(creating(("user", "bob")), NEWEST, note="a renewer's type in small letters")
    tokens.exchange(creating(("", "bob")), NEWEST, note="a renewer without a type")
    tokens.create(creating(owner=("User", "bob")), note="another owner")
    tokens.create(creating(owner=("User", "alice")), note="the owner by name")
    tokens.create(creating(owner=("Group", "g:x")), note="a group as owner")
    tokens.create(creating(owner=("", "bob")), note="an owner without a type")
    tokens.create(creating(owner=("User", "")), note="an owner without a name")
    tokens.create(creating(owner=("Group", None)), note="an owner with a type alone")
    tokens.exchange(creating(owner=(None, "bob")), NEWEST, note="an owner with a null type")
    for version in (1, 2, 3, 0):
        tokens.exchange(EVERYTHING, version)


@case(settings=TOKENS)
def renewals(probe: Probe) -> None:
    tokens = Tokens(probe)
    bob = tokens.login("bob")
    digest = tokens.create(creating(), note="alice's").hmac
    both = tokens.create(creating(("User", "bob")), note="alice's, renewed by bob")
    shared = both.hmac
    short = tokens.create(creating(lifetime_ms=10 * MINUTE_MS), note="short").hmac
    of_bob = tokens.create(creating(owner=("User", "bob")), note="created for bob").hmac
    for version in (1, 2):
        tokens.exchange(renewing(digest), version)
    for period_ms in (*PERIODS, -(2**63)):
        tokens.exchange(renewing(digest, period_ms), NEWEST_CHANGE, note=f"by {period_ms} ms")
    tokens.exchange(renewing(short, 30 * MINUTE_MS), NEWEST_CHANGE, note="beyond its life")
    tokens.exchange(renewing(digest), NEWEST_CHANGE, on=bob, note="by a stranger")
    renewed = tokens.exchange(renewing(shared, STEP_MS), NEWEST_CHANGE, on=bob, note="by a renewer")
    tokens.await_token(both.token_id, lambda found: found.expiry_timestamp == renewed.expiry_timestamp_ms)
    tokens.exchange(renewing(of_bob), NEWEST_CHANGE, note="by the requester")
    tokens.exchange(renewing(of_bob), NEWEST_CHANGE, on=bob, note="by the owner")
    for unknown in (b"", b"x", b"h" * 64, digest[:-1], digest + b"x"):
        tokens.exchange(renewing(unknown), NEWEST_CHANGE, note=f"unknown HMAC of {len(unknown)} bytes")
    tokens.exchange(EVERYTHING, NEWEST, note="all")


@case(settings=TOKENS)
def expiries(probe: Probe) -> None:
    tokens = Tokens(probe)
    bob = tokens.login("bob")
    created = tokens.create(creating(("User", "bob")), note="alice's, renewed by bob")
    alone = tokens.create(creating(), note="alice's")
    for version in (1, 2):
        tokens.exchange(expiring(created.hmac, 5 * MINUTE_MS), version)
    for period_ms in (70 * MINUTE_MS, 10 * MINUTE_MS):
        moved = tokens.exchange(expiring(created.hmac, period_ms), NEWEST_CHANGE, note=f"in {period_ms} ms")
    tokens.await_token(created.token_id, lambda found: found.expiry_timestamp == moved.expiry_timestamp_ms)
    endless = tokens.create(creating(), note="another")
    tokens.exchange(expiring(endless.hmac, 2**63 - 1), NEWEST_CHANGE, note="in the longest time")
    tokens.exchange(expiring(endless.hmac), NEWEST_CHANGE, note="at once")
    tokens.await_token(endless.token_id, lambda found: found is None)
    tokens.exchange(expiring(alone.hmac), NEWEST_CHANGE, on=bob, note="by a stranger")
    tokens.exchange(expiring(alone.hmac, 0), NEWEST_CHANGE, on=bob, note="by a stranger, in 0 ms")
    tokens.exchange(expiring(b"x"), NEWEST_CHANGE, note="unknown")
    tokens.exchange(expiring(alone.hmac, 0), NEWEST_CHANGE, note="in 0 ms")
    tokens.await_token(alone.token_id, lambda found: found.expiry_timestamp <= time.time() * 1000 - 2)
    tokens.exchange(renewing(alone.hmac), NEWEST_CHANGE, note="an expired one")
    tokens.exchange(renewing(alone.hmac), NEWEST_CHANGE, on=bob, note="an expired one, by a stranger")
    tokens.exchange(expiring(alone.hmac, MINUTE_MS), NEWEST_CHANGE, note="an expired one")
    tokens.exchange(EVERYTHING, NEWEST, note="one is expired")
    tokens.exchange(expiring(alone.hmac), NEWEST_CHANGE, note="at once, an expired one")
    tokens.exchange(expiring(created.hmac, -(2**63)), NEWEST_CHANGE, on=bob, note="at once, by a renewer")
    for each in (alone, created):
        tokens.await_token(each.token_id, lambda found: found is None)
        tokens.exchange(expiring(each.hmac), NEWEST_CHANGE, note="again")
        tokens.exchange(renewing(each.hmac), NEWEST_CHANGE, note="again")
    tokens.exchange(EVERYTHING, NEWEST, note="none")


@case(settings=TOKENS)
def descriptions(probe: Probe) -> None:
    tokens = Tokens(probe)
    bob = tokens.login("bob")
    tokens.create(creating(), note="alice's")
    tokens.create(creating(("User", "bob")), note="alice's, renewed by bob")
    tokens.create(creating(("User", "alice")), on=bob, note="bob's, renewed by alice")
    tokens.create(creating(owner=("User", "carol")), note="carol's")
    requests = {
        "all": EVERYTHING,
        "none": describing(),
        "alice": describing(("User", "alice")),
        "alice twice": describing(("User", "alice"), ("User", "alice")),
        "bob and alice": describing(("User", "bob"), ("User", "alice")),
        "carol": describing(("User", "carol")),
        "unknown": describing(("User", "unknown"), ("Group", "alice"), ("", "")),
    }
    for note, request in requests.items():
        tokens.exchange(request, NEWEST, note=note)
        tokens.exchange(request, NEWEST, on=bob, note=f"{note}, by bob")


@case(settings=(*TOKENS, *AUTHORIZER))
def rights(probe: Probe) -> None:
    tokens = Tokens(probe)
    bob = tokens.login("bob")
    user, one = ResourceType.USER, ResourceType.DELEGATION_TOKEN
    create, describe_tokens = AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS
    give(
        probe,
        acl(user, "User:carol", create, principal="User:alice"),
        acl(user, "User:dave", create, principal="User:other"),
        acl(user, "User:carol", describe_tokens, principal="User:bob"),
        acl(user, "User:alice", describe_tokens, principal="User:other"),
    )
    for name in ("carol", "dave", "erin", "alice"):
        tokens.exchange(creating(owner=("User", name)), NEWEST, note=f"{name}'s, by alice")
        tokens.exchange(creating(owner=("User", name)), NEWEST, on=bob, note=f"{name}'s, by bob")
    tokens.exchange(creating(("Group", "x"), owner=("User", "dave")), NEWEST, note="a group as renewer")
    last = tokens.create(creating(), note="alice's")
    tokens.exchange(EVERYTHING, NEWEST, note="all, by alice")
    tokens.exchange(EVERYTHING, NEWEST, on=bob, note="all, by bob")
    give(probe, acl(one, last.token_id, AclOperation.DESCRIBE, principal="User:other"))
    tokens.exchange(EVERYTHING, NEWEST, on=bob, note="all, by bob, without one")
    give(probe, acl(one, last.token_id, AclOperation.DESCRIBE, principal="User:bob"))
    tokens.exchange(EVERYTHING, NEWEST, on=bob, note="all, by bob, with one")


@case(settings=TOKENS)
def logins(probe: Probe) -> None:
    tokens = Tokens(probe)
    created = tokens.create(creating(("User", "bob")), note="alice's")
    expired = tokens.create(creating(), note="an expired one")
    removed = tokens.create(creating(), note="a removed one")
    tokens.exchange(expiring(expired.hmac, 0), NEWEST_CHANGE)
    tokens.exchange(expiring(removed.hmac), NEWEST_CHANGE)
    tokens.await_token(expired.token_id, lambda found: found.expiry_timestamp <= time.time() * 1000 - 2)
    tokens.await_token(removed.token_id, lambda found: found is None)
    password = base64.b64encode(bytes(created.hmac)).decode()

    def login(
        token_id: str,
        secret: str,
        mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256,
        extensions: dict[str, str] | None = None,
    ) -> list[Any]:
        given = {"tokenauth": "true"} if extensions is None else extensions
        first = ClientFirst(name=token_id, nonce="abc", extensions=given)

        def final(payload: bytes) -> Step:
            response = ServerFirst.decode(payload)
            salted = mechanism.salted_password(secret, response.salt, response.iterations)
            made = ClientFinal(channel_binding=first.header, nonce=response.nonce)
            made = replace(made, proof=mechanism.client_proof(salted, exchanged_by(first, response, made)))
            return token(made.encode())

        return [handshake(mechanism.sasl_name), token(first.encode()), final]

    good = login(created.token_id, password)
    metadata = Request(MetadataRequest(topics=[]), 9)
    exchange_all(
        probe,
        {
            "token": [*good, metadata],
            "token, SHA-512": [*login(created.token_id, password, ScramMechanism.SCRAM_SHA_512), metadata],
            "TOKENAUTH": [*login(created.token_id, password, extensions={"tokenauth": "TRUE"}), metadata],
            "wrong HMAC": login(created.token_id, "x"),
            "without the extension": login(created.token_id, password, extensions={})[:2],
            "unknown id": login("nothing", password)[:2],
            "a user's name": login("alice", "secret")[:2],
            "removed": login(removed.token_id, password)[:2],
            "expired": login(expired.token_id, base64.b64encode(bytes(expired.hmac)).decode()),
            "create": [*good, Request(creating(), NEWEST)],
            "create for another": [*good, Request(creating(owner=("User", "bob")), NEWEST)],
            "renew": [*good, Request(renewing(bytes(created.hmac)), NEWEST_CHANGE)],
            "expire": [*good, Request(expiring(bytes(created.hmac)), NEWEST_CHANGE)],
            "describe": [*good, Request(EVERYTHING, NEWEST)],
        },
    )
