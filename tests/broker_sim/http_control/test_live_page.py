from __future__ import annotations

import re
from typing import TYPE_CHECKING

from broker_sim.http_control.live_page import live_page
from broker_sim.http_control.operations import OPERATIONS

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_the_page_is_served_and_loads_nothing(control: Control) -> None:
    response = control.call("GET", "/")
    assert response.text == live_page()
    assert response.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert re.findall(r"(?:src|href)=", response.text) == []


def test_each_call_of_the_script_exists() -> None:
    known = {re.sub(r"{\w+}", "X", each.path).removeprefix("/clusters/X") for each in OPERATIONS}
    called = re.findall(r"path\(['`](/[^'`?]*)|act\('\w+', ['`](/[^'`?]*)", live_page())
    paths = {re.sub(r"\$\{(?:name|broker\.id)\}", "X", "".join(each)) for each in called}
    verbs = {path for path in paths if "${verb}" in path}
    assert verbs == {"/brokers/X/${verb}"}
    assert paths - verbs <= known


def test_ids_of_the_script_are_in_the_document() -> None:
    page = live_page()
    ids = set(re.findall(r'\bid="([\w-]+)"', page))
    assert set(re.findall(r"\bat\('([\w-]+)'\)", page)) <= ids
