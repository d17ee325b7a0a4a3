"""The users that `kafka-storage format --add-scram` makes: `SCRAM-SHA-256=[name=alice,password=secret]` (KIP-900).

Mirrors ScramParser, whose texts the errors have.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError
from broker_sim.security.scram_image import ScramChange
from protocol_specs.sasl.scram import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism, new_nonce

if TYPE_CHECKING:
    from random import Random

__all__ = ["parse_scram_argument"]

DEFAULT_ITERATIONS: Final = 4096
_KEYS: Final = ("name", "salt", "iterations", "password", "saltedpassword")


def parse_scram_argument(argument: str, random: Random) -> ScramChange:
    """Return the credential of one argument; `random` draws a salt where the argument has none.

    Raises:
        BrokerSimError: the argument is invalid.
    """
    try:
        return _parsed(argument.strip(), random)
    except ValueError as error:
        msg = f"--add-scram {argument}: {error}"
        raise BrokerSimError(msg) from None


def _parsed(argument: str, random: Random) -> ScramChange:
    name, equals, text = argument.partition("=")
    if not equals:
        raise ValueError(f"Failed to find equals sign in SCRAM argument '{argument}'")
    mechanism = ScramMechanism.of_name(name)
    if mechanism is ScramMechanism.UNKNOWN:
        raise ValueError(f"The add-scram mechanism {name} is not supported.")
    if not text.startswith("["):
        raise ValueError("Expected configuration string to start with [")
    if not text.endswith("]"):
        raise ValueError("Expected configuration string to end with ]")
    parts = dict(_part(each) for each in text[1:-1].split(","))
    user = parts.get("name")
    if user is None:
        raise ValueError("You must supply 'name' to add-scram")
    salt = _decoded("salt", parts["salt"]) if "salt" in parts else new_nonce(random).encode()
    iterations = _iterations(parts.get("iterations"), mechanism)
    key = _salted_password(parts, mechanism, salt, iterations)
    unknown = sorted(each for each in parts if each not in _KEYS)
    if unknown:
        raise ValueError(f"Unknown SCRAM configurations: {', '.join(unknown)}")
    return ScramChange(user, mechanism, mechanism.credential(key, salt, iterations))


def _part(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"No equals sign found in SCRAM component: {text}")
    quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return key, value[1:-1] if quoted else value


def _iterations(text: str | None, mechanism: ScramMechanism) -> int:
    try:
        iterations = DEFAULT_ITERATIONS if text is None else int(text)
    except ValueError:
        raise ValueError(f"Failed to parse iterations count: {text}") from None
    if iterations < ITERATIONS_MIN:
        raise ValueError(f"The 'iterations' value must be >= {ITERATIONS_MIN} for add-scram using {mechanism.name}")
    if iterations > ITERATIONS_MAX:
        raise ValueError(f"The 'iterations' value must be <= {ITERATIONS_MAX} for add-scram using {mechanism.name}")
    return iterations


def _salted_password(parts: dict[str, str], mechanism: ScramMechanism, salt: bytes, iterations: int) -> bytes:
    if "password" in parts:
        if not parts["password"]:
            raise ValueError("Empty key")
        return mechanism.salted_password(parts["password"], salt, iterations)
    if "saltedpassword" not in parts:
        raise ValueError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "salt" not in parts:
        raise ValueError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return _decoded("saltedPassword", parts["saltedpassword"])


def _decoded(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"Failed to decode given {name}: {text}") from None
