"""AlterUserScramCredentials through a broker, and as a whole refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def put(user: str) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name=user, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")


def test_a_credential_reaches_every_broker(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2)
    response = api.exchange(AlterUserScramCredentialsRequest(deletions=[], upsertions=[put("ann")]), 0, broker_id=2)
    assert [(each.user, each.error_code, each.error_message) for each in response.results] == [("ann", 0, None)]
    api.settle()
    for broker in api.cluster.brokers.values():
        credential = broker.metadata_cache.image.scram.credential("ann", ScramMechanism.SCRAM_SHA_256)
        assert credential == ScramMechanism.SCRAM_SHA_256.credential(b"p", b"s", 4096)


def test_a_refusal_names_each_user_once_in_alphabetical_order(bench: Callable[..., ApiBench]) -> None:
    deletions = [ScramCredentialDeletion(name="c", mechanism=1)]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[put("c"), put("b")])
    context = bench().context(request, 0)
    refused: Any = context.broker.apis.error_response(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert [(each.user, each.error_code) for each in refused.results] == [("b", 31), ("c", 31)]
