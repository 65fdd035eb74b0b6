# SPDX-License-Identifier: Apache-2.0
"""A Chromium without a screen."""
from __future__ import annotations

from typing import Any, Self

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from .wait import wait_for

PATIENCE_S = 60.0


class Browser:
    """Use it as a context manager. Its console must stay empty: what a policy forbids, or a script stumbles over, is told there."""

    OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
               "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,1000",
               "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]

    def __enter__(self) -> Self:
        options = Options()
        for option in self.OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()

    def open(self, url: str) -> None:
        self.driver.get("about:blank")  # another part behind # alone would load nothing
        self.driver.get(url)

    def find(self, selector: str) -> WebElement:
        return wait_for(lambda: self.all(selector), selector, PATIENCE_S)[0]

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """As people see it; empty where there is no such element."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map((node) => node.innerText).join('\\n')", selector)

    def wait_text(self, selector: str, text: str) -> None:
        seen = ""

        def is_there() -> bool:
            nonlocal seen
            seen = self.text(selector)
            return text in seen

        try:
            wait_for(is_there, f"{text!r} in {selector}", PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {seen[:1000]!r}") from None

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def console(self) -> list[str]:
        """What has been told there since the last call, but that a request was refused or got no answer."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["source"] != "network"]

    def resize(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, **features: str) -> None:
        """Such as prefers_color_scheme="dark"."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})
