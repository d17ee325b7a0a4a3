from broker_sim.coordinators.groups.streams.internal_topics import ERRORS_MAX, InternalTopicCreations


def test_a_topic_in_flight_is_not_created_again():
    creations = InternalTopicCreations()
    assert creations.begin(["a", "b"], 0) == ["a", "b"]
    assert creations.begin(["a", "c"], 0) == ["c"]
    creations.end(["a"])
    assert creations.begin(["a"], 0) == ["a"]


def test_a_topic_that_failed_waits_until_its_error_expires():
    creations = InternalTopicCreations()
    creations.failed("a", "too few brokers", 100)
    assert creations.begin(["a"], 99) == []
    assert creations.errors(["a", "b"], 99) == {"a": "too few brokers"}
    assert creations.errors(["a"], 100) == {}
    assert creations.begin(["a"], 100) == ["a"]


def test_the_oldest_errors_make_room():
    creations = InternalTopicCreations()
    for number in range(ERRORS_MAX + 1):
        creations.failed(str(number), "no", 100)
    assert creations.errors(["0", "1"], 0) == {"1": "no"}
