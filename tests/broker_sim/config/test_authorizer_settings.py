"""The configurations of the authorizer."""

from __future__ import annotations

import pytest

from broker_sim.cluster import Cluster
from broker_sim.config.authorizer_settings import SIMPLE_ACL_AUTHORIZER, STANDARD_AUTHORIZER, AuthorizerSettings
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.errors import ConfigError
from sim_runtime.world import World

NAME = "authorizer.class.name"
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
OPEN = {NAME: STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}


def settings_of(config: dict[str, str], release: str = "4.3.1") -> AuthorizerSettings | None:
    return AuthorizerSettings.of(BrokerConfig.parse(config, release=release))


def test_super_users_are_separated_by_semicolons() -> None:
    settings = settings_of({NAME: STANDARD_AUTHORIZER, "super.users": " User:a ;;User:ANONYMOUS;User:CN=b,O=c"})
    assert settings is not None
    assert settings.super_users == {"User:a", "User:ANONYMOUS", "User:CN=b,O=c"}
    assert not settings.allow_everyone_if_no_acl_found
    assert settings_of(OPEN) == AuthorizerSettings(allow_everyone_if_no_acl_found=True)


def test_without_a_class_there_is_no_authorizer() -> None:
    assert settings_of({"super.users": "User:a"}) is None


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({NAME: "com.example.Own"}, "com.example.Own: expected org.apache.kafka.metadata.authorizer.Standard"),
        ({NAME: ACL_AUTHORIZER}, "expected org.apache.kafka.metadata.authorizer.Standard"),
        (OPEN | {"super.users": "a"}, "expected a string in format principalType:principalName but got a"),
        (OPEN | {"ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/"}, "maps no subjects of certificates"),
        ({NAME: STANDARD_AUTHORIZER, "super.users": "User:a"}, "Add it to super.users, or set allow.everyone"),
    ],
)
def test_what_no_broker_starts_with_is_refused(config: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        settings_of(config)
    world = World(1)
    with pytest.raises(ConfigError, match=reason):
        Cluster(reactor=world.reactor, streams=world.streams, brokers=1, config=config).start()


ACL_AUTHORIZERS = {
    "1.1.1": [SIMPLE_ACL_AUTHORIZER],
    "2.0.1": [SIMPLE_ACL_AUTHORIZER],
    "2.3.1": [SIMPLE_ACL_AUTHORIZER],
    "2.4.1": [ACL_AUTHORIZER, SIMPLE_ACL_AUTHORIZER],
    "2.8.2": [ACL_AUTHORIZER, SIMPLE_ACL_AUTHORIZER],
    "3.0.2": [ACL_AUTHORIZER],
}


@pytest.mark.parametrize("release", ACL_AUTHORIZERS)
def test_releases_in_zookeeper_mode_have_their_own(release: str) -> None:
    for name in [STANDARD_AUTHORIZER, SIMPLE_ACL_AUTHORIZER, ACL_AUTHORIZER]:
        if name in ACL_AUTHORIZERS[release]:
            settings = settings_of(OPEN | {NAME: name}, release)
            assert settings is not None
            assert settings.simple is (name == SIMPLE_ACL_AUTHORIZER)
        else:
            with pytest.raises(ConfigError, match=f"expected {ACL_AUTHORIZERS[release][0]}.*in ZooKeeper mode"):
                settings_of(OPEN | {NAME: name}, release)


def test_zookeeper_mode_of_a_release_that_has_both_modes() -> None:
    zookeeper = {"zookeeper.connect": "zookeeper:2181", NAME: ACL_AUTHORIZER}
    assert settings_of(OPEN | zookeeper, "3.7.2") is not None
    with pytest.raises(ConfigError, match="denies the requests of the controller"):
        settings_of(zookeeper, "3.7.2")


def test_releases_before_1_1_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"release 1\.0\.2 have no authorizer.*expected release 1\.1"):
        settings_of(OPEN | {NAME: SIMPLE_ACL_AUTHORIZER}, "1.0.2")
