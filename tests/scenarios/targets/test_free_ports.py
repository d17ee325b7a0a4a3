"""Ports that are free now, and that the system gives to no outgoing connection before a server has bound them."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

from broker_scenarios.targets import free_ports as module
from broker_scenarios.targets.free_ports import LOWEST_PORT, free_ports

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_ports_differ_and_servers_can_bind_them() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    with ExitStack() as bound:
        for port in ports:
            bound.enter_context(socket.socket()).bind(("127.0.0.1", port))


def test_ports_are_below_those_of_outgoing_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTGOING_RANGE", tmp_path / "range")
    assert all(LOWEST_PORT <= port < module.OUTGOING_FIRST for port in free_ports(3))
    (tmp_path / "range").write_text("12000\t60999\n")
    assert all(LOWEST_PORT <= port < 12_000 for port in free_ports(3))


def test_a_system_that_gives_out_all_ports_gives_these_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTGOING_RANGE", tmp_path / "range")
    (tmp_path / "range").write_text("1024\t65535\n")
    assert len(set(free_ports(20))) == 20


def test_a_port_that_is_taken_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTGOING_RANGE", tmp_path / "range")
    (tmp_path / "range").write_text("12000\t60999\n")
    taken = free_ports(5)
    with ExitStack() as bound:
        for port in taken:
            bound.enter_context(socket.socket()).bind(("127.0.0.1", port))
        assert not set(free_ports(900)) & set(taken)
