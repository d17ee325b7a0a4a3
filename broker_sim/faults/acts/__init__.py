"""What a rule can do, one act a file; `ACTS` is the registry by the name that a scenario writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.faults.acts.cut import CutResponse
from broker_sim.faults.acts.delay import Delay
from broker_sim.faults.acts.disconnect import Disconnect
from broker_sim.faults.acts.drop_response import DropResponse
from broker_sim.faults.acts.error_code import AnswerError
from broker_sim.faults.acts.hold import Hold
from broker_sim.faults.acts.kill import Kill
from broker_sim.faults.acts.log_dirs import FailLogDir, FillLogDir, MendLogDir, SlowLogDir
from broker_sim.faults.acts.lose_power import LosePower
from broker_sim.faults.acts.restart import Restart
from broker_sim.faults.acts.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.faults.rule import Act

__all__ = [
    "ACTS",
    "NEED_DISK",
    "AnswerError",
    "CutResponse",
    "Delay",
    "Disconnect",
    "DropResponse",
    "FailLogDir",
    "FillLogDir",
    "Hold",
    "Kill",
    "LosePower",
    "MendLogDir",
    "Restart",
    "SlowLogDir",
    "Stop",
]

ACTS: Final[Mapping[str, type[Act]]] = {
    act.name: act
    for act in (
        Delay,
        Hold,
        DropResponse,
        Disconnect,
        AnswerError,
        CutResponse,
        Kill,
        Stop,
        Restart,
        LosePower,
        FailLogDir,
        FillLogDir,
        SlowLogDir,
        MendLogDir,
    )
}

NEED_DISK: Final = (LosePower.name, FillLogDir.name, SlowLogDir.name)
"""The acts that mean nothing to logs in memory."""
