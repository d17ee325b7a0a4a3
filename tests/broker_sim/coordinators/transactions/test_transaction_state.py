from __future__ import annotations

from broker_sim.coordinators.transactions.transaction_state import TransactionState, may_follow


def test_the_names_are_those_of_responses() -> None:
    assert [state.label for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert [TransactionState.of_label(state.label) for state in TransactionState] == list(TransactionState)
    assert TransactionState.of_label("ongoing") is None


def test_a_commit_that_is_decided_cannot_be_aborted() -> None:
    after = {
        state: [following for following in TransactionState if may_follow(state, following)]
        for state in TransactionState
    }
    assert after[TransactionState.PREPARE_COMMIT] == [TransactionState.COMPLETE_COMMIT]
    assert after[TransactionState.PREPARE_ABORT] == [TransactionState.COMPLETE_ABORT]
    assert after[TransactionState.DEAD] == []
