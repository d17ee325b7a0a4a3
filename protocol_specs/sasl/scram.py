"""SCRAM (RFC 5802): its mechanisms, keys and credentials.

Mirrors ScramMechanism, ScramFormatter and ScramCredential. Names and passwords are used as they are, without SASLprep.
"""

from __future__ import annotations

import hashlib
import hmac
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from random import Random

__all__ = ["ITERATIONS_MAX", "ITERATIONS_MIN", "ScramCredential", "ScramMechanism", "new_nonce"]

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
"""The most iterations of a stored credential (KIP-554); messages may have more."""
_NONCE_BITS: Final = 130
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class ScramMechanism(IntEnum):
    """The mechanisms, by their codes in messages and metadata records; unknown codes are UNKNOWN."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def _missing_(cls, value: object) -> ScramMechanism:  # noqa: ARG003 - as IntEnum has it
        return cls.UNKNOWN

    @classmethod
    def of_name(cls, name: str) -> ScramMechanism:
        """Return the mechanism of a SASL name such as `SCRAM-SHA-256`, which is case-sensitive, or UNKNOWN."""
        return next((each for each in cls if each.sasl_name == name), cls.UNKNOWN)

    @property
    def sasl_name(self) -> str:
        """The name in SASL: `SCRAM-SHA-256`."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The name of the hash in hashlib: `sha256`. UNKNOWN has none."""
        return {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}[self]

    def salted_password(self, password: str | bytes, salt: bytes, iterations: int) -> bytes:
        """Return the key that a password gives. Mirrors ScramFormatter.hi, which is PBKDF2."""
        secret = password.encode() if isinstance(password, str) else password
        return hashlib.pbkdf2_hmac(self.hash_name, secret, salt, iterations)

    def hmac(self, key: bytes, data: bytes) -> bytes:
        """Return the HMAC of data with the mechanism's hash."""
        return hmac.digest(key, data, self.hash_name)

    def hash(self, data: bytes) -> bytes:
        """Return the hash of data."""
        return hashlib.new(self.hash_name, data).digest()

    def credential(self, salted_password: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """Return the credential that a broker keeps of a user."""
        stored_key = self.hash(self.hmac(salted_password, b"Client Key"))
        return ScramCredential(salt, stored_key, self.hmac(salted_password, b"Server Key"), iterations)

    def client_proof(self, salted_password: bytes, exchanged: bytes) -> bytes:
        """Return the proof that the client knows the password; `exchanged` is RFC 5802's AuthMessage."""
        client_key = self.hmac(salted_password, b"Client Key")
        return _xor(client_key, self.hmac(self.hash(client_key), exchanged))

    def proves(self, credential: ScramCredential, proof: bytes, exchanged: bytes) -> bool:
        """Return True if the client's proof belongs to the credential."""
        signature = self.hmac(credential.stored_key, exchanged)
        if len(proof) != len(signature):
            return False
        return hmac.compare_digest(self.hash(_xor(signature, proof)), credential.stored_key)


class ScramCredential(NamedTuple):
    """The facts that a broker keeps of a user for one mechanism: not the password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def new_nonce(random: Random) -> str:
    """Return a nonce, also the text of a new salt: a number of 130 bits to base 36, as Kafka draws it."""
    number = random.getrandbits(_NONCE_BITS)
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
