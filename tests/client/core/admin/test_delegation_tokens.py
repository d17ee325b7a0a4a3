"""Delegation tokens through the admin client: a login by a created token, its renewal and end, and the refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.admin import Admin
from broker_client.admin_errors import ItemsFailed
from broker_client.errors import BrokerError, ConfigError, UnsupportedVersion
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode
from protocol_specs.sasl.jaas import LOGIN_MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
DAY_MS = 86_400_000


def config() -> dict[str, Any]:
    logins = {
        f"listener.name.sasl_plaintext.{mechanism.lower()}.sasl.jaas.config": (
            f"{LOGIN_MODULES[mechanism]} required user_alice=secret user_bob=secret;"
        )
        for mechanism in MECHANISMS
    }
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "delegation.token.secret.key": "key",
        **logins,
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, config=config()) as made:
        yield made


def login(cluster: ThreadedCluster, user: str, password: str = "secret", *, token: bool = False) -> dict[str, Any]:
    mechanism = "SCRAM-SHA-256" if token else "PLAIN"
    options = f'username="{user}" password="{password}"' + (' tokenauth="true"' if token else "")
    return {
        "bootstrap_servers": cluster.bootstrap_servers_of("SASL_PLAINTEXT"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_jaas_config": f"{LOGIN_MODULES[mechanism]} required {options};",
    }


def test_a_client_logs_in_with_a_token_until_it_is_expired(cluster: ThreadedCluster) -> None:
    with Admin(**login(cluster, "alice")) as admin:
        token = admin.create_delegation_token(renewers=["User:bob"], max_lifetime_ms=2 * DAY_MS)
        information = token.token_info
        assert (information.owner, information.token_requester) == ("User:alice", "User:alice")
        assert information.renewers == ("User:bob",)
        assert information.max_timestamp_ms == information.issue_timestamp_ms + 2 * DAY_MS
        assert information.expiry_timestamp_ms == information.issue_timestamp_ms + DAY_MS
        assert token.hmac_base64 not in repr(token)
        assert admin.describe_delegation_token() == [token]
        assert admin.describe_delegation_token(["User:alice"]) == [token]
        assert admin.describe_delegation_token(["User:carol"]) == []
        with Admin(**login(cluster, information.token_id, token.hmac_base64, token=True)) as by_token:
            assert "__consumer_offsets" not in by_token.list_topics()
            with pytest.raises(BrokerError) as refused:
                by_token.create_delegation_token()
            assert refused.value.error_code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        with Admin(**login(cluster, "bob")) as renewer:
            renewed_ms = renewer.renew_delegation_token(token.hmac, renew_time_period_ms=DAY_MS // 2)
        assert information.issue_timestamp_ms < renewed_ms < information.expiry_timestamp_ms
        [described] = admin.describe_delegation_token()
        assert described.token_info.expiry_timestamp_ms == renewed_ms
        assert admin.renew_delegation_token(token.hmac) > renewed_ms
        assert admin.expire_delegation_token(token.hmac, expiry_time_period_ms=DAY_MS // 4) < renewed_ms
        assert admin.expire_delegation_token(token.hmac) < information.expiry_timestamp_ms
        assert admin.describe_delegation_token() == []


def test_an_owner_is_named_and_a_token_of_no_one_is_an_error(cluster: ThreadedCluster) -> None:
    with Admin(**login(cluster, "alice")) as admin:
        token = admin.create_delegation_token(owner="User:carol", renewers=["User:alice"])
        assert (token.token_info.owner, token.token_info.token_requester) == ("User:carol", "User:alice")
        admin.expire_delegation_token(token.hmac)
        for call in (admin.renew_delegation_token, admin.expire_delegation_token):
            with pytest.raises(BrokerError) as unknown:
                call(b"no such token")
            assert unknown.value.error_code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
            assert not isinstance(unknown.value, ItemsFailed)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (lambda admin: admin.create_delegation_token(owner="ann"), "owner"),
        (lambda admin: admin.create_delegation_token(renewers=["ann"]), "renewers"),
        (lambda admin: admin.describe_delegation_token(["ann"]), "owners"),
    ],
)
def test_a_principal_without_a_type_is_refused(cluster: ThreadedCluster, call: Any, option: str) -> None:
    problem = f"^{option}: expected TYPE:NAME, such as User:ann, not 'ann'$"
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin, pytest.raises(ConfigError, match=problem):
        call(admin)


def test_an_old_broker_creates_no_tokens_for_others() -> None:
    with (
        ThreadedCluster(brokers=1, release="3.2", config=config()) as cluster,
        Admin(**login(cluster, "alice")) as admin,
        pytest.raises(UnsupportedVersion, match="owner='User:carol' needs CreateDelegationToken v3"),
    ):
        admin.create_delegation_token(owner="User:carol")
