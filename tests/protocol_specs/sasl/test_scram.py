"""SCRAM against the example of RFC 7677, and against itself with any names and passwords."""

from __future__ import annotations

from base64 import b64decode
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.sasl.sasl_names import SaslMessageError, user_name, written_name
from protocol_specs.sasl.scram import ScramMechanism, new_nonce
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFinal, ServerFirst, exchanged_by

SHA_256 = ScramMechanism.SCRAM_SHA_256
MECHANISMS = (SHA_256, ScramMechanism.SCRAM_SHA_512)
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_example_of_the_rfc() -> None:
    first, response, final = (
        ClientFirst.decode(CLIENT_FIRST),
        ServerFirst.decode(SERVER_FIRST),
        ClientFinal.decode(CLIENT_FINAL),
    )
    assert [first.encode(), response.encode(), final.encode()] == [CLIENT_FIRST, SERVER_FIRST, CLIENT_FINAL]
    assert final.channel_binding == first.header
    exchanged = exchanged_by(first, response, final)
    salted = SHA_256.salted_password("pencil", response.salt, response.iterations)
    credential = SHA_256.credential(salted, response.salt, response.iterations)
    assert SHA_256.client_proof(salted, exchanged) == final.proof
    assert SHA_256.proves(credential, final.proof, exchanged)
    assert not SHA_256.proves(credential, final.proof[:-1], exchanged)
    signature = ServerFinal(signature=SHA_256.hmac(credential.server_key, exchanged))
    assert signature.encode() == SERVER_FINAL
    assert ServerFinal.decode(SERVER_FINAL) == signature
    assert ServerFinal.decode(b"e=other-error").error == "other-error"


@given(
    name=st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1),
    passwords=st.lists(st.text(), min_size=2, max_size=2),
    mechanism=st.sampled_from(MECHANISMS),
    extensions=st.dictionaries(st.sampled_from(["tokenauth", "abc"]), st.sampled_from(["true", "a=b"])),
    seed=st.integers(0, 99),
)
def test_a_proof_belongs_to_its_password(
    name: str, passwords: list[str], mechanism: ScramMechanism, extensions: dict[str, str], seed: int
) -> None:
    random = Random(seed)
    first = ClientFirst(name=written_name(name), nonce=new_nonce(random), extensions=extensions)
    assert ClientFirst.decode(first.encode()) == first
    assert user_name(first.name) == name
    response = ServerFirst(nonce=first.nonce + new_nonce(random), salt=new_nonce(random).encode(), iterations=2)
    assert ServerFirst.decode(response.encode()) == response
    exchanged = exchanged_by(first, response, ClientFinal(channel_binding=first.header, nonce=response.nonce))
    salted = [mechanism.salted_password(each, response.salt, 2) for each in passwords]
    credential = mechanism.credential(salted[0], response.salt, 2)
    proof = mechanism.client_proof(salted[1], exchanged)
    # HMAC fills a short key with zeros.
    same = passwords[0].rstrip("\0") == passwords[1].rstrip("\0")
    assert mechanism.proves(credential, proof, exchanged) is same
    final = ClientFinal(channel_binding=first.header, nonce=response.nonce, proof=proof)
    assert ClientFinal.decode(final.encode()) == final


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (ClientFirst, b"y,,n=a,r=b"),
        (ClientFirst, b"n,,n=a=b,r=b"),
        (ClientFirst, b"n,,n=\xc3\xa4,r=b"),
        (ClientFirst, b"n,,n=,r=b"),
        (ClientFirst, b"n,,n=a,r=b,"),
        (ServerFirst, b"r=a,s=AA=A,i=1"),
        (ServerFirst, b"r=a,s=,i=0"),
        (ServerFirst, b"r=a,s=,i=2147483648"),
        (ClientFinal, b"c=biws,r=a"),
        (ServerFinal, b"v=AAA"),
        (ServerFinal, b"e="),
    ],
)
def test_other_text_is_refused(
    kind: type[ClientFirst | ServerFirst | ClientFinal | ServerFinal], message: bytes
) -> None:
    with pytest.raises(SaslMessageError, match="Invalid SCRAM"):
        kind.decode(message)


def test_names_of_mechanisms() -> None:
    assert [each.sasl_name for each in MECHANISMS] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert ScramMechanism.of_name("SCRAM-SHA-512") is ScramMechanism.SCRAM_SHA_512
    assert ScramMechanism.of_name("scram-sha-512") is ScramMechanism.UNKNOWN
    assert ScramMechanism(17) is ScramMechanism.UNKNOWN


def test_an_escape_that_is_none_is_refused() -> None:
    with pytest.raises(SaslMessageError, match="Invalid username: a=b"):
        user_name("a=b")


def test_nonces_depend_on_their_random_source_alone() -> None:
    assert new_nonce(Random(3)) == new_nonce(Random(3)) != new_nonce(Random(4))
    assert b64decode("biws") == b"n,,"
