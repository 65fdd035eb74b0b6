# SPDX-License-Identifier: Apache-2.0
"""The page of `sluicectl web` in a browser, whatever becomes of the line, and whatever tenants write."""
from __future__ import annotations

import pathlib
import re
import signal
import threading
from urllib.parse import quote

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from lib.backend import NETWORK, Backend
from lib.browser import Browser
from lib.ctl import Ctl
from lib.envtest import needs_standin
from lib.line import is_sanitized
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for
from lib.web_page import WebPage, web_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 60


@pytest.fixture(scope="module")
def line():
    with web_line() as running:
        yield running


@pytest.fixture(scope="module")
def web(line):
    with WebPage(line.runtime) as page:
        yield page


@pytest.fixture(scope="module")
def chromium():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium):
    chromium.console()
    yield chromium
    assert chromium.console() == []
    chromium.open("about:blank")


PAGES = ("line", "routes", "ingress/default%2Fweb", "traffic", "ask?https%3A%2F%2Fweb.test%2F", "endpoints", "certificates", "events")


def wait_looks(browser: Browser, count: int) -> None:
    """Until the page has asked so often how the line is."""
    asked = "return performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/api/status')).length"
    before = browser.run(asked)
    wait_for(lambda: browser.run(asked) >= before + count, "the page to look again", PATIENCE)


@pytest.mark.quick
def test_a_newcomer_sees_the_line_and_finds_the_way(web, browser):
    browser.open(web.url)
    browser.wait_text("#health-text", "the line is whole")
    cards = [card.text for card in browser.all("#line > .card h3")]
    assert cards == ["Kubernetes", "watcher", "translator", f"provider-{PROXIES[0]}"]
    assert browser.text("#line").count("connected for") == 3 and "ingress\n2" in browser.text('[data-key="watcher"] dl')
    browser.wait_text('[data-key="watcher"] dl', "/s\n")
    browser.wait_text("#balancers", "applied")
    browser.wait_text("#latest", "ServiceNotFound")
    # From the warning to the Ingress: what is wrong, and what to do.
    browser.find("#latest a").click()
    browser.wait_text("#ingress", "Create the Service in the namespace of the Ingress")
    assert browser.text("#title-ingress") == "Ingress default/web" and f"{NETWORK}.0.1:8080" in browser.text("#ingress")
    assert browser.all('#ingress .card[data-health="good"]') and browser.all('#ingress .card[data-health="bad"]')
    # And on to a request for it.
    browser.find('#ingress a[href^="#ask"]').click()
    browser.wait_text("#answer", "sent to")
    assert f"{NETWORK}.0.2:8080" in browser.text("#answer") and browser.text("#answer .steps b").splitlines()[0] == "route"


def test_it_draws_what_is_done_with_a_request(web, browser):
    browser.open(web.url + "#ask")
    browser.find("#ask-form [name=url]").send_keys("https://old.test/cart?x=1")
    browser.find("#ask-form [name=headers]").send_keys("Cookie: a=b\nX-Two: 2")
    browser.find("#ask-form button").click()
    browser.wait_text("#answer .outcome", "answered with 302")
    assert "redirect" in browser.text("#answer .steps .ends b") and "https://new.test" in browser.text("#answer .outcome")
    assert browser.text("#answer .steps a").splitlines() and set(browser.text("#answer .steps a").splitlines()) == {"default/old"}
    browser.find("#ask-form [name=from]").send_keys("nobody")
    browser.find("#ask-form button").click()
    browser.wait_text("#ask-problem", "--from must be an IP address")
    assert browser.text("#answer") == ""


@pytest.mark.plain
def test_updates_change_only_what_is_different(line, web, browser):
    browser.open(web.url)
    browser.wait_text("#health-text", "the line is whole")
    browser.run("""
        window.removed = 0;
        new MutationObserver((records) => records.forEach((record) => record.removedNodes.forEach((node) => window.removed += node.nodeType === 1)))
            .observe(document.body, {childList: true, subtree: true});
        window.card = document.querySelector('[data-key="translator"]');""")
    wait_looks(browser, 3)
    assert browser.run("return [window.removed, window.card.isConnected]") == [0, True]
    # In a list, the focus stays where it is.
    browser.open(web.url + "#routes")
    browser.wait_text("#routes", "web.test/cart")
    browser.run("window.row = document.querySelector('#routes tr:last-child'); window.row.querySelector('a').focus()")
    line.cluster.apply(line.cluster.ingress("a-new", [{"host": "new.test", "paths": [("/", "Prefix", "web", 80)]}]))
    try:
        browser.wait_text("#routes", "new.test/")
        assert browser.run("return window.row.isConnected && window.row.contains(document.activeElement)")
    finally:
        line.cluster.delete("ingress", "a-new")
    browser.wait_text("#routes-count", "1 to 2 of 2")


@pytest.mark.plain
def test_by_keyboard_and_by_ear(web, browser):
    browser.open(web.url)
    browser.wait_text("#health-text", "the line is whole")
    browser.driver.switch_to.active_element.send_keys(Keys.TAB, Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Routes"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait_text("#routes", "web.test/cart")
    assert browser.run("return document.activeElement.id") == "main" and browser.driver.title == "Routes · Sluice"
    assert browser.text("nav [aria-current=page]") == "Routes"
    for page in PAGES:
        browser.open(web.url + "#" + page)
        wait_looks(browser, 1)
        for control in browser.all("input, select, textarea, button"):
            if control.is_displayed():
                assert control.accessible_name, (page, control.get_attribute("outerHTML"))
        assert browser.run("return [...document.images].every((image) => image.hasAttribute('alt'))")
        assert len([heading for heading in browser.all("h2") if heading.is_displayed()]) == 1, page
        # Colour is never all that says it.
        assert browser.run("return [...document.querySelectorAll('.mark[role=img]')].every((mark) => mark.textContent && mark.getAttribute('aria-label'))")


@pytest.mark.plain
def test_on_a_phone_and_in_the_dark(web, browser):
    try:
        browser.open(web.url)
        light = browser.run("return getComputedStyle(document.body).backgroundColor")
        browser.resize(360)
        browser.prefer(prefers_color_scheme="dark")
        for page in PAGES:
            browser.open(web.url + "#" + page)
            wait_looks(browser, 1)
            assert browser.run("return document.documentElement.scrollWidth") <= 360, page
            assert browser.run("return getComputedStyle(document.body).backgroundColor") != light
        browser.prefer(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        assert browser.run("return matchMedia('(prefers-reduced-motion: reduce)').matches")
    finally:
        browser.prefer()
        browser.resize(1400)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_differ_enough_to_be_read():
    """WCAG 2, 1.4.3: 4.5 to 1, in both schemes."""
    schemes = re.findall(r":root \{(.*?)\}", (ROOT / "sluicectl/web/style.css").read_text(), re.S)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = {name: luminance(value) for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]+)", scheme)}
        for front, back in [(front, back) for back in ("ground", "card") for front in ("text", "quiet", "link", "good", "warn", "bad")] + [
                ("bad", "bad-ground"), ("warn", "warn-ground"), ("text", "bad-ground"), ("ground", "mark"), ("card", "good"), ("card", "warn"), ("card", "bad")]:
            dark, bright = sorted((colours[front], colours[back]))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (front, back)


SCRIPT = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"


@needs_standin("hold what a real one refuses")
def test_what_tenants_write_stays_text(line, web, browser):
    kube, cluster = line.kube, line.cluster
    path = "/\"'><svg/onload=window.pwned=1>"
    hostile = cluster.ingress("hostile", [{"host": "hostile.test", "paths": [(path, "Prefix", "web", 80), ("/\u202egnp.exe", "Exact", "web", 80)]}],
                              annotations={"sluice.io/none": SCRIPT})
    closed = cluster.ingress("closed", [{"host": "closed.test", "paths": [("/", "Prefix", "web", 80)]}],
                             annotations={"sluice.io/redirect": "javascript:" + SCRIPT, "sluice.io/rate-limit": SCRIPT + "A" * 65000})
    hostile["spec"]["rules"].append({"host": SCRIPT, "http": hostile["spec"]["rules"][0]["http"]})
    hostile["spec"]["tls"] = [{"hosts": [SCRIPT], "secretName": SCRIPT}]
    foreign = cluster.ingress("foreign", [{"host": "foreign.test", "paths": [("/", "Prefix", SCRIPT, 80)]}])
    foreign["spec"]["ingressClassName"] = SCRIPT
    for item in (hostile, closed, foreign):  # a real API server would refuse some of it
        item["metadata"].setdefault("namespace", "default")
        kube.put_object("ingresses", item)
    ctl = Ctl(line)
    wait_for(lambda: ctl.json("routes")["matches"] == 5 and ctl.explain("hostile").get("problems"), "them to be there", PATIENCE)
    elements = "return document.querySelectorAll('main script, main svg, main img, main iframe, [onload], [onerror]').length"
    try:
        for page, selector, text in (("routes", "#routes", "InvalidHost"), ("ingress/default%2Fhostile", "#ingress", "<svg/onload=window.pwned=1>"),
                                     ("ingress/default%2Fforeign", "#ingress", "<img src=x"), ("ingress/default%2Fclosed", "#ingress", "<img src=x"), ("events", "#events", "<img src=x"), ("line", "#latest", "default/"),
                                     ("ask?" + quote("http://web.test" + path, safe=""), "#answer", "<svg/onload"), ("endpoints", "#endpoints", "default/web"),
                                     ("ingress/" + quote(SCRIPT + "/x", safe=""), "#title-ingress", "<img src=x"), ("routes?" + quote(SCRIPT, safe=""), "#routes-count", "of 2"),
                                     ("ask?" + quote(SCRIPT, safe=""), "#page-ask", "What would be done")):
            browser.open(web.url + "#" + page)
            browser.wait_text(selector, text)
            wait_looks(browser, 1)
            assert browser.run("return window.pwned") is None and browser.run(elements) == 0, page
        browser.open(web.url + "#ingress/default%2Fhostile")
        browser.wait_text("#ingress", "gnp.exe")
        # What turns the direction of a line is shown, and turns nothing; what is long is cut.
        assert "\u202e" not in browser.text("#ingress") and "\ufffdgnp.exe" in browser.text("#ingress")
        assert len(browser.text("#ingress")) < 20000
        assert not [link for link in browser.run("return [...document.links].map((link) => link.protocol)") if link != "http:"]
    finally:
        for item in (hostile, closed, foreign):
            kube.delete_objects("ingresses", "default", item["metadata"]["name"])
    wait_for(lambda: ctl.json("routes")["matches"] == 2, "them to be gone", PATIENCE)


@pytest.mark.plain
def test_the_policy_stops_what_gets_past(web, chromium):
    """If a text did become markup: neither its script nor its pictures from elsewhere would do anything."""
    chromium.open(web.url)
    chromium.wait_text("#health-text", "the line is whole")
    with pytest.raises(WebDriverException, match="TrustedHTML|Trusted"):
        chromium.run("document.body.innerHTML = arguments[0]", SCRIPT)
    chromium.run("const script = document.createElement('script'); try { script.textContent = 'window.pwned = 1'; document.body.append(script) } catch {}")
    chromium.run("const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x'; document.body.append(image)")
    wait_looks(chromium, 1)
    assert chromium.run("return window.pwned") is None
    assert any("Content Security Policy" in message for message in chromium.console())


def test_it_tells_who_is_away_and_comes_back(line, browser):
    with WebPage(line.runtime) as web:
        browser.open(web.url)
        browser.wait_text("#health-text", "the line is whole")
        for daemon, card in ((line.translator, "translator"), (line.watcher, "watcher"), (line.provider, f"provider-{PROXIES[0]}")):
            daemon.kill()
            browser.wait_text(f'[data-key="{card}"]', "does not run")
            assert browser.text("#health .mark") == "✗" and browser.run(f"""return document.querySelector('[data-key="{card}"]').dataset.health""") == "bad"
            daemon.start()
            browser.wait_text("#health-text", "the line is whole")
        # All of them; and other pages say so, too.
        browser.open(web.url + "#routes")
        browser.wait_text("#routes", "web.test/cart")
        for daemon in line.daemons():
            daemon.kill()
        browser.wait_text("#health-text", "do not answer")
        browser.run("document.getElementById('routes-form').dispatchEvent(new Event('input'))")
        browser.wait_text("#routes-count", "start it")
        line.start_daemons()
        browser.wait_text("#health-text", "the line is whole")
        browser.run("document.getElementById('routes-form').dispatchEvent(new Event('input'))")
        browser.wait_text("#routes-count", "of 2")
        assert browser.all("#lost[hidden]")
        # It hangs: the rest is told.
        line.translator.pause()
        try:
            browser.open(web.url)
            browser.wait_text('[data-key="translator"]', "does not answer")
            assert "ready" in browser.text('[data-key="watcher"]')
        finally:
            line.translator.resume()
        browser.wait_text("#health-text", "the line is whole")


@pytest.mark.plain
def test_it_tells_when_sluicectl_is_away(line, chromium):
    """The console has each request that nobody has answered."""
    with WebPage(line.runtime) as web:
        chromium.open(web.url)
        chromium.wait_text("#health-text", "the line is whole")
        web.kill()
        chromium.wait_text("#lost", "does not answer. What is shown is old.")
        assert chromium.text("#health-text") == "not known" and "watcher" in chromium.text("#line")
        # Another one at its place has another key, and says what to do.
        with WebPage(line.runtime, "--listen", f"127.0.0.1:{web.port}") as other:
            chromium.wait_text("#lost", "open the whole address that sluicectl web has printed")
            chromium.open(other.url)
            chromium.wait_text("#health-text", "the line is whole")
        # One with the same key does not exist; but a break in between is got over.
    chromium.open("about:blank")
    chromium.console()


@pytest.mark.plain
def test_a_break_is_got_over(line, web, chromium):
    chromium.open(web.url)
    chromium.wait_text("#health-text", "the line is whole")
    web.process.send_signal(signal.SIGSTOP)
    try:
        chromium.driver.execute_cdp_cmd("Network.enable", {})
        chromium.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        chromium.wait_text("#lost", "does not answer")
    finally:
        web.process.send_signal(signal.SIGCONT)
        chromium.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
    chromium.wait_text("#health-text", "the line is whole")
    assert chromium.all("#lost[hidden]")
    chromium.console()


@needs_standin("make ten thousand objects at once")
@pytest.mark.plain
def test_ten_thousand_ingresses(browser):
    many = 2000 if is_sanitized() else 10000
    with ProxyLine(PROXIES[0]) as line, WebPage(line.runtime) as web:
        line.kube.bulk(count=many, namespaces=10)
        ctl = Ctl(line)
        wait_for(lambda: ctl.json("routes", "--limit", 1)["matches"] == many, "all to be there", PATIENCE)
        browser.open(web.url + "#routes")
        browser.wait_text("#routes-count", f"1 to 25 of {many:,}")
        assert len(browser.all("#routes tr")) == 25 and browser.run("return document.querySelectorAll('*').length") < 1500
        browser.find("#routes-after").click()
        browser.wait_text("#routes-count", f"26 to 50 of {many:,}")
        Select(browser.find("#routes-form [name=limit]")).select_by_visible_text("100")
        browser.wait_text("#routes-count", f"1 to 100 of {many:,}")
        assert len(browser.all("#routes tr")) == 100
        # Each letter asks anew; what was typed last counts.
        browser.find("#routes-form [name=match]").send_keys("APP-01234")
        browser.wait_text("#routes-count", "1 to 1 of 1 that fit")
        assert browser.text("#routes tr td:nth-child(2)") == "bench-4/app-01234"
        browser.open(web.url + "#line")
        browser.wait_text('[data-key="translator"]', f"{many:,}")
        browser.open(web.url + "#endpoints")
        browser.wait_text("#endpoints", f"1 to 50 of {many:,}")
        browser.wait_text("#endpoints", "2/2")


# ---- traffic ----


@pytest.mark.parametrize("name", PROXIES)
def test_which_ingress_fails(name, browser):
    """From the list, with those that fail first, to the Ingress."""
    with Backend("web") as pod, ProxyLine(name, provider=["--metrics-ingresses", "100"]) as line, WebPage(line.runtime) as page:
        cluster = line.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", [pod.ip], pod.port),
                      *(cluster.ingress(one, [{"host": f"{one}.test", "paths": [("/", "Prefix", "web", 80)]}]) for one in ("good", "failing")))
        line.wait_serves("good.test", "/", "web")
        line.wait_serves("failing.test", "/", "web")
        ended = threading.Event()

        def go_on() -> None:
            while not ended.is_set():
                line.proxy.request("good.test", "/")
                line.proxy.request("good.test", "/")
                line.proxy.request("failing.test", "/?status=503")
        sender = threading.Thread(target=go_on)
        sender.start()
        try:
            browser.open(page.url + "#traffic")
            browser.wait_text("#traffic", "default/good")
            Select(browser.find("#traffic-form select")).select_by_value("errors")
            wait_for(lambda: browser.text("#traffic tr:first-child").startswith("default/failing"), "those that fail first", PATIENCE)
            browser.find("#traffic-form input").send_keys("fail")
            wait_for(lambda: len(browser.all("#traffic tr")) == 1, "the one that is wanted", PATIENCE)
            browser.find("#traffic a").click()
            browser.wait_text("#ingress-traffic", "requests/s")
            assert "5xx" in browser.text("#ingress-traffic") and browser.all('#ingress-traffic .card[data-health="bad"]')
        finally:
            ended.set()
            sender.join()


def test_traffic_that_nobody_counts(web, browser):
    browser.open(web.url + "#traffic")
    browser.wait_text("#traffic-count", "--metrics-ingresses")
    browser.open(web.url + "#ingress/default%2Fweb")
    browser.wait_text("#ingress-traffic", "--metrics-ingresses")
