"""SCRAM credentials through the admin client: Java's checks before a request, and the brokers' errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_client.admin import (
    Admin,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from broker_client.admin_errors import ItemsFailed
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1) as running:
        yield running


def put(
    user: str, mechanism: ScramMechanism = SHA_256, *, iterations: int = 4096, password: str = "secret"
) -> UserScramCredentialUpsertion:
    return UserScramCredentialUpsertion(
        user=user, credential_info=ScramCredentialInfo(mechanism, iterations), password=password, salt=b"salt"
    )


def test_passwords_are_set_described_and_deleted(cluster: ThreadedCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.alter_user_scram_credentials([put("ann"), put("bob", SHA_512, iterations=5000)])
        cluster.create_scram_user("cat", "secret")
        expected = {
            "ann": [ScramCredentialInfo(SHA_256)],
            "bob": [ScramCredentialInfo(SHA_512, 5000)],
            "cat": [ScramCredentialInfo(SHA_256)],
        }
        assert admin.describe_user_scram_credentials() == expected
        assert admin.describe_user_scram_credentials(["ann"]) == {"ann": expected["ann"]}
        image = cluster.cluster.brokers[1].metadata_cache.image
        key = SHA_512.salted_password("secret", b"salt", 5000)
        assert image.scram.credential("bob", SHA_512) == SHA_512.credential(key, b"salt", 5000)
        admin.alter_user_scram_credentials(
            [
                UserScramCredentialDeletion(user="ann", mechanism=SHA_256),
                UserScramCredentialDeletion(user="bob", mechanism=SHA_512),
            ]
        )
        cluster.delete_scram_user("cat")
        assert admin.describe_user_scram_credentials() == {}


def test_errors_are_those_of_each_user(cluster: ThreadedCluster) -> None:
    unknown = ScramMechanism.UNKNOWN
    alterations = [
        put(""),
        put("ann", unknown),
        put("bob", password=""),
        put("cat", iterations=1),
        put("dan"),
        put("dan", SHA_512),
        UserScramCredentialDeletion(user="eve", mechanism=unknown),
        UserScramCredentialDeletion(user="fay", mechanism=SHA_256),
    ]
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        with pytest.raises(ItemsFailed) as failed:
            admin.alter_user_scram_credentials([*alterations, put("guy")])
        codes = {user: getattr(error, "error_code", None) for user, error in failed.value.errors.items()}
        assert codes == {"": 93, "ann": 33, "bob": 93, "cat": 93, "dan": 92, "eve": 33, "fay": 91}
        assert failed.value.done == {"guy": None}
        with pytest.raises(ItemsFailed) as failed:
            admin.describe_user_scram_credentials(["guy", "gil"])
        assert list(failed.value.errors) == ["gil"]
        assert failed.value.done == {"guy": [ScramCredentialInfo(SHA_256)]}


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(put("ann"))
