r"""The syntax of RE2 with Perl's extensions, as RE2J parses it: trees of nodes, or RE2J's error texts.

What RE2 lacks (look-around, back references, possessive quantifiers, atomic and conditional groups) is refused. Flags:
`i`, `m`, `s` and `U`, of which the last does not matter for a match of a whole text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NoReturn

from broker_sim.regular_expressions.characters import (
    CharacterSet,
    perl_class,
    posix_class,
    unicode_class,
)

__all__ = ["Alternatives", "Assertion", "InvalidRegex", "Node", "Repetition", "Sequence", "parse"]


class InvalidRegex(ValueError):
    """RE2J does not accept an expression; the text is RE2J's."""


class Assertion(Enum):
    """A condition on a place between characters."""

    TEXT_BEGIN = "text begin"
    TEXT_END = "text end"
    LINE_BEGIN = "line begin"
    LINE_END = "line end"
    WORD_BOUNDARY = "word boundary"
    NO_WORD_BOUNDARY = "no word boundary"


@dataclass(slots=True, eq=False)
class Sequence:
    """Nodes one after another."""

    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Alternatives:
    """Nodes of which one matches."""

    nodes: list[Sequence] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Repetition:
    """A node that matches `low` to `high` times; None is no limit."""

    node: Node
    low: int
    high: int | None


Node = Sequence | Alternatives | Repetition | CharacterSet | Assertion

_REPEAT_MAX: Final = 1000
_CODE_MAX: Final = 0x10FFFF
_BOUNDS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS: Final = {
    "A": Assertion.TEXT_BEGIN,
    "z": Assertion.TEXT_END,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NO_WORD_BOUNDARY,
}
_COUNT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_GROUP_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_HEXADECIMAL: Final = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_RANGE: Final = "invalid character class range"


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


@dataclass(slots=True)
class _Group:
    """An open group: its alternatives so far, and the flags to which its end returns."""

    outer: _Flags
    alternatives: list[Sequence] = field(default_factory=lambda: [Sequence()])

    @property
    def last(self) -> list[Node]:
        return self.alternatives[-1].nodes

    def close(self) -> Node:
        return self.alternatives[0] if len(self.alternatives) == 1 else Alternatives(self.alternatives)


def parse(regex: str) -> Node:
    """Return the tree of an expression.

    Raises:
        InvalidRegex: RE2J refuses it.
    """
    return _Parser(regex).run()


class _Parser:
    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0
        self._flags = _Flags()
        self._groups = [_Group(self._flags)]
        self._names: set[str] = set()
        self._repeated = False
        """True right behind a repetition: Perl does not allow a second one."""

    def run(self) -> Node:
        while self._at < len(self._regex):
            repeated, self._repeated = self._repeated, False
            self._step(self._regex[self._at], repeated=repeated)
        if len(self._groups) > 1:
            raise InvalidRegex("missing closing )")
        return self._groups[0].close()

    def _step(self, char: str, *, repeated: bool) -> None:
        if char in _BOUNDS:
            self._at += 1
            self._repeat(*_BOUNDS[char], repeated=repeated)
        elif char == "{" and (count := _COUNT.match(self._regex, self._at)):
            self._at = count.end()
            self._repeat(*_counts(count), repeated=repeated)
        elif char == "(":
            self._open()
        elif char == "|":
            self._at += 1
            self._groups[-1].alternatives.append(Sequence())
        elif char == ")":
            self._close()
        elif char == "[":
            self._push(self._character_class())
        elif char == "\\":
            self._escape()
        else:
            self._at += 1
            self._plain(char)
            self._repeated = char == "{"  # RE2J takes a brace that is none for a repetition here

    def _push(self, node: Node) -> None:
        self._groups[-1].last.append(node)

    def _literal(self, char: str) -> None:
        one = CharacterSet()
        one.add_range(char, char, fold=self._flags.fold)
        self._push(one)

    def _plain(self, char: str) -> None:
        if char == ".":
            line = CharacterSet(negated=True)
            if not self._flags.dot_all:
                line.add_range("\n", "\n", fold=False)
            self._push(line)
        elif char == "^":
            self._push(Assertion.LINE_BEGIN if self._flags.lines else Assertion.TEXT_BEGIN)
        elif char == "$":
            self._push(Assertion.LINE_END if self._flags.lines else Assertion.TEXT_END)
        else:
            self._literal(char)

    def _repeat(self, low: int, high: int | None, *, repeated: bool) -> None:
        self._at += self._regex.startswith("?", self._at)
        if repeated:
            raise InvalidRegex("invalid nested repetition operator")
        nodes = self._groups[-1].last
        if not nodes:
            raise InvalidRegex("missing argument to repetition operator")
        nodes[-1] = Repetition(nodes[-1], low, high)
        self._repeated = True

    def _open(self) -> None:
        begin = next((each for each in ("(?P<", "(?<") if self._regex.startswith(each, self._at)), None)
        if begin is not None:
            self._name(self._at + len(begin))
        elif self._regex.startswith("(?", self._at):
            self._at += 2
            self._set_flags()
        else:
            self._at += 1
            self._groups.append(_Group(self._flags))

    def _name(self, begin: int) -> None:
        end = self._regex.find(">", begin)
        name = self._regex[begin:end]
        if end < 0 or not _GROUP_NAME.fullmatch(name):
            raise InvalidRegex("invalid named capture")
        if name in self._names:
            raise InvalidRegex("duplicate capture group name")
        self._names.add(name)
        self._at = end + 1
        self._groups.append(_Group(self._flags))

    def _set_flags(self) -> None:
        outer = self._flags
        found = re.compile(r"([imsU]*)(?:-([imsU]+))?([:)])").match(self._regex, self._at)
        if found is None:
            raise InvalidRegex("invalid or unsupported Perl syntax")
        self._at = found.end()
        on, off = found[1], found[2] or ""

        before = {"i": outer.fold, "m": outer.lines, "s": outer.dot_all}
        fold, lines, dot_all = (letter not in off and (letter in on or was) for letter, was in before.items())
        self._flags = _Flags(fold, lines, dot_all)
        if found[3] == ":":
            self._groups.append(_Group(outer))

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise InvalidRegex("regexp/syntax: internal error")
        self._at += 1
        group = self._groups.pop()
        self._flags = group.outer
        self._push(group.close())

    def _escape(self) -> None:
        letter = self._regex[self._at + 1 : self._at + 2]
        if letter in _ASSERTIONS:
            self._at += 2
            self._push(_ASSERTIONS[letter])
        elif letter == "Q":
            text, _, _ = self._regex[self._at + 2 :].partition("\\E")
            self._at += len(r"\Q\E") + len(text)
            for char in text:
                self._literal(char)
        else:
            found = CharacterSet()
            if self._add_class(found):
                self._push(found)
            else:
                self._literal(self._escaped())

    def _add_class(self, to: CharacterSet) -> bool:
        r"""Add a class such as `\pL` or `\d` to a set; return False if there is none at this place."""
        letter = self._regex[self._at + 1 : self._at + 2] if self._regex.startswith("\\", self._at) else ""
        if letter in {"p", "P"}:
            self._add_unicode_class(to, negated=letter == "P")
            return True
        contains = perl_class(letter.lower())
        if contains is None:
            return False
        self._at += 2
        to.add(contains, fold=self._flags.fold, negated=letter.isupper())
        return True

    def _add_unicode_class(self, to: CharacterSet, *, negated: bool) -> None:
        found = re.compile(r"\{([^}]*)\}|([^{])", re.DOTALL).match(self._regex, self._at + 2)
        if found is None:
            raise InvalidRegex(_RANGE)
        name = found[2] or found[1]
        contains = unicode_class(name.removeprefix("^"))
        if contains is None:
            raise InvalidRegex(_RANGE)
        self._at = found.end()
        to.add(contains, fold=self._flags.fold, negated=negated != name.startswith("^"))

    def _escaped(self) -> str:
        """Return the character of the escape at this place."""
        begin = self._at + 1
        letter = self._regex[begin : begin + 1]
        if not letter:
            raise InvalidRegex("trailing backslash at end of expression")
        self._at = begin + 1
        if not (letter.isascii() and letter.isalnum()):
            return letter
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if octal := _OCTAL.match(self._regex, begin):
            self._at = octal.end()
            return chr(int(octal[0], 8))
        hexadecimal = _HEXADECIMAL.match(self._regex, begin)
        if hexadecimal is None:
            _refuse_escape()
        code = int(hexadecimal[1] or hexadecimal[2], 16)
        if code > _CODE_MAX:
            _refuse_escape()
        self._at = hexadecimal.end()
        return chr(code)

    def _character_class(self) -> CharacterSet:
        self._at += 1
        found = CharacterSet(negated=self._regex.startswith("^", self._at))
        self._at += found.negated
        first = True
        while first or not self._regex.startswith("]", self._at):
            first = False
            if not (self._add_posix_class(found) or self._add_class(found)):
                self._add_range(found)
        self._at += 1
        return found

    def _add_posix_class(self, to: CharacterSet) -> bool:
        end = self._regex.find(":]", self._at + 1)
        if end < 0 or not self._regex.startswith("[:", self._at):
            return False
        name = self._regex[self._at + 2 : end]
        contains = posix_class(name.removeprefix("^"))
        if contains is None:
            raise InvalidRegex(_RANGE)
        self._at = end + 2
        to.add(contains, fold=self._flags.fold, negated=name.startswith("^"))
        return True

    def _add_range(self, to: CharacterSet) -> None:
        low = high = self._class_character()
        if self._regex.startswith("-", self._at) and not self._regex.startswith("-]", self._at):
            self._at += 1
            high = self._class_character()
            if high < low:
                raise InvalidRegex(_RANGE)
        to.add_range(low, high, fold=self._flags.fold)

    def _class_character(self) -> str:
        if self._at >= len(self._regex):
            raise InvalidRegex("missing closing ]")
        if self._regex[self._at] == "\\":
            return self._escaped()
        self._at += 1
        return self._regex[self._at - 1]


def _counts(found: re.Match[str]) -> tuple[int, int | None]:
    low = int(found[1])
    high = low if found[2] is None else int(found[3]) if found[3] else None
    if max(low, high or 0) > _REPEAT_MAX or (high is not None and high < low):
        raise InvalidRegex("invalid repeat count")
    return low, high


def _refuse_escape() -> NoReturn:
    raise InvalidRegex("invalid escape sequence")
