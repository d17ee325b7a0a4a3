from __future__ import annotations

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from broker_sim.http_control.operation import UnknownName
from broker_sim.http_control.problems import problem_of
from sim_runtime.deadlines import DeadlineExceeded


@pytest.mark.parametrize(
    ("error", "status", "detail", "path"),
    [
        (UnknownName("there is none"), 404, "there is none", None),
        (BrokerSimError("no"), 400, "no", None),
        (RuleError(("act", "kill"), "no broker"), 400, "act.kill: no broker", "act.kill"),
        (DeadlineExceeded("a leader", 5, "timeout_s"), 504, "waited 5 ms for a leader; timeout_ms allows longer", None),
        (ValueError("secret"), 500, "a defect of broker-sim: its log has the traceback", None),
    ],
)
def test_an_error_has_a_status_and_a_text(error: Exception, status: int, detail: str, path: str | None) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.detail, problem.path) == (status, detail, path)
