"""DescribeUserScramCredentials at a broker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.apis.handler_result import NoResponse
from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS, ScramChange
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

EVERYONE = DescribeUserScramCredentialsRequest(users=None)


def describe(*users: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])


def shown(response: Any) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    """Error code, mechanisms and iterations by user."""
    return {
        each.user: (each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
        for each in response.results
    }


def test_users_are_described_by_name_or_all(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    changes = [
        ScramChange("ann", mechanism, mechanism.credential(b"key", b"salt", 4096 + mechanism))
        for mechanism in (ScramMechanism.SCRAM_SHA_512, ScramMechanism.SCRAM_SHA_256)
    ]
    image = NO_SCRAM_CREDENTIALS.with_changes(changes)
    api.cluster.controller.change("test", lambda known: replace(known, scram=image))
    api.settle()
    ann = (0, [(1, 4097), (2, 4098)])
    described = api.exchange(describe("ann", "bob", "", "cat", "cat"), 0)
    assert shown(described) == {"ann": ann, "bob": (91, []), "": (91, []), "cat": (92, [])}
    assert shown(api.exchange(describe(), 0)) == shown(api.exchange(EVERYONE, 0)) == {"ann": ann}


def test_a_refusal_names_no_user_and_needs_a_list_of_them(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    context = api.context(describe("a", "b"), 0)
    response: Any = context.broker.apis.error_response(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert [(each.user, each.error_code) for each in response.results] == [("", 31), ("", 31)]
    context = api.context(EVERYONE, 0)
    refused = context.broker.apis.error_response(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert refused is NoResponse.STAY_MUTED
