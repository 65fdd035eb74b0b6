# SPDX-License-Identifier: Apache-2.0
"""provider-rancher alone on this machine: the Rancher stand-in before it, a translator of the tests behind it."""
from __future__ import annotations

from typing import Any

from standins.rancher.client import RancherStandin

from .line import rancher_provider
from .provider_room import ProviderRoom
from .wait import wait_for

FAST = {"step_delay": 0.02, "retry_wait": 0.05, "retry_max": 0.5, "event_interval": 0.05, "metadata_poll": 0.05,
        "host_failure_delay": 0.05}


class Bench(ProviderRoom):
    """Use it as a context manager. The provider is started with start(), or by start=True."""

    def __init__(self, start: bool = True, settings: dict[str, Any] | None = None, dataplane: bool = False,
                 arguments: list[str] | None = None, **rancher: Any):
        super().__init__()
        self.rancher = self.standin = RancherStandin(settings={**FAST, **(settings or {})}, dataplane=dataplane, **{"hosts": 3, **rancher})
        self.provider = rancher_provider(self.runtime, self.folder, self.rancher, "--poll-interval", "0.3", "--idle-poll-interval", "0.3",
                                         "--client-timeout", "2", "--endpoint-grace", "1", *(arguments or []))
        if start:
            self.start()

    # Rancher

    def services(self, *names: str, **more: Any) -> None:
        """Rancher knows these Services; their uids are "uid-<name>"."""
        for name in names:
            self.rancher.control("set-service", uid=f"uid-{name}", name=name, at_once=True, **more)

    def lb(self, name: str) -> dict[str, Any] | None:
        return self.rancher.balancer(name)

    def wait_lb(self, name: str, timeout: float = 20.0) -> dict[str, Any]:
        return wait_for(lambda: (lb := self.lb(name)) and lb["state"] == "active" and lb, f"{name} to be active", timeout)

    def wait_no_lb(self, name: str, timeout: float = 20.0) -> None:
        wait_for(lambda: self.lb(name) is None, f"{name} to be gone", timeout)

    def rules(self, name: str) -> list[dict[str, Any]]:
        lb = self.lb(name)
        rules = (lb or {}).get("lbConfig", {}).get("portRules") or []
        return sorted(rules, key=lambda r: (r["sourcePort"], r.get("priority") or 0))

    def writes(self) -> list[tuple[str, str]]:
        """(verb, name) of every write that the provider has sent, in order."""
        return [(r["method"] + (f" {r['action']}" if r["action"] else ""), r["name"] or r["id"] or "-")
                for r in self.rancher.writes()]

    def reads(self, type_: str) -> list[dict[str, Any]]:
        return [r for r in self.rancher.requests(method="GET", type=type_) if "provider" in (r["user_agent"] or "")]

    def forget_requests(self) -> None:
        self.rancher.control("forget-requests")

    def certificates(self) -> dict[str, dict[str, Any]]:
        return {c["name"]: c for c in self.rancher.rows("certificate")}
