"""Credentials by mechanism and user, in the order of Kafka's tables."""

from __future__ import annotations

from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS, ScramChange
from protocol_specs.sasl.scram import ScramMechanism

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
FIRST, SECOND = (SHA_256.credential(key, b"s", 4096) for key in (b"1", b"2"))


def test_a_credential_belongs_to_a_user_and_a_mechanism() -> None:
    image = NO_SCRAM_CREDENTIALS.with_changes([ScramChange("a", SHA_512, FIRST), ScramChange("a", SHA_256, SECOND)])
    assert image.of_user("a") == {SHA_256: SECOND, SHA_512: FIRST}
    assert (image.credential("a", SHA_512), image.credential("b", SHA_512)) == (FIRST, None)
    assert NO_SCRAM_CREDENTIALS.users() == []


def test_the_last_change_of_a_credential_counts() -> None:
    changes = [ScramChange("a", SHA_256, FIRST), ScramChange("b", SHA_256, FIRST), ScramChange("a", SHA_256, None)]
    image = NO_SCRAM_CREDENTIALS.with_changes(changes)
    assert list(image.entries()) == [ScramChange("b", SHA_256, FIRST)]
    emptied = image.with_changes([ScramChange("b", SHA_256, None), ScramChange("no", SHA_512, None)])
    assert emptied == NO_SCRAM_CREDENTIALS


def test_users_are_in_the_order_of_a_table_that_is_copied_at_each_change() -> None:
    one = NO_SCRAM_CREDENTIALS.with_changes([ScramChange("user-9", SHA_256, FIRST)])
    two = one.with_changes([ScramChange(name, SHA_256, FIRST) for name in ("ann", "bob")])
    at_once = NO_SCRAM_CREDENTIALS.with_changes(
        [ScramChange(name, SHA_256, FIRST) for name in ("user-9", "ann", "bob")]
    )
    assert two == at_once
    assert (two.users(), at_once.users()) == (["user-9", "ann", "bob"], ["ann", "bob", "user-9"])
