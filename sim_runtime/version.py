"""The version of the distribution, which clients send to brokers.

It is in the code, so that the digest of a run does not depend on what is installed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
