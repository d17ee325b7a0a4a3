from broker_scenarios.checks.per_partition.misdelivered import misdelivered


def test_a_value_stored_in_a_partition_without_its_send_is_misdelivered(story, values_found):
    story.acked(1, partition=0).log(1, partition=1)
    assert values_found(misdelivered, story, partition=1) == [1]


def test_a_value_without_a_send_is_misdelivered(story, values_found):
    story.acked(1).log(1, 99)
    assert values_found(misdelivered, story) == [99]


def test_a_record_whose_partition_the_client_never_learned_is_where_the_log_has_it(story, values_found):
    story.send(1, partition=-1).info(1).log(1, partition=1)
    assert values_found(misdelivered, story, partition=1) == []
