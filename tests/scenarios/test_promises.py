import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import Cause, Finding, FindingKind
from broker_scenarios.promises import ClientPromises, Promises


def finding(kind, cause=Cause.UNEXPLAINED):
    return Finding(kind=kind, topic="t", partition=0, value_id=1, detail="", cause=cause)


def allows(promises, kind, cause=Cause.UNEXPLAINED):
    return promises.allowance_for(finding(kind, cause)) is not None


def safe(**settings):
    return Promises(**{"acks": -1, "min_insync_replicas": 2, "replication_factor": 3, **settings})


INFORMATION = (
    FindingKind.RECOVERED, FindingKind.ABORT_CLASS, FindingKind.INT_SEND_SKIP, FindingKind.G0, FindingKind.G0_PROCESS,
    FindingKind.G0_REALTIME,
)  # fmt: skip


def test_acks_all_with_two_in_sync_replicas_promises_everything():
    for kind in FindingKind:
        for cause in (Cause.TRUNCATED, Cause.LEADER_REPLACED, Cause.RETRY, Cause.UNEXPLAINED):
            assert allows(safe(exactly_once=True, key_order=True), kind, cause) is (kind in INFORMATION)


@pytest.mark.parametrize("cause", [Cause.TRUNCATED, Cause.LEADER_REPLACED, Cause.NOT_RECORDED])
@pytest.mark.parametrize(
    "settings",
    [
        {"acks": 1},
        {"min_insync_replicas": 1},
        {"replication_factor": 1},
        {"unclean_leader_election": True},
    ],
)
def test_a_weaker_setting_permits_what_dies_with_a_leader(settings, cause):
    assert allows(safe(**settings), FindingKind.LOST_WRITE, cause)
    assert allows(safe(**settings), FindingKind.INCONSISTENT_OFFSETS, cause)


@pytest.mark.parametrize("settings", [{"acks": 1}, {"unclean_leader_election": True}])
def test_a_loss_that_nothing_explains_is_permitted_by_no_acks(settings):
    assert not allows(safe(**settings), FindingKind.LOST_WRITE)


def test_acks_0_permits_any_loss():
    assert allows(safe(acks=0), FindingKind.LOST_WRITE, Cause.NEVER_CONFIRMED)


def test_a_retry_may_double_a_record_only_without_idempotence():
    assert not allows(safe(), FindingKind.DUPLICATE, Cause.RETRY)
    assert allows(safe(enable_idempotence=False), FindingKind.DUPLICATE, Cause.RETRY)
    assert not allows(safe(enable_idempotence=False, retries=0), FindingKind.DUPLICATE, Cause.RETRY)


def test_what_the_application_sends_twice_may_be_stored_twice():
    assert allows(safe(), FindingKind.DUPLICATE, Cause.APPLICATION_RESEND)


def test_order_may_break_only_without_idempotence_and_with_several_requests_in_flight():
    kind = FindingKind.NONMONOTONIC_SEND
    on_the_way = Cause.PIPELINED
    assert not allows(safe(), kind, on_the_way)
    assert allows(safe(enable_idempotence=False), kind, on_the_way)
    assert not allows(safe(enable_idempotence=False, max_in_flight=1), kind, on_the_way)
    assert not allows(safe(enable_idempotence=False, retries=0), kind, on_the_way)
    assert not allows(safe(enable_idempotence=False), kind), "the first was acknowledged before the second was sent"


@pytest.mark.parametrize("settings", [{"max_in_flight": 1}, {"retries": 0}, {}])
def test_without_idempotence_a_request_that_was_given_up_may_be_appended_late(settings):
    kind = FindingKind.NONMONOTONIC_SEND
    assert allows(safe(enable_idempotence=False, **settings), kind, Cause.LATE_APPEND)
    assert not allows(safe(**settings), kind, Cause.LATE_APPEND)


def test_every_allowance_gives_its_reason():
    for promises in (safe(acks=0), safe(acks=1), safe(min_insync_replicas=1), safe(enable_idempotence=False)):
        assert all(len(allowance.reason) > 20 for allowance in promises.allowances())


def test_kafkas_names_and_defaults_are_resolved():
    promises = Promises.from_configs({}, {}, {"min.insync.replicas": "2"}, replication_factor=3)
    assert promises.enable_idempotence
    assert (promises.acks_name, promises.effective_min_insync_replicas, promises.max_in_flight) == ("all", 2, 5)
    weaker = Promises.from_configs({}, {"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}, replication_factor=3)
    assert weaker.effective_min_insync_replicas == 1


@pytest.mark.parametrize("config", [{"acks": "1"}, {"retries": "0"}, {"max.in.flight.requests.per.connection": "6"}])
def test_a_conflicting_setting_turns_idempotence_off_silently(config):
    assert not Promises.from_configs(config, replication_factor=3).enable_idempotence


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"acks": "2"}, "acks='2': expected all, -1, 0 or 1"),
        ({"retries": "many"}, "retries='many': expected a whole number"),
        ({"enable.idempotence": "yes"}, "enable.idempotence='yes': expected true or false"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(config, message):
    with pytest.raises(ScenarioError, match=message):
        Promises.from_configs(config, replication_factor=1)


def test_only_a_flush_after_each_record_keeps_what_was_acknowledged_through_a_power_loss():
    kind, cause = FindingKind.LOST_WRITE, Cause.POWER_LOST
    assert not allows(safe(flush_messages=1), kind, cause)
    for messages, when in ((2, "every 2 records"), (2**63 - 1, "never force a flush")):
        allowance = safe(flush_messages=messages).allowance_for(finding(kind, cause))
        assert when in allowance.reason


@pytest.mark.parametrize("kind", [FindingKind.G1A, FindingKind.PRECOMMITTED_READ, FindingKind.GHOST_READ])
def test_only_read_uncommitted_permits_records_of_open_and_aborted_transactions(kind):
    assert not allows(safe(), kind, Cause.UNCOMMITTED)
    assert allows(safe(read_committed=False), kind, Cause.UNCOMMITTED)
    assert not allows(safe(read_committed=False), kind)


@pytest.mark.parametrize(
    ("kind", "claim"), [(FindingKind.CONSUME_COUNTS, "exactly_once"), (FindingKind.KEY_ORDER, "key_order")]
)
def test_what_is_not_claimed_is_permitted(kind, claim):
    assert allows(safe(), kind)
    assert not allows(safe(**{claim: True}), kind)


def test_the_settings_have_kafkas_names_and_values():
    assert safe(acks=1, retries=3).settings() == {
        "acks": "1",
        "min.insync.replicas": "2",
        "replication factor": "3",
        "unclean.leader.election.enable": "false",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "retries": "3",
    }
    assert safe().settings()["retries"] == "2147483647"


WEAK, STRONG, OTHER = safe(acks=1, replication_factor=5), safe(), safe(acks=0)
CLIENTS = ClientPromises(by_process={1: {"t": WEAK}, 2: {"t": STRONG, "u": STRONG}}, otherwise=OTHER)


@pytest.mark.parametrize(
    ("process", "topic", "promises"),
    [
        (1, "t", (WEAK,)),
        (2, "t", (STRONG,)),
        (-1, "t", (WEAK, STRONG)),
        (1, "u", (STRONG,)),
        (1, "v", (OTHER,)),
        (3, "v", (OTHER,)),
    ],
)
def test_a_finding_is_judged_by_its_process_or_by_all_that_wrote_to_its_topic(process, topic, promises):
    assert CLIENTS.of(process, topic) == promises
    lost = Finding(
        kind=FindingKind.LOST_WRITE, topic=topic, partition=0, value_id=1, detail="", process=process,
        cause=Cause.TRUNCATED,
    )  # fmt: skip
    assert CLIENTS.acks_of(lost) == promises[0].acks
    permitted = [each.allowance_for(lost) for each in promises]
    assert CLIENTS.allowance_for(lost) == next((each for each in permitted if each is not None), None)


def test_what_a_later_client_permits_is_permitted():
    clients = ClientPromises(by_process={1: {"t": STRONG}, 2: {"t": WEAK}})
    assert clients.allowance_for(finding(FindingKind.LOST_WRITE, Cause.TRUNCATED)).reason.startswith("acks=1")
    assert clients.allowance_for(finding(FindingKind.LOST_WRITE)) is None


def test_the_settings_of_several_clients_are_joined():
    assert CLIENTS.settings()["acks"] == "1, all"
    assert CLIENTS.settings()["min.insync.replicas"] == "2"
    assert CLIENTS.replication_factor == 5
    assert ClientPromises(by_process={}, otherwise=OTHER).settings() == OTHER.settings()
