# SPDX-License-Identifier: Apache-2.0
"""A stand-in with the steps that its tests need."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from standins.rancher.client import ApiAnswer, RancherStandin

FAST = {"step_delay": 0.01, "retry_wait": 0.05, "event_interval": 0.05, "metadata_poll": 0.02,
        "host_failure_delay": 0.05}
IMAGE = "docker:rancher/lb-service-haproxy:v0.9.14"


class Rancher(RancherStandin):
    """The stand-in with the steps that most tests need."""

    def stack(self, name: str = "kubernetes-ingress-lbs") -> str:
        found = [s["id"] for s in self.rows("stack") if s["name"] == name]
        if found:
            return found[0]
        answer = self.api("POST", "stacks", {"name": name, "externalId": f"{name}://"})
        assert answer.status == 201, answer.text
        self.settle()
        return answer.json["id"]

    def make(self, name: str, rules: list[dict[str, Any]]) -> ApiAnswer:
        """Create a balancer that is not started, and wait until it rests."""
        launch = {"imageUuid": IMAGE, "ports": ["80:80"], "labels": {}}
        body = {"name": name, "stackId": self.stack(), "launchConfig": launch, "lbConfig": {"portRules": rules}}
        answer = self.api("POST", "loadbalancerservices", body)
        self.settle()
        return answer

    def get(self, row_id: str, kind: str = "loadbalancerservices") -> dict[str, Any]:
        answer = self.api("GET", f"{kind}/{row_id}")
        assert answer.status == 200, answer.text
        return answer.json


@pytest.fixture
def rancher() -> Iterator[Rancher]:
    """No data plane: the API alone."""
    with Rancher(dataplane=False, settings=FAST) as standin:
        yield standin

