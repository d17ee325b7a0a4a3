"""Certificates of a run: their facts, and that nothing else decides about them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from cryptography import x509

from sim_runtime.issued_certificates import CertificateFacts, issue

STARTED_S = 1_767_225_600
FACTS = CertificateFacts(
    subject="CN=broker,O=example",
    hosts=("broker-1", "127.0.0.1"),
    valid_from_s=-60,
    valid_until_s=20,
    authority="the authority",
)


def test_a_certificate_states_its_facts_and_is_signed_by_its_authority() -> None:
    made = issue("broker", FACTS, started_s=STARTED_S)
    certificate, authority = (x509.load_pem_x509_certificate(each.encode()) for each in (made.chain, made.authority))
    certificate.verify_directly_issued_by(authority)
    started = dt.datetime.fromtimestamp(STARTED_S, dt.UTC)
    assert certificate.subject.rfc4514_string() == "CN=broker,O=example"
    assert certificate.not_valid_before_utc == started - dt.timedelta(seconds=60)
    assert certificate.not_valid_after_utc == started + dt.timedelta(seconds=20)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in names] == ["broker-1", "127.0.0.1"]


def test_equal_facts_give_equal_bytes_and_each_name_has_a_key_and_an_authority_of_its_own() -> None:
    first = issue("broker", FACTS, started_s=STARTED_S)
    assert issue("broker", FACTS, started_s=STARTED_S) == first
    renewed = issue("renewed", replace(FACTS, valid_until_s=3600), started_s=STARTED_S)
    assert renewed.key != first.key
    assert renewed.authority == first.authority
    stranger = issue("broker", replace(FACTS, authority="another"), started_s=STARTED_S)
    assert stranger.authority != first.authority


def test_a_subject_that_is_no_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'broker' is no distinguished name: expected one such as CN="):
        issue("broker", replace(FACTS, subject="broker"), started_s=STARTED_S)
