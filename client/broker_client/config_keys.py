"""Every producer configuration key of Kafka 4.3, in the order of Java's ConfigDef, then those of older releases.

Mirrors the ConfigDef of ProducerConfig: of several errors the one whose key comes first here is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType
from broker_client.config.connection_keys import CONNECTION_KEYS
from broker_client.config.older_keys import OLDER_KEYS
from broker_client.config.recovery_keys import RECOVERY_KEYS
from broker_client.config.sasl_keys import SASL_KEYS
from broker_client.config.sending_keys import SENDING_KEYS
from broker_client.config.tls_keys import TLS_KEYS
from broker_client.config.transaction_keys import TRANSACTION_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEYS", "ConfigKey", "Importance", "KeyStatus", "ValueType"]

_KEYS: Final = (
    *SENDING_KEYS,
    *CONNECTION_KEYS,
    *TLS_KEYS,
    *SASL_KEYS,
    *TRANSACTION_KEYS,
    *RECOVERY_KEYS,
    *OLDER_KEYS,
)

KEYS: Final[Mapping[str, ConfigKey]] = {key.name: key for key in _KEYS}
