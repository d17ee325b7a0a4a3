"""The actions of fault rules, one per file; `ACTIONS` finds them by the name that a rule writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.faults.actions.cut import CutResponse
from broker_sim.faults.actions.delay import Delay
from broker_sim.faults.actions.disconnect import Disconnect
from broker_sim.faults.actions.drop_response import DropResponse
from broker_sim.faults.actions.error_code import RespondWithError
from broker_sim.faults.actions.hold import Hold
from broker_sim.faults.actions.kill import Kill
from broker_sim.faults.actions.log_dirs import FailLogDir, FillLogDir, MendLogDir, SlowLogDir
from broker_sim.faults.actions.lose_power import LosePower
from broker_sim.faults.actions.mutate import Mutate
from broker_sim.faults.actions.restart import Restart
from broker_sim.faults.actions.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.faults.rule import Action

__all__ = [
    "ACTIONS",
    "NEED_DISK",
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
    "Mutate",
    "RespondWithError",
    "Restart",
    "SlowLogDir",
    "Stop",
]

ACTIONS: Final[Mapping[str, type[Action]]] = {
    action.name: action
    for action in (
        Delay,
        Hold,
        DropResponse,
        Disconnect,
        RespondWithError,
        CutResponse,
        Mutate,
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
"""The actions that need logs on a disk."""
