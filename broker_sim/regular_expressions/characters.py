"""The sets of characters of a regular expression: ranges, POSIX, Perl and Unicode classes (RE2J's CharClass)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CharacterSet", "perl_class", "posix_class", "unicode_class"]

_POSIX: Final = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
"""Name -> the first and last characters of its ranges."""

_PERL: Final = {"d": "09", "s": "\t\n\f\r  ", "w": "09AZ__az"}

_CATEGORIES: Final = frozenset(
    """
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
    """.split()  # noqa: SIM905 - a list of so many names is shorter so
)
_SCRIPTS: Final = frozenset(
    """
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal
    Carian Cham Cherokee Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic
    Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
    Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Latin
    Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham
    Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic
    Samaritan Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil
    Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
    """.split()  # noqa: SIM905 - a list of so many names is shorter so
)
"""Those that RE2J knows (of Unicode 6)."""

_NAMED_OTHERWISE: Final = {
    "Greek": ("GREEK ", "OHM SIGN"),
    "Han": ("CJK UNIFIED ",),
    "Latin": ("LATIN ", "FULLWIDTH LATIN ", "KELVIN SIGN", "ANGSTROM SIGN", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
}
"""How the names of a script's characters begin if it is not with the script's name alone."""

_ALSO_FOLDED: Final = {"k": "\u212a", "s": "\u017f", "\xe5": "\u212b", "\u03c9": "\u2126", "\u03bc": "\xb5"}
"""Lower case -> a third character that differs from it in case alone."""

_NOT_FOLDED: Final = "\u0130\u0131"


def _variants(char: str) -> set[str]:
    """Return the characters that differ from one in case alone, and itself."""
    if char in _NOT_FOLDED:
        return {char}
    found = {char, char.lower(), char.upper()}
    lower = char.upper().lower()
    found |= {lower, lower.upper(), _ALSO_FOLDED.get(lower, char)}
    return {each for each in found if len(each) == 1 and each not in _NOT_FOLDED}


def _in_ranges(bounds: str) -> Callable[[str], bool]:
    pairs = list(zip(bounds[::2], bounds[1::2], strict=True))
    return lambda char: any(low <= char <= high for low, high in pairs)


@dataclass(slots=True)
class CharacterSet:
    """A union of sets, each with its sign, possibly negated as a whole."""

    parts: list[tuple[Callable[[str], bool], bool]] = field(default_factory=list)
    """Sets and True for those whose complement counts."""
    negated: bool = False

    def add(self, contains: Callable[[str], bool], *, fold: bool, negated: bool = False) -> None:
        """Add a set, with what differs from it in case alone if it is folded, or then its complement."""
        folded = (lambda char: any(map(contains, _variants(char)))) if fold else contains
        self.parts.append((folded, negated))

    def add_range(self, low: str, high: str, *, fold: bool) -> None:
        """Add the characters from `low` to `high`."""
        self.add(_in_ranges(low + high), fold=fold)

    def __contains__(self, char: str) -> bool:
        return any(contains(char) != negated for contains, negated in self.parts) != self.negated


def perl_class(letter: str) -> Callable[[str], bool] | None:
    r"""Return the set of `\d`, `\s` or `\w` by its lower-case letter; None for another letter."""
    bounds = _PERL.get(letter)
    return None if bounds is None else _in_ranges(bounds)


def posix_class(name: str) -> Callable[[str], bool] | None:
    """Return the set of `[:name:]`; None if there is none."""
    bounds = _POSIX.get(name)
    return None if bounds is None else _in_ranges(bounds)


def unicode_class(name: str) -> Callable[[str], bool] | None:
    r"""Return the set of `\p{name}`, a category or a script; None if RE2J knows none of the name.

    A character belongs to the script with whose name its own begins; this is right for letters.
    """
    if name == "Any":
        return lambda _: True
    if name in _CATEGORIES:
        return lambda char: unicodedata.category(char).startswith(name) and unicodedata.category(char) != "Cn"
    if name in _SCRIPTS:
        prefixes = _NAMED_OTHERWISE.get(name, (name.upper().replace("_", " ") + " ",))
        if name == "Common":
            return lambda char: not unicodedata.category(char).startswith(("L", "M"))
        return lambda char: unicodedata.name(char, "").startswith(prefixes)
    return None
