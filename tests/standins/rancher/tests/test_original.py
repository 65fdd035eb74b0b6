# SPDX-License-Identifier: Apache-2.0
"""The requests of the Go controller, replayed; and what it left behind, seeded."""

from __future__ import annotations

from typing import Any

from .conftest import Rancher
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
    states, last = [], 0.0
    for moment, method, path, body, status in REQUESTS:
        if moment - last > 1:
            rancher.settle()
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
    rancher.settle()
    assert rancher.get(ids["lb"])["state"] == "removed"


def test_what_clients_take_from_discovery(rancher: Rancher) -> None:
    """The Go client lists, creates and updates by what the schemas say."""
    schemas = rancher.api("GET", rancher.api("GET", "/v2-beta").headers["X-API-Schemas"]
                          .removeprefix(rancher.base)).json["data"]
    by_id = {s["id"]: s for s in schemas}
    for name in ("stack", "loadBalancerService", "certificate", "externalService"):
        assert {"GET", "POST"} <= set(by_id[name]["collectionMethods"])
        assert {"GET", "PUT", "DELETE"} <= set(by_id[name]["resourceMethods"])
        assert by_id[name]["links"]["collection"] and by_id[name]["links"]["self"]
    for name in ("kubernetesService", "setting", "service"):
        assert "GET" in by_id[name]["collectionMethods"]


def test_balancers_of_both_name_forms(rancher: Rancher) -> None:
    rancher.control("seed-services", items=[{"uid": UID, "name": "svc-00001"}])
    rancher.control("seed-balancers", items=[
        {"namespace": "default", "name": "ing-00001", "hostname": "h00001.example.com", "path": "/p",
         "uid": UID},
        {"namespace": "default", "name": "old", "form": "legacy", "hostname": "old.example.com", "uid": UID}])
    rows = rancher.rows("loadBalancerService")
    assert [r["name"] for r in rows] == ["default-rancherlb-ing-00001", "default-old"]
    stack = rancher.rows("stack")[-1]
    assert (stack["name"], stack["externalId"]) == ("kubernetes-ingress-lbs", "kubernetes-ingress-lbs://")
    target = rancher.rows("kubernetesService")[0]["id"]
    for row in rows:
        assert row["externalId"] == "kubernetes-ingress-lbs://" + row["name"] and row["state"] == "active"
        assert row["publicEndpoints"] and row["launchConfig"]["ports"] == ["80:80/tcp"]
    # What the controller sends for the first, with what the server adds: exactly as if it had been made by
    # requests.
    assert rows[0]["lbConfig"] == {"type": "lbConfig", "portRules": [{
        "type": "portRule", "hostname": "h00001.example.com", "path": "/p", "protocol": "http",
        "serviceId": target,
        "sourcePort": 80, "targetPort": 8080}]}
    assert rancher.counters()["writes"] == {"changed": 0, "noop": 0, "failed": 0}
    rancher.api("DELETE", f"loadbalancerservices/{rows[0]['id']}")
    rancher.settle()
    rancher.make(rows[0]["name"])
    assert rancher.counters()["recreations"] == 1


def test_seeded_rows_equal_those_made_by_requests(rancher: Rancher) -> None:
    rancher.control("seed", count=1)
    seeded = rancher.rows("loadBalancerService")[0]
    target = rancher.rows("kubernetesService")[0]["id"]
    rule = {"hostname": "h00001.example.com", "path": "/p", "protocol": "http", "serviceId": target,
            "sourcePort": 80, "targetPort": 8080}
    made = rancher.make("made", [rule], startOnCreate=False).json
    rancher.api("POST", f"loadbalancerservices/{made['id']}?action=activate")
    rancher.settle()
    made = rancher.balancer("made")
    differing = {k for k in seeded if seeded[k] != made[k]}
    assert set(seeded) == set(made)
    assert differing <= {"id", "name", "externalId", "links", "actions", "uuid", "created", "createdTS",
                         "instanceIds", "publicEndpoints"}, differing


def test_ten_thousand(rancher: Rancher) -> None:
    assert rancher.control("seed", count=10000) == {"services": 10000, "balancers": 10000}
    path, found = f"loadbalancerservices?stackId={rancher.stack()}&removed_null=1&limit=3000", 0
    pages = 0
    while path:
        body = rancher.api("GET", path).json
        found, pages = found + len(body["data"]), pages + 1
        path = (body["pagination"]["next"] or "").removeprefix(rancher.base)
    assert (found, pages) == (10000, 4)
    assert len(rancher.rows("kubernetesService")) == 10000
