"""Certificates of a scenario file, and the mistakes in them and in references to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509

from broker_scenarios.history import EventType
from broker_scenarios.language.certificates import certificates_of
from broker_scenarios.language.yaml_source import ScenarioFileError
from broker_sim.control.events import ConnectionOpened
from tests.scenarios.playing.runs import play, scenario_of
from tests.tidy.test_documents import blocks

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "expire-a-certificate.md"
REST = """
title: certificates
topics: {orders: {partitions: 2, replication_factor: 1}}
expect: {verdict: valid, lost: 0, outcome: {ok: 3}}
"""
FILE = """
cluster:
  brokers: 1
  certificates: {broker: {subject: CN=broker}}
  config:
    listeners: PLAINTEXT://:0,SSL://:0
    ssl.keystore.type: PEM
    ssl.keystore.key: ${certificates:broker:key}
    ssl.keystore.certificate.chain: ${certificates:broker:chain}
clients: {app: {producer: {}, script: [{send: 3}, flush, close]}}
"""


READER = """
  reader:
    consumer:
      security.protocol: SSL
      ssl.truststore.type: PEM
      ssl.truststore.certificates: ${certificates:broker:authority}
      ssl.keystore.type: PEM
      ssl.keystore.key: ${certificates:app:key}
      ssl.keystore.certificate.chain: ${certificates:app:chain}
    script: [{assign: [orders]}, {poll: {records: 3}}, close]
"""


def test_producers_and_consumers_have_the_certificates_of_the_document(tmp_path: Path) -> None:
    played = play(tmp_path, REST + blocks(DOCUMENT, "yaml")[0] + READER)
    assert played.run.judgement.misses == ()
    opened = [each for each in played.evidence.truth.journal if isinstance(each, ConnectionOpened)]
    assert {each.listener for each in opened} == {"SSL"}
    polls = played.operations("poll")
    assert any(each.results for each in polls)
    assert {each.type for each in polls} == {EventType.OK}


def test_a_certificate_has_defaults() -> None:
    made = certificates_of({"cluster": {"brokers": 2, "certificates": {"one": {}, "two": {"authority": "b"}}}}, 10**9)
    first, second = (x509.load_pem_x509_certificate(made[name].chain.encode()) for name in ("one", "two"))
    assert first.subject.rfc4514_string() == "CN=one"
    names = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in names] == ["localhost", "127.0.0.1", "broker-1", "broker-2"]
    assert (first.not_valid_after_utc - first.not_valid_before_utc).days == 3651
    assert [each.issuer.rfc4514_string() for each in (first, second)] == ["CN=authority", "CN=b"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("CN=broker", "broker", "certificates.broker: 'broker' is no distinguished name: expected one such as CN="),
        ("broker:key", "brokr:key", "keystore.key: ${certificates:brokr:key}: no certificate of the cluster is named"),
        ("broker:key", "broker:pem", "${certificates:broker:pem}: a certificate has key, chain, authority, not 'pem'"),
        ("broker:key", "broker", "${certificates:broker}: a certificate has key, chain, authority, not ''"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in FILE
    with pytest.raises(ScenarioFileError) as raised:
        scenario_of(tmp_path, REST + FILE.replace(old, new, 1))
    assert problem in str(raised.value)
