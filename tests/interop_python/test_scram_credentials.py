"""SCRAM credentials by confluent-kafka's AdminClient, as librdkafka's test 0081 sets, describes and deletes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.interop_python.test_admin_configs import await_true

if TYPE_CHECKING:
    from confluent_kafka.admin import UserScramCredentialAlteration

SECONDS_MAX = 30
USER = "ann"
PASSWORD_WITH_NULLS = b"\0as\0word"


def described(admin: AdminClient) -> list[tuple[ScramMechanism, int]] | int:
    """Mechanisms and iterations of the user, or the error's code."""
    (future,) = admin.describe_user_scram_credentials([USER]).values()
    try:
        infos = future.result(timeout=SECONDS_MAX).scram_credential_infos
    except KafkaException as refused:
        code: int = refused.args[0].code()
        return code
    return [(info.mechanism, info.iterations) for info in infos]


def alter(admin: AdminClient, change: UserScramCredentialAlteration) -> None:
    (future,) = admin.alter_user_scram_credentials([change]).values()
    future.result(timeout=SECONDS_MAX)


def test_a_credential_is_set_described_and_deleted(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    unknown = KafkaError.RESOURCE_NOT_FOUND
    assert described(admin) == unknown
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 10_000)
    alter(admin, UserScramCredentialUpsertion(USER, info, PASSWORD_WITH_NULLS, b"s\0l\0"))
    await_true("the credential is there", lambda: described(admin) == [(info.mechanism, info.iterations)])
    everyone = admin.describe_user_scram_credentials().result(timeout=SECONDS_MAX)
    assert list(everyone) == [USER]
    alter(admin, UserScramCredentialDeletion(USER, ScramMechanism.SCRAM_SHA_256))
    await_true("the credential is gone", lambda: described(admin) == unknown)
    with pytest.raises(KafkaException, match="does not exist"):
        alter(admin, UserScramCredentialDeletion(USER, ScramMechanism.SCRAM_SHA_512))
