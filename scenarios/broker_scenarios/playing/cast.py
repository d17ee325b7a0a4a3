"""All clients of a run, by group: they start together, and rules may freeze and kill them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.errors import ScenarioError
from broker_scenarios.playing.load_player import LoadPlayer
from broker_scenarios.playing.run_limits import LOAD_RECORDS_MAX, RunLimitExceeded
from broker_scenarios.playing.script_player import ScriptPlayer
from broker_scenarios.workloads.keyed_load import build_load, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.stage import Stage
    from broker_scenarios.workloads.keyed_load import LoadRow

__all__ = ["Cast"]


class Cast:
    """The clients of a scenario. A group with a load and a script has clients for each."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._players: dict[str, list[LoadPlayer | ScriptPlayer]] = {}
        if stage.scenario.records > LOAD_RECORDS_MAX:
            remedy = f"the loads have {stage.scenario.records} records; give fewer (`records`), or run with --spark"
            raise RunLimitExceeded("LOAD_RECORDS_MAX", LOAD_RECORDS_MAX, remedy)
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
                self._stage.note_end(name)
            playing += busy
        return playing

    def places(self, clients: Sequence[str]) -> str:
        """The clients with what each one plays now; clients that follow each other at the same place share it."""
        texts: list[tuple[str, list[str]]] = []
        places = {player.client_id: player.place for player in self if not player.has_ended}
        for client in clients:
            if texts and texts[-1][0] == places[client]:
                texts[-1][1].append(client)
            else:
                texts.append((places[client], [client]))
        return ", ".join(f"{', '.join(names)} ({place})" for place, names in texts)

    @property
    def unfinished(self) -> int:
        """How many records have no outcome yet."""
        return sum(player.unfinished for player in self)

    @property
    def completed(self) -> int:
        """How many sends of the processes that run now have an outcome."""
        return sum(player.process.sends.completed for player in self)

    # Actions of rules on clients: the ClientTarget of the fault engine

    @property
    def client_names(self) -> list[str]:
        """The names of the groups and of their clients."""
        return list(dict.fromkeys([*self._players, *(player.client_id for player in self)]))

    def pause_client(self, name: str) -> None:
        """Freeze a client, or all of a group. Raises ScenarioError for an unknown name."""
        for player in self._named(name):
            player.process.pause()

    def resume_client(self, name: str) -> None:
        """Let it go on."""
        for player in self._named(name):
            player.process.resume()

    def kill_client(self, name: str) -> None:
        """Kill it in the middle of its script or load."""
        for player in self._named(name):
            player.kill()

    def restart_client(self, name: str) -> None:
        """Start it again, from the beginning of its script."""
        for player in self._named(name):
            if isinstance(player, ScriptPlayer):
                player.restart()

    def _named(self, name: str) -> Iterable[LoadPlayer | ScriptPlayer]:
        found = [player for player in self if name in {player.client_id, player.group.name}]
        if not found:
            raise ScenarioError(f"no client is named {name!r}; there are {', '.join(self.client_names)}")
        return found
