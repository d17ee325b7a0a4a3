"""The last keys of ProducerConfig: rebootstrap (KIP-899, KIP-1102), and providers of values."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["RECOVERY_KEYS"]

_T = ValueType
_I = Importance
_S = KeyStatus

RECOVERY_KEYS: Final = (
    ConfigKey(
        name="metadata.recovery.strategy",
        type=_T.STRING,
        importance=_I.LOW,
        default="rebootstrap",
        one_of=("REBOOTSTRAP", "NONE"),
        ignore_case=True,
        doc=(
            "Strategy when no known broker can be reached: rebootstrap connects to bootstrap.servers again, "
            "none keeps the known brokers."
        ),
    ),
    ConfigKey(
        name="metadata.recovery.rebootstrap.trigger.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=0,
        doc="Time without a metadata response after which the client rebootstraps.",
    ),
    ConfigKey(
        name="config.providers",
        type=_T.LIST,
        importance=_I.LOW,
        default=(),
        status=_S.REFUSED,
        note="values are not substituted: pass secrets as values, for example from os.environ",
        doc="Classes that replace parts of values, secrets for example.",
    ),
)
