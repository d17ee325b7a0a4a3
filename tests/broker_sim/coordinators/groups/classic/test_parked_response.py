from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse


def test_the_first_completion_decides():
    parked = ParkedResponse()
    parked.complete("first")
    parked.complete("second")
    assert parked.deferred.result == "first"
