"""Ledgers: the records that a test's own clients sent and consumed, judged against what a simulated cluster holds."""

from broker_scenarios.ledger.ledger import Ledger
from broker_scenarios.ledger.ledger_verdict import LedgerVerdict, LedgerViolation

__all__ = ["Ledger", "LedgerVerdict", "LedgerViolation"]
