"""UTF-8 as Java decodes it: malformed bytes become as many U+FFFD as in Java. Mirrors CharsetDecoder.

Python and Java differ in one case: Java replaces the three bytes of a surrogate by one character (also its first two
at the end of the input or before another character), and Python replaces each byte.
"""

from __future__ import annotations

import codecs
from typing import Final

REPLACE: Final = "java-replace"
"""The name of the error handler, for `str` and `bytes.decode`."""

_REPLACEMENT: Final = "\ufffd"
_LEAD_OF_SURROGATES: Final = 0xED


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    following = data[start + 1 : start + 3]
    if data[start] != _LEAD_OF_SURROGATES or not following or not 0xA0 <= following[0] <= 0xBF:
        return _REPLACEMENT, error.end
    whole = len(following) > 1 and 0x80 <= following[1] <= 0xBF
    return _REPLACEMENT, start + (3 if whole else 2)


codecs.register_error(REPLACE, _replace)
