# SPDX-License-Identifier: Apache-2.0
"""The requests of the Go controller, replayed; and what it left behind, seeded."""

from __future__ import annotations

from typing import Any

from .conftest import FAST, Rancher
from .original_controller import REQUESTS

UID = "00000000-0000-4000-8000-000000000001"


def fill(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: fill(v, ids) for k, v in value.items()}
    if isinstance(value, list):
        return [fill(v, ids) for v in value]
    if isinstance(value, str):
        for name, actual in ids.items():
            value = value.replace("{" + name + "}", actual)
    return value


def test_replay(rancher: Rancher) -> None:
    rancher.control("set-setting", name="lb.instance.image", value="rancher/lb-service-haproxy:v0.7.15")
    rancher.control("set-service", uid=UID, name="svc-00001", at_once=True)
    ids = {"target": rancher.rows("kubernetesService")[0]["id"]}
    states, last = [], -2.0
    for moment, method, path, body, status in REQUESTS:
        if moment - last > 1:
            # However slow this machine is, nothing is over before the requests of one moment are sent, and all is
            # before the next ones.
            rancher.control("configure", step_delay=FAST["step_delay"])
            rancher.settle()
            rancher.control("configure", step_delay=60.0)
        last = moment
        answer = rancher.api(method, fill(path, ids), fill(body, ids))
        assert answer.status == status, (method, path, answer.text)
        if method == "POST" and path.endswith("/stacks"):
            ids["stack"] = answer.json["id"]
        elif method == "POST" and path.endswith("services"):
            ids["lb"] = answer.json["id"]
        if method == "GET" and path.endswith("{lb}"):
            states.append(answer.json["state"])
    assert states[:5] == ["registering", "inactive", "inactive", "activating", "active"]
    rancher.control("configure", step_delay=FAST["step_delay"])
    rancher.settle()
    assert rancher.get(ids["lb"])["state"] == "removed"


def test_seeded_rows_equal_those_made_by_requests(rancher: Rancher) -> None:
    rancher.control("seed", count=1)
    seeded = rancher.rows("loadBalancerService")[0]
    target = rancher.rows("kubernetesService")[0]["id"]
    rule = {"hostname": "h00001.example.com", "path": "/p", "protocol": "http", "serviceId": target,
            "sourcePort": 80, "targetPort": 8080}
    made = rancher.make("made", [rule]).json
    rancher.api("POST", f"loadbalancerservices/{made['id']}?action=activate")
    rancher.settle()
    made = rancher.balancer("made")
    differing = {k for k in seeded if seeded[k] != made[k]}
    assert set(seeded) == set(made)
    assert differing <= {"id", "name", "externalId", "links", "actions", "uuid", "created", "createdTS",
                         "instanceIds", "publicEndpoints"}, differing
