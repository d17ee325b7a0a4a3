r"""The topics that match a regular expression of a group. Mirrors ResolvedRegularExpression and Utils (RE2J).

Kafka compiles expressions with RE2J, which is RE2 for Java, and matches whole names. An expression is
translated to Python's `re`: what RE2 lacks (look-around, back references, possessive quantifiers, atomic and
conditional groups) is refused with RE2J's text. Unicode classes (`\pN`, `\p{Greek}`) match no topic name but the
ASCII ones of `L`, `N` and `P`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NOT_RESOLVED", "InvalidRegex", "ResolvedRegex", "check_regex", "matching_topics"]


class InvalidRegex(ValueError):
    """RE2J does not accept an expression; the text is RE2J's."""


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics as of a version of the metadata."""

    topics: frozenset[str] = frozenset()
    version: int = -1
    timestamp_ms: int = -1


NOT_RESOLVED: Final = ResolvedRegex()
_REPEAT_MAX: Final = 1000
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_UNICODE: Final = re.compile(r"\\([pP])(?:([LMNPSZC])|\{\^?(\w+)\})")
_ASCII_OF: Final = {
    "L": "A-Za-z",
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": "0-9",
    "Nd": "0-9",
    "P": r"!-#%-*,-/:;?@\[-\]_{}",
    "S": r"$+<=>\^`|~",
    "Latin": "A-Za-z",
}
"""The ASCII characters of Unicode classes: names of topics have no others."""
_ESCAPES: Final = frozenset("AbBdDsSwWzafnrtvxQEpPCnG") | frozenset("0123456789")


def check_regex(regex: str) -> None:
    """Raise unless RE2J accepts the expression.

    Raises:
        InvalidRegex: With RE2J's text where it is known.
    """
    _compiled(regex)


def matching_topics(regex: str, topics: Iterable[str]) -> frozenset[str]:
    """Return the topics whose whole name matches."""
    pattern = _compiled(regex)
    return frozenset(topic for topic in topics if pattern.fullmatch(topic))


def _compiled(regex: str) -> re.Pattern[str]:
    translated = _Translation(regex).run()
    try:
        return re.compile(translated, re.ASCII)
    except re.error as error:
        raise InvalidRegex(str(error.msg)) from error


def _unicode_class(found: re.Match[str]) -> str:
    return _ASCII_OF.get(found[2] or found[3], "")


class _Translation:
    """From RE2's syntax to Python's, with RE2's errors."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0
        self._out: list[str] = []
        self._open: list[int] = []
        self._names: set[str] = set()
        self._repeated = ""
        """The repetition operator behind which the scanner is: two in a row are an error."""
        self._repeatable = False

    def run(self) -> str:
        while self._at < len(self._regex):
            self._step(self._regex[self._at])
        if self._open:
            raise InvalidRegex("missing closing )")
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char in "*+?":
            self._repeat(char)
        elif char == "{" and (found := re.compile(r"\{(\d+)(,?)(\d*)\}").match(self._regex, self._at)):
            low, high = int(found[1]), int(found[3] or found[1])
            if max(low, high) > _REPEAT_MAX or high < low:
                raise InvalidRegex("invalid repeat count")
            self._repeat(found[0])
        else:
            self._repeated = ""
            self._repeatable = char not in "(|"
            self._plain(char)

    def _plain(self, char: str) -> None:
        if char == "(":
            self._group()
        elif char == ")":
            if not self._open:
                raise InvalidRegex("regexp/syntax: internal error")
            self._open.pop()
            self._emit(char, 1)
        elif char == "[":
            self._character_class()
        elif char == "\\":
            self._escape()
        else:
            self._emit(re.escape(char) if char == "{" else char, 1)

    def _emit(self, text: str, length: int) -> None:
        self._out.append(text)
        self._at += length

    def _repeat(self, operator: str) -> None:
        lazy = self._regex[self._at + len(operator) : self._at + len(operator) + 1] == "?"
        whole = operator + "?" * lazy
        if not self._repeatable:
            raise InvalidRegex("missing argument to repetition operator")
        if self._repeated:
            raise InvalidRegex("invalid nested repetition operator")
        self._repeated = whole
        self._emit(whole, len(whole))

    def _group(self) -> None:
        rest = self._regex[self._at :]
        found = re.match(r"\((?:\?P?<([A-Za-z0-9_]+)>|\?([imsU]*(?:-[imsU]+)?)(:|\)))?", rest)
        assert found is not None
        text = found[0]
        if text == "(" and rest.startswith("(?"):
            raise InvalidRegex("invalid or unsupported Perl syntax")
        if found[3] == ")":
            self._emit(f"(?{found[2].replace('U', '')})" if self._at == 0 else "", len(text))
            return
        if found[1] in self._names:
            raise InvalidRegex("duplicate capture group name")
        self._names.update([found[1]] if found[1] else [])
        self._open.append(self._at)
        self._emit(f"(?P<{found[1]}>" if found[1] else text.replace("U", ""), len(text))

    def _escape(self) -> None:
        rest = self._regex[self._at :]
        if len(rest) == 1:
            raise InvalidRegex("trailing backslash at end of expression")
        if rest.startswith("\\Q"):
            literal, _, _ = rest[2:].partition("\\E")
            self._emit(re.escape(literal), min(len(literal) + 4, len(rest)))
            return
        unicode_class = _UNICODE.match(rest)
        if unicode_class is not None:
            content = _unicode_class(unicode_class)
            if unicode_class[1] == "p":
                self._emit(f"[{content}]" if content else "(?!)", len(unicode_class[0]))
            else:
                self._emit(f"[^{content}]" if content else "(?s:.)", len(unicode_class[0]))
            return
        code = re.match(r"\\x\{([0-9A-Fa-f]+)\}", rest)
        if code is not None:
            self._emit(re.escape(chr(int(code[1], 16))), len(code[0]))
            return
        char = rest[1]
        if char.isalnum() and (char not in _ESCAPES or char in "123456789G"):
            raise InvalidRegex("invalid escape sequence")
        self._emit({"z": r"\Z", "C": r"(?s:.)"}.get(char, rest[:2]), 2)

    def _character_class(self) -> None:
        found = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]").match(self._regex, self._at)
        if found is None:
            raise InvalidRegex("missing closing ]")
        text = found[0]
        for name in re.findall(r"\[:(\^?\w+):\]", text):
            if name not in _POSIX:
                raise InvalidRegex("invalid character class range")
            text = text.replace(f"[:{name}:]", _POSIX[name])
        if re.search(r"[^\[]-\\[dswDSW]", text):
            raise InvalidRegex("invalid escape sequence")
        text = _UNICODE.sub(lambda found: "" if found[1] == "P" else _unicode_class(found), text)
        for low, high in re.findall(r"([^\\\[])-([^\\\]])", text):
            if low > high:
                raise InvalidRegex("invalid character class range")
        self._emit("[" + text[1:].replace("[", r"\["), len(found[0]))
