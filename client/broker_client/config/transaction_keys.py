"""Idempotence and transactions. From ProducerConfig (KIP-98, KIP-939)."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["TRANSACTION_KEYS"]

_TWO_PHASES: Final = "transactions with one phase are supported: set transactional.id alone"
_T = ValueType
_I = Importance
_S = KeyStatus

TRANSACTION_KEYS: Final = (
    ConfigKey(
        name="enable.idempotence",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc=(
            "Brokers drop repeated batches and refuse gaps: each record is stored once and in order. If it is "
            "given as true, acks and retries that exclude it are errors; by default they disable it."
        ),
    ),
    ConfigKey(
        name="transaction.timeout.ms",
        type=_T.INT,
        importance=_I.LOW,
        default=60000,
        doc="Time after which the coordinator aborts an open transaction.",
    ),
    ConfigKey(
        name="transactional.id",
        type=_T.STRING,
        importance=_I.LOW,
        non_empty=True,
        doc="Identifies a producer across restarts and enables transactions; needs idempotence.",
    ),
    ConfigKey(
        name="transaction.two.phase.commit.enable",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=False,
        status=_S.REFUSED,
        note=_TWO_PHASES,
        doc=(
            "An external coordinator prepares and ends transactions, which have no time-out (KIP-939); excludes "
            "transaction.timeout.ms."
        ),
    ),
)
