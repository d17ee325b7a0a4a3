from __future__ import annotations

import pytest

from broker_sim.quotas.inet_address import is_address_or_host, normal_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("10.1", "10.0.0.1"),
        ("10.1.2", "10.1.0.2"),
        ("10", "0.0.0.10"),
        ("4294967295", "255.255.255.255"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_an_address_has_one_form(text: str, address: str) -> None:
    assert normal_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "256.1.1.1", "1.2.3.4.5", "1.2.3.", "4294967296", "a b", "::g", "fe80::1%lo", "x"]
)
def test_what_is_no_address_is_none(text: str) -> None:
    assert not is_address_or_host(text)
