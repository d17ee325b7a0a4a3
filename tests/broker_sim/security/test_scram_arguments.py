"""The users of `kafka-storage format --add-scram`, with Kafka's texts for what is wrong."""

from __future__ import annotations

import base64
from random import Random

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.security.scram_arguments import parse_scram_argument
from protocol_specs.sasl.scram import ScramMechanism

SHA_512 = ScramMechanism.SCRAM_SHA_512


def test_a_salt_is_drawn_and_iterations_have_a_default() -> None:
    first, second = (parse_scram_argument("SCRAM-SHA-256=[name=a,password=b]", Random(seed)) for seed in (1, 2))
    assert first.credential is not None
    assert second.credential is not None
    assert (first.user, first.mechanism, first.credential.iterations) == ("a", ScramMechanism.SCRAM_SHA_256, 4096)
    assert first.credential.salt != second.credential.salt


def test_a_salted_password_gives_the_keys_of_its_password() -> None:
    salt = base64.b64encode(b"salt").decode()
    key = base64.b64encode(SHA_512.salted_password("p,=", b"salt", 5000)).decode()
    beginning = f"SCRAM-SHA-512=[name=a,iterations=5000,salt={salt}"
    salted = parse_scram_argument(f'{beginning},saltedpassword="{key}"]', Random(1))
    assert salted.credential == SHA_512.credential(SHA_512.salted_password("p,=", b"salt", 5000), b"salt", 5000)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("SCRAM-SHA-256", "Failed to find equals sign in SCRAM argument 'SCRAM-SHA-256'"),
        ("SCRAM-SHA-1=[name=a,password=b]", "The add-scram mechanism SCRAM-SHA-1 is not supported."),
        ("SCRAM-SHA-256=name=a]", "Expected configuration string to start with \\["),
        ("SCRAM-SHA-256=[name=a", "Expected configuration string to end with \\]"),
        ("SCRAM-SHA-256=[name]", "No equals sign found in SCRAM component: name"),
        ("SCRAM-SHA-256=[password=a]", "You must supply 'name' to add-scram"),
        ("SCRAM-SHA-256=[name=a]", "You must supply one of 'password' or 'saltedpassword' to add-scram"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=YQ==]", "You must supply 'salt' with 'saltedpassword' to add-scram"),
        ("SCRAM-SHA-256=[name=a,password=b,salt=?]", "Failed to decode given salt: \\?"),
        ("SCRAM-SHA-256=[name=a,password=b,iterations=x]", "Failed to parse iterations count: x"),
        ("SCRAM-SHA-256=[name=a,password=b,iterations=4095]", "must be >= 4096 for add-scram using SCRAM_SHA_256"),
        ("SCRAM-SHA-512=[name=a,password=b,iterations=16385]", "must be <= 16384 for add-scram using SCRAM_SHA_512"),
        ("SCRAM-SHA-256=[name=a,password=b,user=c]", "Unknown SCRAM configurations: user"),
    ],
)
def test_an_invalid_argument_is_named_with_the_reason(argument: str, text: str) -> None:
    with pytest.raises(BrokerSimError, match=f"^--add-scram SCRAM.*: .*{text}"):
        parse_scram_argument(argument, Random(1))
