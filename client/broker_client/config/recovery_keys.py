"""The last keys of ProducerConfig: how a lost cluster is found again (KIP-899, KIP-1102), and providers of values."""

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
            "What to do when no known broker can be reached: rebootstrap begins anew with bootstrap.servers, "
            "none does not."
        ),
    ),
    ConfigKey(
        name="metadata.recovery.rebootstrap.trigger.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=0,
        doc="How long metadata may stay unobtainable before rebootstrap begins anew.",
    ),
    ConfigKey(
        name="config.providers",
        type=_T.LIST,
        importance=_I.LOW,
        default=(),
        status=_S.REFUSED,
        note="values are taken as they are: put secrets in before, from os.environ for example",
        doc="Classes that replace parts of values, secrets for example.",
    ),
)
