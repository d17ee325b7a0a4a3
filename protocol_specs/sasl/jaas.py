"""JAAS configurations: login modules with their options. Mirrors JaasConfig, and java.io.StreamTokenizer below it.

The format is `<login module> <control flag> <option>=<value> ... ;`, with quoted values and the comments of Java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LOGIN_MODULES", "OAUTHBEARER", "PLAIN", "JaasError", "LoginModule", "login_module", "login_modules"]

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
_SECURITY: Final = "org.apache.kafka.common.security"
LOGIN_MODULES: Final[Mapping[str, str]] = {
    PLAIN: f"{_SECURITY}.plain.PlainLoginModule",
    ScramMechanism.SCRAM_SHA_256.sasl_name: f"{_SECURITY}.scram.ScramLoginModule",
    ScramMechanism.SCRAM_SHA_512.sasl_name: f"{_SECURITY}.scram.ScramLoginModule",
    OAUTHBEARER: f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
"""The mechanisms that the simulator and its clients serve, and the login module of each."""

_CONTROL_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_DISALLOWED: Final = ("com.sun.security.auth.module.JndiLoginModule", "com.sun.security.auth.module.LdapLoginModule")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LINE_ENDS: Final = "\n\r"
_QUOTES: Final = "\"'"
_DIGITS: Final = "0123456789."
_OCTAL: Final = "01234567"
_END: Final = ""
_NO_CHAR: Final = "\uffff"
"""A backslash at the end of the text escapes Java's -1."""


class JaasError(ValueError):
    """A JAAS configuration is invalid; the text is Kafka's and shows no value of an option."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module: its class, its control flag in upper case, and its options."""

    name: str
    control_flag: str
    options: Mapping[str, str]


def login_modules(text: str) -> list[LoginModule]:
    """Read a JAAS configuration.

    Raises:
        JaasError: it has no module, or a module is not complete.
    """
    tokens = _tokens(text)
    modules = []
    for kind, word in tokens:
        modules.append(_module(_word(kind, word), tokens))
    if not modules:
        raise JaasError("Login module not specified in JAAS config")
    return modules


def login_module(text: str) -> LoginModule:
    """Read the only module of a JAAS configuration, as a value of `sasl.jaas.config` has it. Mirrors JaasContext.load.

    Raises:
        JaasError: as `login_modules`, or the number of modules is not 1, or Kafka allows no use of the module.
    """
    modules = login_modules(text)
    if len(modules) != 1:
        raise JaasError(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    module = modules[0]
    if module.name.strip() in _DISALLOWED:
        raise JaasError(f"{module.name} is not allowed")
    return module


def _module(name: str, tokens: Iterator[tuple[str, str]]) -> LoginModule:
    kind, word = next(tokens, (_END, ""))
    if kind == _END:
        raise JaasError("Login module control flag not specified in JAAS config")
    if not _has_text(kind):
        raise JaasError("Login module control flag is not available in the JAAS config")
    flag = word.upper()
    if flag not in _CONTROL_FLAGS:
        raise JaasError(f"Invalid login module control flag '{word}' in JAAS config")
    options: dict[str, str] = {}
    for kind, word in tokens:
        if kind == ";":
            return LoginModule(name, flag, options)
        key = _word(kind, word)
        equals, _ = next(tokens, (_END, ""))
        value_kind, value = next(tokens, (_END, "")) if equals == "=" else (_END, "")
        if not _has_text(value_kind):
            raise JaasError(f"Value not specified for key '{key}' in JAAS config")
        options[key] = value
    raise JaasError("JAAS config entry not terminated by semi-colon")


def _word(kind: str, word: str) -> str:
    """The text of a token; Java has null where a token is none."""
    return word if _has_text(kind) else "null"


def _has_text(kind: str) -> bool:
    return kind in ("word", "quoted")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Return kind and text of each token; a number has no text, another character is its own kind."""
    at = 0
    while at < len(text):
        char = text[at]
        if char <= " ":
            at += 1
        elif char == "/":
            at = _end_of_comment(text, at)
        elif char in _DIGITS or char == "-":
            at, kind = _end_of_number(text, at)
            yield kind, ""
        elif _is_word_char(char):
            end = at + 1
            while end < len(text) and _is_word_char(text[end]):
                end += 1
            yield "word", text[at:end]
            at = end
        elif char in _QUOTES:
            at, quoted = _quoted(text, at)
            yield "quoted", quoted
        else:
            yield char, ""
            at += 1


def _is_word_char(char: str) -> bool:
    return ("a" <= char <= "z") or ("A" <= char <= "Z") or char >= "\xa0" or char in _DIGITS or char in "-_$"


def _end_of_number(text: str, at: int) -> tuple[int, str]:
    end = at + 1
    if text[at] == "-" and text[end : end + 1] not in tuple(_DIGITS):
        return end, "-"
    has_dot = text[at] == "."
    while end < len(text) and text[end] in _DIGITS and not (has_dot and text[end] == "."):
        has_dot = has_dot or text[end] == "."
        end += 1
    return end, "number"


def _end_of_comment(text: str, at: int) -> int:
    second = text[at + 1 : at + 2]
    if second == "*":
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    # Java takes the character behind a single slash into the comment, even the end of the line.
    at += 1 if second == "/" else 2
    while at < len(text) and text[at] not in _LINE_ENDS:
        at += 1
    return at


def _quoted(text: str, at: int) -> tuple[int, str]:
    quote = text[at]
    at += 1
    found = []
    while at < len(text) and text[at] != quote and text[at] not in _LINE_ENDS:
        if text[at] != "\\":
            found.append(text[at])
            at += 1
            continue
        escaped = text[at + 1 : at + 2]
        if escaped and escaped in _OCTAL:
            end = at + 2
            # \377 is one character, \477 are two.
            end_max = at + (4 if escaped <= "3" else 3)
            while end < min(end_max, len(text)) and text[end] in _OCTAL:
                end += 1
            found.append(chr(int(text[at + 1 : end], 8)))
            at = end
        else:
            found.append(_ESCAPES.get(escaped, escaped or _NO_CHAR))
            at += 2
    closed = at < len(text) and text[at] == quote
    return at + 1 if closed else at, "".join(found)
