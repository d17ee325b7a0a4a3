"""The time-outs and retries of a voter. Mirrors QuorumConfig, with the differences between releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs import releases
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["RaftSettings"]

PRE_VOTE_SINCE: Final = 2
MAX_FETCH_WAIT_MS: Final = 500
CHECK_QUORUM_TIMEOUT_FACTOR: Final = 1.5
RETRY_BACKOFF_MS: Final = 20
ELECTION_BACKOFF_BASE_MS: Final = 100
ELECTION_BACKOFF_DOUBLINGS_MAX: Final = 20
BATCHES_PER_FETCH_MAX: Final = 1_000
"""How many batches one fetch brings; Kafka counts bytes (controller.quorum.fetch.max.bytes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftSettings:
    """All in milliseconds. `pre_vote` where Vote has it (4.x, KIP-996); any voter then gets requests for the leader."""

    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    request_timeout_ms: int = 2_000
    append_linger_ms: int = 25
    pre_vote: bool = True

    @classmethod
    def from_config(cls, config: BrokerConfig) -> RaftSettings:
        """Take them from controller.quorum.* and the release."""

        def milliseconds(name: str) -> int:
            value = config[name]
            assert isinstance(value, int)
            return value

        vote_versions = releases.get(config.release).listeners["controller"].api_versions[ApiKey.VOTE]
        return cls(
            election_timeout_ms=milliseconds("controller.quorum.election.timeout.ms"),
            election_backoff_max_ms=milliseconds("controller.quorum.election.backoff.max.ms"),
            fetch_timeout_ms=milliseconds("controller.quorum.fetch.timeout.ms"),
            request_timeout_ms=milliseconds("controller.quorum.request.timeout.ms"),
            append_linger_ms=milliseconds("controller.quorum.append.linger.ms"),
            pre_vote=vote_versions.highest >= PRE_VOTE_SINCE,
        )

    @property
    def check_quorum_timeout_ms(self) -> float:
        """The time for which a leader leads without fetches of a majority."""
        return int(self.fetch_timeout_ms * CHECK_QUORUM_TIMEOUT_FACTOR)

    @property
    def begin_quorum_epoch_timeout_ms(self) -> int:
        """The silence of a voter after which its leader announces itself to it again (4.x)."""
        return self.fetch_timeout_ms // 2
