"""SCRAM on the server's side, with a client made of the shared messages."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from broker_sim.security.delegation_token import TokenLogin
from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken
from broker_sim.security.sasl.scram_server import ScramServer
from protocol_specs.sasl.scram import ScramCredential, ScramMechanism
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFinal, ServerFirst, exchanged_by

SALT = b"saltsalt"
ITERATIONS = 4096
SALTED = {
    mechanism: mechanism.salted_password("pw", SALT, ITERATIONS)
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
}
SHA_256 = ScramMechanism.SCRAM_SHA_256
FIRST = ClientFirst(name="carol", nonce="abc")


def credential_of(user: str, mechanism: ScramMechanism) -> ScramCredential | None:
    iterations = {"carol": ITERATIONS, "a=,b": ITERATIONS, "weak": ITERATIONS - 1}.get(user)
    return None if iterations is None else mechanism.credential(SALTED[mechanism], SALT, iterations)


def token_login(token_id: str, mechanism: ScramMechanism) -> TokenLogin | None:
    known = token_id == "id-1"
    return TokenLogin("ann", 7000, mechanism.credential(SALTED[mechanism], SALT, ITERATIONS)) if known else None


def server(mechanism: ScramMechanism = SHA_256) -> ScramServer:
    return ScramServer(mechanism, credential_of, token_login, Random(1))


def final_of(first: ClientFirst, response: ServerFirst, mechanism: ScramMechanism = SHA_256) -> ClientFinal:
    final = ClientFinal(channel_binding=first.header, nonce=response.nonce)
    proof = mechanism.client_proof(SALTED[mechanism], exchanged_by(first, response, final))
    return replace(final, proof=proof)


@pytest.mark.parametrize("mechanism", list(SALTED))
@pytest.mark.parametrize(
    "first",
    [
        FIRST,
        replace(FIRST, name="a=3D=2Cb"),
        replace(FIRST, extensions={"foo": "bar"}),
        replace(FIRST, extensions={"tokenauth": "false"}),
    ],
)
def test_the_proof_of_a_password_authenticates(mechanism: ScramMechanism, first: ClientFirst) -> None:
    exchange = server(mechanism)
    response = ServerFirst.decode(exchange.evaluate(first.encode()))
    assert response.nonce.startswith("abc")
    assert (response.salt, response.iterations, exchange.complete) == (SALT, ITERATIONS, False)
    final = final_of(first, response, mechanism)
    signature = ServerFinal.decode(exchange.evaluate(final.encode())).signature
    key = mechanism.hmac(SALTED[mechanism], b"Server Key")
    assert signature == mechanism.hmac(key, exchanged_by(first, response, final))
    assert (exchange.complete, exchange.name) == (True, "a=,b" if "=" in first.name else "carol")


@pytest.mark.parametrize(
    "first",
    [
        replace(FIRST, name="mallory").encode(),
        replace(FIRST, name="weak").encode(),
        replace(FIRST, extensions={"tokenauth": "true"}).encode(),
        b"y,,n=carol,r=abc",
        b"garbage",
        b"",
    ],
)
def test_the_first_message_fails_without_a_text_for_the_client(first: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        server().evaluate(first)


def test_an_authorization_id_must_be_the_user() -> None:
    assert server().evaluate(b"n,a=carol,n=carol,r=abc").startswith(b"r=abc")
    with pytest.raises(AuthenticationFailed, match="authorization id that is different from username"):
        server().evaluate(b"n,a=bob,n=carol,r=abc")


def test_the_final_message_fails_without_a_text_for_the_client() -> None:
    def after(changed: bytes | None = None, **changes: object) -> None:
        exchange = server()
        response = ServerFirst.decode(exchange.evaluate(FIRST.encode()))
        final = final_of(FIRST, response)
        with pytest.raises(UnexpectedToken if changes.get("proof") == b"short" else InvalidCredentials):
            exchange.evaluate(replace(final, **changes).encode() if changed is None else changed)  # type: ignore[arg-type]
        assert not exchange.complete

    after(proof=b"x" * 32)
    after(proof=b"short")
    after(nonce="abc")
    after(channel_binding=b"y,,")
    after(b"zzz")
    after(b"")


def test_a_token_authenticates_as_its_owner_until_it_expires() -> None:
    first = ClientFirst(name="id-1", nonce="abc", extensions={"tokenauth": "TRUE"})
    exchange = server()
    response = ServerFirst.decode(exchange.evaluate(first.encode()))
    exchange.evaluate(final_of(first, response).encode())
    assert (exchange.complete, exchange.name, exchange.is_token, exchange.expires_ms) == (True, "ann", True, 7000)
