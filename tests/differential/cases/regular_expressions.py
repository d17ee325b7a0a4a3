"""Regular expressions as RE2J reads them: in subscriptions, and in the pattern of ListTransactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.group_requests import group_of
from tests.differential.modern_requests import AT_ONCE, consumer_heartbeat
from tests.differential.transaction_requests import Transactions, list_own

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_NEW: Final = ("4.3.1",)
PATTERN_VERSION: Final = 2

REFUSED: Final = (
    *(
        ")",
        "(a",
        "(a|",
        "a)b",
        "[",
        "[^]",
        "[a\\]",
        "[z-a]",
        "[a--]",
        "[a-\\d]",
        "[[:]]",
        "[[:foo:]]",
        "[\\b]",
        "[\\Q]",
    ),
    *(
        "*",
        "(|*a)",
        "a|?",
        "(?i)*",
        "\\Q\\E*",
        "a**",
        "a{2}{3}",
        "a{1,2}??",
        "{{2}",
        "{1001}",
        "a{2,1}",
        "a{123456789}",
    ),
    *("(?", "(?=a)", "(?>a)", "(?i-:a)", "(?-)", "(?--i)", "(?P=n)", "(?<n", "(?<>a)", "(?<a b>c)", "(?P<n>a)(?<n>b)"),
    *("\\", "[\\", "\\Z", "\\E", "\\C", "\\1", "\\8", "\\x", "\\x6", "\\x{}", "\\x{110000}", "\\cA", "\\p", "\\p{"),
    *("\\p{Foo}", "\\p{greek}", "\\p{Cn}"),
)

ACCEPTED: Final = (
    *("a*(?i)*", "(?)", "(?-i)", "(?i)A|b", "(?i)k", "(?i)[^k]", "(?i:[a-c])B?", "(?i)[[:upper:]]", "(?s)a.b", "a.b"),
    *(
        "a^*",
        "$+",
        "(?:^*a)",
        "\\b*a",
        "a\\b",
        "a\\B",
        "()*",
        "(|a)+",
        "(a*)*",
        "a||b",
        "a{,2}",
        "a{01}",
        "{",
        "a{1,2}?",
    ),
    *("((a{10}){10}){11}", "(a{500}){3}", "[]a]", "[--a]", "[a-]", "[a&&b]", "[^\\W]", "[\\d-]", "[\\PLb]", "[[a]"),
    *("\\141", "\\012", "\\0", "\\x61", "\\x{0000062}", "\\_", "\\\xe9", "\\.", "\\pN", "\\p{^Lu}", "\\P{^Lu}", "\\PL"),
    *("\\p{Any}", "\\p{Latin}", "\\p{Greek}", "\\Qa.b", "\\Qa\\Eb", "(?<n>a)", "[[:^alpha:]]", "(?U)a+", "(?m)a$\\nb"),
)
"""Those with a group or a flag end with the expression: a test adds what stands before."""

IDS: Final = (
    "a",
    "A",
    "b",
    "ab",
    "k",
    "\u212a",
    "1",
    "_",
    "a.b",
    "a\nb",
    "{",
    "a{,2}",
    "]",
    "-",
    "&",
    "\xe9",
    "\u03bb",
    "\n",
)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def expressions_that_are_refused(probe: Probe) -> None:
    group = group_of(probe)
    for regex in REFUSED:
        joining = consumer_heartbeat(group, "m", 0, regex=regex, owned={}, rebalance_ms=10_000)
        probe.exchange(joining, 1, note=regex)
        list_own(probe, PATTERN_VERSION, regex, transactional_id_pattern=regex)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def expressions_that_match(probe: Probe) -> None:
    for suffix in IDS:
        Transactions(probe, suffix).begin()
    for regex in (*ACCEPTED, "(a?){1000}", "((a?){1000}){100}"):
        list_own(probe, PATTERN_VERSION, regex, transactional_id_pattern=f"{probe.name}-{regex}")
