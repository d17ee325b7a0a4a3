"""Idempotence and transactions. From ProducerConfig (KIP-98, KIP-939)."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["TRANSACTION_KEYS"]

_TWO_PHASES: Final = "nobody prepares transactions here; transactional.id without it is spoken"
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
            "Brokers drop repeated batches and refuse gaps: each record is stored once and in order. Given, "
            "it insists on what it needs; else it yields to acks and retries that exclude it."
        ),
    ),
    ConfigKey(
        name="transaction.timeout.ms",
        type=_T.INT,
        importance=_I.LOW,
        default=60000,
        doc="How long a transaction may last before its coordinator aborts it.",
    ),
    ConfigKey(
        name="transactional.id",
        type=_T.STRING,
        importance=_I.LOW,
        non_empty=True,
        doc="Name under which transactions outlive this producer; needs idempotence.",
    ),
    ConfigKey(
        name="transaction.two.phase.commit.enable",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=False,
        status=_S.REFUSED,
        note=_TWO_PHASES,
        doc=(
            "Transactions are prepared and ended by an outer coordinator and never time out (KIP-939); "
            "excludes transaction.timeout.ms."
        ),
    ),
)
