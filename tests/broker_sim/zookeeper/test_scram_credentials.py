"""SCRAM credentials in znodes, and alterations as ZkAdminManager orders them.

`test_recorded_wire` compares the responses with those of real brokers.
"""

from __future__ import annotations

import pytest

from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS, ScramChange
from broker_sim.zookeeper.scram_credentials import (
    alter_scram_credentials,
    credential_of_text,
    credential_text,
    describe_scram_credentials,
)
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from protocol_specs.sasl.scram import ScramMechanism

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
CREDENTIAL = SHA_256.credential(b"key", b"salt", 4096)


def put(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"key"
    )


def test_a_znode_has_a_text_of_the_credential() -> None:
    text = credential_text(CREDENTIAL)
    assert text.startswith("salt=c2FsdA==,stored_key=")
    assert text.endswith(",iterations=4096")
    assert credential_of_text(text) == CREDENTIAL
    with pytest.raises(KeyError):
        credential_of_text("salt=c2FsdA==")


def test_errors_come_before_altered_users() -> None:
    image = NO_SCRAM_CREDENTIALS.with_changes([ScramChange("z", SHA_256, CREDENTIAL)])
    request = AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name="z", mechanism=SHA_256),
            ScramCredentialDeletion(name="no", mechanism=SHA_256),
        ],
        upsertions=[put("z", SHA_512), put("a"), put("twice"), put("twice"), put("low", SHA_256, 1)],
    )
    response, changes = alter_scram_credentials(request, image)
    codes = [(each.user, each.error_code) for each in response.results]
    assert codes == [("low", 93), ("twice", 92), ("no", 91), ("z", 0), ("a", 0)]
    after = image.with_changes(changes)
    assert after == NO_SCRAM_CREDENTIALS.with_changes(
        [ScramChange("z", SHA_512, SHA_512.credential(b"key", b"salt", 4096)), ScramChange("a", SHA_256, CREDENTIAL)]
    )


def test_all_users_are_sorted() -> None:
    changes = [ScramChange(user, SHA_256, CREDENTIAL) for user in ("b", "Ω", "a", "B")]
    image = NO_SCRAM_CREDENTIALS.with_changes(changes)
    response = describe_scram_credentials(DescribeUserScramCredentialsRequest(users=None), image)
    assert [each.user for each in response.results] == ["B", "a", "b", "Ω"]
