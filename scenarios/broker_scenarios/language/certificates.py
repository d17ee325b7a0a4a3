"""The certificates that a run makes for its brokers and clients, and the references to them in configurations.

A reference has the form of a ConfigProvider's (KIP-297): `${certificates:NAME:key}`, `:chain` or `:authority`. It is
replaced by PEM when a run starts, because validities are relative to the start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.language.kinds import Key, Keys, ListOf, Named, Text, Whole
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.yaml_source import KeyPath
    from sim_runtime.issued_certificates import IssuedCertificate

__all__ = ["CERTIFICATES", "certificate_problems", "certificates_of", "filled_in"]

_DAY_S: Final = 86_400
_VALID_FROM_S: Final = -_DAY_S
_VALID_UNTIL_S: Final = 3_650 * _DAY_S
_LONGEST_S: Final = 36_500 * _DAY_S
_AUTHORITY: Final = "authority"
_PARTS: Final = ("key", "chain", "authority")
_REFERENCE: Final = re.compile(r"\$\{certificates:(?P<name>[^:}]*):?(?P<part>[^}]*)\}")
_TIME: Final = Whole(at_least=-_LONGEST_S, at_most=_LONGEST_S)

CERTIFICATES: Final = Named(
    value=Keys(
        keys={
            "subject": Key(Text(), "the distinguished name, `CN=` and the name when not given", "CN=app,O=example"),
            "hosts": Key(
                ListOf(value=Text()),
                "the host names and addresses that it is for, those of all brokers when not given",
                ["broker-1", "127.0.0.1"],
            ),
            "valid_from_s": Key(
                _TIME, "when it becomes valid, in seconds from the start of the run; a day before when not given", -60
            ),
            "valid_until_s": Key(
                _TIME,
                "its last valid second, in seconds from the start of the run; ten years after it when not given",
                20,
            ),
            "authority": Key(
                Text(), f"the authority that signs it, by any name; `{_AUTHORITY}` when not given", "a stranger"
            ),
        }
    ),
    what="certificates",
    name=re.compile(r"[A-Za-z0-9._-]{1,100}"),
)


def certificates_of(document: Mapping[str, Any], started_s: int) -> dict[str, IssuedCertificate]:
    """Make the certificates of a scenario file for a run that starts at `started_s`, in seconds since the epoch.

    Raises:
        ValueError: A subject is no distinguished name.
    """
    return {name: _issued(document, name, started_s) for name in document["cluster"].get("certificates", {})}


def certificate_problems(document: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Return the paths and texts of the mistakes in certificates and in references to them."""
    given = document["cluster"].get("certificates", {})
    for name in given:
        try:
            _issued(document, name, 0)
        except ImportError as missing:
            yield ("cluster", "certificates"), f"needs OpenSSL for Python: pip install 'broker-sim[tls]' ({missing})"
            return
        except ValueError as error:
            yield ("cluster", "certificates", name), str(error)
    for path, text in _texts(document, ()):
        for reference in _REFERENCE.finditer(text):
            name, part = reference["name"], reference["part"]
            if name not in given:
                yield path, f"{reference[0]}: no certificate of the cluster is named {name!r}{nearest(name, given)}"
            elif part not in _PARTS:
                yield path, f"{reference[0]}: a certificate has {', '.join(_PARTS)}, not {part!r}"


def filled_in(value: Any, made: Mapping[str, IssuedCertificate]) -> Any:
    """Return the value with the PEM of each certificate that a text in it refers to; itself if there is none."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: str(getattr(made[found["name"]], found["part"])), value)
    if isinstance(value, Mapping):
        return {key: filled_in(each, made) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        items = [filled_in(each, made) for each in value]
        return value if items == [*value] else type(value)(items)  # a named tuple has no text of a configuration
    if is_dataclass(value) and not isinstance(value, type):
        old = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        new = {name: filled_in(each, made) for name, each in old.items()}
        return value if new == old else replace(value, **new)
    return value


def _issued(document: Mapping[str, Any], name: str, started_s: int) -> IssuedCertificate:
    # Only runs with certificates need OpenSSL.
    from sim_runtime.issued_certificates import CertificateFacts, issue

    given = document["cluster"]["certificates"][name]
    brokers = range(1, document["cluster"]["brokers"] + 1)
    facts = CertificateFacts(
        subject=given.get("subject", f"CN={name}"),
        hosts=tuple(given.get("hosts", ("localhost", "127.0.0.1", *(f"broker-{number}" for number in brokers)))),
        valid_from_s=given.get("valid_from_s", _VALID_FROM_S),
        valid_until_s=given.get("valid_until_s", _VALID_UNTIL_S),
        authority=given.get("authority", _AUTHORITY),
    )
    return issue(name, facts, started_s=started_s)


def _texts(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _texts(each, (*path, place))
