from __future__ import annotations

import pytest

from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS, ScramChange
from broker_sim.security.scram_requests import Alteration, alteration_error, change_of, described, described_twice
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_user_scram_credentials import ScramCredentialDeletion, ScramCredentialUpsertion
from protocol_specs.sasl.scram import ScramMechanism

SHA_256 = ScramMechanism.SCRAM_SHA_256


def upsertion(**changes: object) -> ScramCredentialUpsertion:
    valid = {"name": "alice", "mechanism": SHA_256, "iterations": 4096, "salt": b"s", "salted_password": b"key"}
    return ScramCredentialUpsertion(**valid | changes)


@pytest.mark.parametrize(
    ("alteration", "code", "text"),
    [
        (upsertion(name=""), 93, "Username must not be empty"),
        (upsertion(mechanism=3), 33, "Unknown SCRAM mechanism"),
        (upsertion(iterations=4095), 93, "Too few iterations"),
        (upsertion(iterations=16385), 93, "Too many iterations"),
        (ScramCredentialDeletion(name="", mechanism=3), 93, "Username must not be empty"),
        (ScramCredentialDeletion(name="alice", mechanism=0), 33, "Unknown SCRAM mechanism"),
    ],
)
def test_an_invalid_field_is_the_error_of_its_alteration(alteration: Alteration, code: int, text: str) -> None:
    assert alteration_error(alteration) == (code, text)


def test_a_valid_alteration_becomes_a_change() -> None:
    set_one, removed = upsertion(), ScramCredentialDeletion(name="alice", mechanism=SHA_256)
    assert alteration_error(set_one) is alteration_error(removed) is None
    assert change_of(set_one) == ScramChange("alice", SHA_256, SHA_256.credential(b"key", b"s", 4096))
    assert change_of(removed) == ScramChange("alice", SHA_256, None)


def test_a_user_is_described_without_keys() -> None:
    image = NO_SCRAM_CREDENTIALS.with_changes([change_of(upsertion())])
    (info,) = described("alice", image).credential_infos
    assert (info.mechanism, info.iterations) == (SHA_256, 4096)
    assert described("bob", image).error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert described_twice("alice").error_code == ErrorCode.DUPLICATE_RESOURCE
