"""All clients of a run, by group: they start together, and rules may freeze and kill them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from broker_scenarios.errors import ScenarioError
from broker_scenarios.playing.load_player import LoadPlayer
from broker_scenarios.playing.script_player import ScriptPlayer
from broker_scenarios.workloads.keyed_load import build_load, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.stage import Stage
    from broker_scenarios.workloads.keyed_load import LoadRow

__all__ = ["Cast"]


class Cast:
    """The clients of a scenario. A group with a load and a script has clients for each."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._players: dict[str, list[LoadPlayer | ScriptPlayer]] = {}
        first_value = 0
        for group in stage.scenario.clients:
            players: list[LoadPlayer | ScriptPlayer] = []
            if group.load is not None:
                rows = build_load(group.load, seed)
                if first_value:
                    rows = [row._replace(value_id=row.value_id + first_value) for row in rows]
                first_value += group.load.records
                players += self._load_players(group, shares_of(rows, group.load.producers))
            if group.script:
                players += (ScriptPlayer(stage, group, number) for number in range(group.count))
            self._players[group.name] = players

    def _load_players(self, group: ClientGroup, shares: list[list[LoadRow]]) -> Iterator[LoadPlayer]:
        for number, rows in enumerate(shares):
            yield LoadPlayer(self._stage, group, number, rows)

    def __iter__(self) -> Iterator[LoadPlayer | ScriptPlayer]:
        for players in self._players.values():
            yield from players

    def start(self) -> None:
        """Start all loads and scripts."""
        for player in self:
            player.start()

    def still_playing(self) -> list[str]:
        """The clients whose scripts or loads are not over; notes which groups have ended."""
        playing: list[str] = []
        for name, players in self._players.items():
            busy = [player.client_id for player in players if not player.has_ended]
            if not busy:
                self._stage.ended.add(name)
            playing += busy
        return playing

    @property
    def unfinished(self) -> int:
        """How many records have no outcome yet."""
        return sum(player.unfinished for player in self)

    @property
    def completed(self) -> int:
        """How many sends of the processes that run now have an outcome."""
        return sum(player.process.sends.completed for player in self)

    # What rules do to clients

    def pause(self, client: str) -> None:
        """Freeze the clients whose names fit a pattern. Raises ScenarioError when none does."""
        for player in self._named(client):
            player.process.reactor.pause()

    def resume(self, client: str) -> None:
        """Let frozen clients go on."""
        for player in self._named(client):
            player.process.reactor.resume()

    def kill(self, client: str) -> None:
        """Kill clients in the middle of what they do."""
        for player in self._named(client):
            player.kill()

    def restart(self, client: str) -> None:
        """Start killed clients again, from the beginning of their scripts."""
        for player in self._named(client):
            if isinstance(player, ScriptPlayer):
                player.restart()

    def _named(self, client: str) -> Iterable[LoadPlayer | ScriptPlayer]:
        found = [player for player in self if fnmatchcase(player.client_id, client) or player.group.name == client]
        if not found:
            raise ScenarioError(f"no client is named {client!r}; there are {', '.join(self._players)}")
        return found
