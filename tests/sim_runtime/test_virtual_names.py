"""Names of a simulated network."""

from __future__ import annotations

import socket

import pytest

from sim_runtime.virtual_names import address_of, look_up
from sim_runtime.world import World


def test_a_host_has_a_name_and_an_address() -> None:
    network = World(1).network
    address = network.host("broker-1").ip
    assert (
        address_of(network, "broker-1") == address_of(network, address) == address_of(network, b"broker-1") == address
    )
    assert look_up(network, "broker-1", "9092") == [
        (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 9092))
    ]


@pytest.mark.parametrize(("name", "address"), [("localhost", "127.0.0.1"), (None, "0.0.0.0"), ("", "0.0.0.0")])
def test_names_of_every_network(name: str | None, address: str) -> None:
    assert address_of(World(1).network, name) == address


def test_what_is_not_there_is_refused_by_name() -> None:
    network = World(1).network
    with pytest.raises(socket.gaierror, match="nowhere: no host of this network"):
        address_of(network, "nowhere")
    with pytest.raises(socket.gaierror, match="localhost: this network has IPv4 alone"):
        address_of(network, "localhost", socket.AF_INET6)
