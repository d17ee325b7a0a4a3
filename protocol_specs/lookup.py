"""Look up declarations by the name that a user types: API, request, response or schema. Mirrors ApiKeys.forId.

An API has its name, its earlier names and its key; a schema its name. The key and value of a coordinator's record also
have a common name (`GroupMetadata`). Case, `-` and `_` do not matter: `LIST_OFFSETS` is
ListOffsets.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnknownApi, UnsupportedVersion
from protocol_specs.message import Kind
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from protocol_specs.message import Message

NEAREST_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The result of a look-up: a name, its declarations in reading order, and the docstring of their module."""

    name: str
    api_key: ApiKey | None
    declarations: tuple[type[Message], ...]

    @property
    def summary(self) -> str:
        """The first line of the module: the purpose of the message."""
        return self._paragraphs()[0]

    @property
    def details(self) -> tuple[str, ...]:
        """The other paragraphs, one line each: record type, classes mirrored and KIPs."""
        return tuple(self._paragraphs()[1:])

    @property
    def family(self) -> str:
        """The group of the subject: the log or topic of its records, `headers`, `other` or `APIs`."""
        if self.api_key is not None:
            return "APIs"
        found = [
            text.rpartition(" of ")[2].removesuffix(".") for text in self.details if text.startswith("Record type")
        ]
        if found:
            return found[0].removeprefix("the ")
        return "headers" if self.declarations[0].KIND is Kind.HEADER else "other"

    def _paragraphs(self) -> list[str]:
        text = sys.modules[self.declarations[0].__module__].__doc__ or self.name  # python -OO strips docstrings
        return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


def find(text: str) -> Subject:
    """Return the subject with a name, in any spelling. Raises UnknownApi with similar names."""
    if text.removeprefix("-").isdecimal():
        return api(ApiKey.of(int(text)))
    names = _names()
    name = _plain(text)
    if name not in names:
        known = "`broker-sim protocol list` has all"
        raise UnknownApi(repr(text), _nearest(name, names), what="API or schema", known=known)
    return _subject(names[name])


def api(api_key: ApiKey) -> Subject:
    """The request and the response of an API key; raise UnknownApi."""
    request, response = registry.request_type(api_key), registry.response_type(api_key)
    return Subject(name=request.NAME, api_key=api_key, declarations=(request, response))


def schemas() -> Iterator[Subject]:
    """The headers and every schema outside the APIs; a coordinator's key and value are one subject."""
    yield Subject(name="Header", api_key=None, declarations=tuple(map(registry.schema_type, registry.HEADER_NAMES)))
    pairs = _pairs()
    for name in registry.SCHEMA_NAMES:
        if name.removesuffix("Key") in pairs:
            yield _pair(name.removesuffix("Key"))
        elif name.removesuffix("Value") not in pairs:
            yield Subject(name=name, api_key=None, declarations=(registry.schema_type(name),))


def check_version(subject: Subject, version: int | str) -> int:
    """Return a version as a number. Raises UnsupportedVersion with the valid versions."""
    try:
        number = int(version)
    except ValueError:
        number = -1
    if not any(number in cls.VERSIONS for cls in subject.declarations):
        versions = dict.fromkeys(str(cls.VERSIONS) for cls in subject.declarations)
        raise UnsupportedVersion(subject.name, version if number == -1 else number, " or ".join(versions))
    return number


def _names() -> Mapping[str, str]:
    """Map every name without case, `-` and `_` to its exact form."""
    known: dict[str, str] = {}
    for key in ApiKey:
        name = key.api_name
        for accepted in (name, *key.facts.earlier_names):
            known[_plain(accepted)] = name
            known[_plain(f"{accepted}Request")] = f"{name}Request"
            known[_plain(f"{accepted}Response")] = f"{name}Response"
    for name in (*registry.HEADER_NAMES, *registry.SCHEMA_NAMES, *_pairs()):
        known.setdefault(_plain(name), name)  # OffsetCommit is the API; the name of its record is OffsetCommitValue
    known[_plain("Header")] = "Header"
    return known


def _subject(name: str) -> Subject:
    if name == "Header":
        return next(schemas())
    if name in registry.SCHEMA_NAMES or name in registry.HEADER_NAMES:
        return Subject(name=name, api_key=None, declarations=(registry.schema_type(name),))
    for suffix, side in (("Request", registry.request_type), ("Response", registry.response_type)):
        if name.endswith(suffix):
            key = ApiKey.named(name.removesuffix(suffix))
            return Subject(name=name, api_key=key, declarations=(side(key),))
    if name in (key.api_name for key in ApiKey):
        return api(ApiKey.named(name))
    return _pair(name)


def _pair(name: str) -> Subject:
    pair = (registry.schema_type(f"{name}Key"), registry.schema_type(f"{name}Value"))
    return Subject(name=name, api_key=None, declarations=pair)


def _pairs() -> tuple[str, ...]:
    """The common name of each pair of a coordinator's key and value."""
    names = registry.SCHEMA_NAMES
    return tuple(name.removesuffix("Key") for name in names if f"{name.removesuffix('Key')}Value" in names)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _nearest(name: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Names of APIs and schemas that contain `name`, else similar names."""
    apis = {_plain(key.api_name) for key in ApiKey}
    containing = tuple(plain for plain in names if name and name in plain and not _is_side(plain, apis))
    near = containing[:NEAREST_MAX] or close_names(name, names, count=NEAREST_MAX)
    return tuple(dict.fromkeys(names[plain] for plain in near))


def _is_side(plain: str, apis: set[str]) -> bool:
    return any(plain.endswith(suffix) and plain.removesuffix(suffix) in apis for suffix in ("request", "response"))
