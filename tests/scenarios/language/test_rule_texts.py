from __future__ import annotations

import yaml

from broker_scenarios.language.rule_texts import rule_text


def test_a_rule_is_one_line_that_reads_as_the_rule() -> None:
    rule = {"when": {"at_ms": [300, 3000]}, "act": {"kill": "leader of orders-0"}, "optional": True}
    text = rule_text(rule)
    assert text == "when: {at_ms: [300, 3000]}, act: {kill: leader of orders-0}, optional: true"
    assert yaml.safe_load(f"{{{text}}}") == rule
    assert rule_text(dict(rule)) == text


def test_rules_that_differ_in_one_number_have_their_own_texts() -> None:
    texts = [rule_text({"act": {"delay_ms": number}}) for number in (1, 2, 1.5, "1")]
    assert texts == ["act: {delay_ms: 1}", "act: {delay_ms: 2}", "act: {delay_ms: 1.5}", "act: {delay_ms: '1'}"]
