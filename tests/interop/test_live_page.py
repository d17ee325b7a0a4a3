"""The live page in headless Chromium, driven by Selenium: it follows a cluster, and its buttons act on it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from broker_client import Producer
from broker_sim.http_control.guard import Guard
from tests.broker_sim.http_control.conftest import Control, serving
from tests.interop.kafka_release import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver.remote.webelement import WebElement

WAIT_SECONDS = 30
POLL_SECONDS = 0.1
CELLS = "return [...document.querySelectorAll(arguments[0])].map(row => [...row.cells].map(cell => cell.textContent))"
TOKEN = "a-token-for-this-page"


def tool(*names: str) -> str:
    """Return the path of the first program that is there. Raises ToolMissingError."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise ToolMissingError(f"no {names[0]} in PATH: install {names[0]} (Debian: chromium chromium-driver)")
    return found


class Page:
    """The page in a browser, by the labels that its users see."""

    def __init__(self, browser: Chrome) -> None:
        self.browser = browser
        self._wait = WebDriverWait(browser, WAIT_SECONDS, poll_frequency=POLL_SECONDS)

    def rows(self, table: str) -> list[list[str]]:
        """The texts of the cells of each row of a table."""
        found: list[list[str]] = self.browser.execute_script(CELLS, f"#{table} tr")
        return found

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds. Raises TimeoutException."""
        self._wait.until(lambda _: condition())

    def wait_for_cells(self, table: str, *rows: list[str]) -> None:
        """Wait until the first cells of the rows of a table are these."""
        width = len(rows[0])
        self.wait_until(lambda: [row[:width] for row in self.rows(table)] == list(rows))

    def find(self, selector: str) -> WebElement:
        """Return the first element of a CSS selector."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def press(self, label: str) -> None:
        """Click on a button by its label, as soon as it is there."""
        selector = f"button[aria-label='{label}']"
        self.wait_until(lambda: self.browser.find_elements(By.CSS_SELECTOR, selector))
        # The page may replace the row between finding and clicking: the click is made within the page.
        self.browser.execute_script("document.querySelector(arguments[0]).click()", selector)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = tool("chromium", "chromium-browser")
    profile = tmp_path_factory.mktemp("chromium")
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
        options.add_argument(option)
    made = Chrome(options=options, service=ChromeService(tool("chromedriver")))
    yield made
    made.quit()


@pytest.fixture
def control() -> Iterator[Control]:
    with serving(Guard("127.0.0.1")) as found:
        yield found


@pytest.fixture
def page(control: Control, browser: Chrome) -> Page:
    control.new_cluster(name="shop", brokers=2, topics=["orders:1:2"])
    browser.get(control.url + "/")
    return Page(browser)


def send(control: Control, *values: bytes) -> None:
    servers = control.get("/clusters/shop")["bootstrap_servers"]
    with Producer(bootstrap_servers=servers, client_id="till") as producer:
        for value in values:
            producer.send("orders", value).result(WAIT_SECONDS)


def test_the_rows_follow_the_cluster(page: Page, control: Control) -> None:
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "runs"])
    send(control, b"a", b"b")
    page.wait_until(lambda: [row[4] for row in page.rows("partitions")] == ["2"])
    control.post("/clusters/shop/brokers/2/kill")
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "down"])
    page.wait_for_cells("partitions", ["orders-0", "1", "1 of 1, 2"])


def test_a_button_kills_a_broker_and_another_one_starts_it_again(page: Page, control: Control) -> None:
    page.press("kill broker 2")
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "down"])
    assert [each["running"] for each in control.get("/clusters/shop/brokers")] == [True, False]
    page.press("restart broker 2")
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "runs"])


def test_a_paused_broker_goes_on(page: Page) -> None:
    page.press("pause broker 2")
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "paused"])
    page.press("resume broker 2")
    page.wait_for_cells("brokers", ["1", "runs"], ["2", "runs"])


def test_a_rule_is_added_fires_and_is_removed(page: Page, control: Control) -> None:
    Select(page.find("#preset")).select_by_visible_text("slow requests")
    text = page.find("#rule")
    text.clear()
    text.send_keys('{"name": "late", "select": {"api": "Produce", "nth": 1}, "act": {"delay_ms": 1}}')
    page.find("#add-rule button").click()
    page.wait_for_cells("rules", ["late", "delay_ms", "0"])
    send(control, b"a")
    page.wait_for_cells("rules", ["late", "delay_ms", "1"])
    page.press("remove late")
    page.wait_until(lambda: page.rows("rules")[0][0].startswith("no rule"))
    assert control.get("/clusters/shop/rules") == []


def test_a_rule_that_cannot_be_used_is_explained(page: Page) -> None:
    page.find("#rule").send_keys('{"act": "kil"}')
    page.find("#add-rule button").click()
    page.wait_until(lambda: "did you mean 'kill'" in page.find("#rule-problem").text)


def test_one_key_leads_from_a_request_to_its_events(page: Page, control: Control) -> None:
    page.find("#traffic").click()
    send(control, b"a")
    page.find("#filter").send_keys('RequestReceived "api":"Produce"')
    page.wait_until(lambda: [row[2] for row in page.rows("events")] == ["RequestReceived"])
    page.find("#pause").click()  # the row stays: the key meets it
    page.find("#events tr[tabindex]").send_keys(Keys.ENTER)
    page.wait_until(lambda: page.rows("trace-events"))
    assert {"RequestReceived", "ResponseSent"} <= {row[2] for row in page.rows("trace-events")}
    assert page.find("#trace").get_dom_attribute("open") is not None


def test_the_theme_is_dark_on_request(page: Page) -> None:
    def background() -> str:
        return page.find("body").value_of_css_property("background-color")

    before = background()
    page.find("#theme").click()
    page.wait_until(lambda: background() != before)


def test_a_page_with_a_token_shows_nothing_before_it(browser: Chrome) -> None:
    with serving(Guard("127.0.0.1", TOKEN)) as control:
        control.call("POST", "/clusters", {"name": "shop", "brokers": 1}, Authorization=f"Bearer {TOKEN}")
        browser.get(control.url + "/")
        page = Page(browser)
        page.wait_until(lambda: page.find("#token").is_displayed())
        assert page.rows("brokers") == []
        page.find("input[name=token]").send_keys(TOKEN, Keys.ENTER)
        page.wait_for_cells("brokers", ["1", "runs"])
