import pytest

from broker_scenarios.arrow.history_files import clear_folder, history_file
from broker_scenarios.errors import ScenarioError


def begin(folder):
    with history_file(str(folder), 1):
        raise RuntimeError("the task fails")


def test_a_task_that_is_run_again_is_refused_because_it_would_send_its_records_again(tmp_path):
    clear_folder(str(tmp_path))
    with history_file(str(tmp_path), 0):
        pass
    with pytest.raises(RuntimeError):
        begin(tmp_path)
    for number, reason in ((0, "it was stopped"), (1, "the task fails")):
        message = f"task {number} of the load failed, and is not run again: {reason}"
        with pytest.raises(ScenarioError, match=message), history_file(str(tmp_path), number):
            pass
    clear_folder(str(tmp_path))
    with history_file(str(tmp_path), 0):
        pass
