# SPDX-License-Identifier: Apache-2.0
"""Fourteen exchanges with the v2-beta API that a provider depends on, one test each."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import aiohttp

from .conftest import IMAGE, Pair, Rancher, rule

SERVICE_UID = "6f0e3a52-ef5d-11e7-8c3f-0242ac110002"
STACK = {"name": "kubernetes-ingress-lbs", "externalId": "kubernetes-ingress-lbs://"}
LINK_ACTIONS = {"addservicelink", "removeservicelink", "setservicelinks"}


def subset(actual: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        assert name in actual and actual[name] == value, (name, actual.get(name), value)


def error(answer: Any, status: int, code: str, field: str | None = None, message: str | None = None) -> None:
    assert answer.status == status, answer.text
    body = answer.json
    subset(body, {"type": "error", "baseType": "error", "links": {}, "actions": {}, "status": status,
                  "code": code,
                  "message": message, "detail": None})
    assert body["id"] and body.get("fieldName") == field


def slow(rancher: Rancher, state: str) -> None:
    """Make a transitional state last, so that it can be looked at."""
    rancher.control("configure", step_delays={state: 30.0})


def test_e1_no_credentials(rancher: Rancher) -> None:
    answer = rancher.api("GET", "stacks", auth=False)
    error(answer, 401, "Unauthorized", message="Unauthorized")
    assert answer.headers["WWW-Authenticate"] == \
        'Basic realm="Enter API access key and secret key as username and password"'
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


def test_e2_stack_not_there(rancher: Rancher) -> None:
    path = "stacks?name=kubernetes-ingress-lbs&removed_null=1&externalId=kubernetes-ingress-lbs%3A%2F%2F"
    answer = rancher.api("GET", path)
    assert answer.status == 200
    assert answer.headers["X-API-Schemas"] == f"{rancher.base}/v2-beta/projects/1a5/schemas"
    body = answer.json
    subset(body, {"type": "collection", "resourceType": "stack", "createTypes": {}, "actions": {}, "data": [],
                  "links": {"self": f"{rancher.base}/v2-beta/projects/1a5/stacks"}, "sort": None,
                  "createDefaults": {}})
    subset(body["pagination"], {"first": None, "previous": None, "next": None, "limit": 100, "total": None,
                                "partial": False})
    subset(body["filters"], {
        "externalId": [{"value": "kubernetes-ingress-lbs://", "modifier": "eq"}],
        "name": [{"value": "kubernetes-ingress-lbs", "modifier": "eq"}],
        "removed": [{"value": "1", "modifier": "null"}]})
    assert "\\/" in answer.text and "//" not in answer.text.replace("\\/\\/", "")


def test_e3_create_stack(rancher: Rancher) -> None:
    slow(rancher, "stack.activating")
    answer = rancher.api("POST", "stacks", STACK)
    assert answer.status == 201
    body = answer.json
    own = f"{rancher.base}/v2-beta/projects/1a5/stacks/{body['id']}"
    assert body["links"]["self"] == own
    assert set(body["actions"]) == {"remove", "error", "addoutputs", "exportconfig", "activateservices",
                                    "deactivateservices"}
    assert body["actions"]["remove"] == own + "/?action=remove"
    subset(body, {**STACK, "type": "stack", "baseType": "stack", "state": "activating", "accountId": "1a5",
                  "kind": "stack", "healthState": "healthy", "serviceIds": None, "system": False,
                  "startOnCreate": None,
                  "transitioning": "yes", "transitioningMessage": "In Progress",
                  "transitioningProgress": None,
                  "removed": None})
    assert isinstance(body["createdTS"], int) and body["created"].endswith("Z") and "removedTS" not in body
    error(rancher.api("POST", "stacks", STACK), 422, "NotUnique", "name")
    rancher.control("configure", step_delays={})
    rancher.settle()
    subset(rancher.get(body["id"], "stacks"), {"state": "active", "transitioning": "no",
                                               "transitioningMessage": None})
    error(rancher.api("POST", "stacks", STACK), 422, "NotUnique", "name")


def test_e4_image_setting(rancher: Rancher) -> None:
    answer = rancher.api("GET", "settings/lb.instance.image")
    body = answer.json
    assert re.findall(r'"baseType":"(\w+)"', answer.text) == ["activeSetting", "setting"], "one name twice in one object"
    assert list(body) == ["id", "type", "links", "actions", "baseType", "name", "activeValue", "value"]
    subset(body, {"id": "lb.instance.image", "type": "activeSetting", "baseType": "setting",
                  "name": "lb.instance.image", "value": "rancher/lb-service-haproxy:v0.9.14",
                  "activeValue": "rancher/lb-service-haproxy:v0.9.14", "actions": {}})
    listed = rancher.api("GET", "settings?name=lb.instance.image").json["data"]
    assert len(listed) > 1, "the filter is ignored"
    assert "lb.instance.image" in [s["name"] for s in listed]


def test_e5_find_the_target(rancher: Rancher) -> None:
    rancher.control("set-service", uid=SERVICE_UID, name="nginx-service", namespace="default",
                    namespace_uid="n-1",
                    selector={"app": "nginx"}, vip="10.43.12.7", at_once=True)
    rancher.control("set-service", uid="another", name="another", at_once=True)
    rancher.control("set-pods", uid=SERVICE_UID, pods=["10.42.0.9"])
    body = rancher.api("GET", f"kubernetesservices?externalId={SERVICE_UID}&removed_null=1").json
    assert body["resourceType"] == "kubernetesService" and len(body["data"]) == 1
    row = body["data"][0]
    subset(row, {"type": "kubernetesService", "baseType": "service", "name": "nginx-service",
                 "externalId": SERVICE_UID, "accountId": "1a5", "kind": "kubernetesService",
                 "state": "active",
                 "vip": "10.43.12.7", "selectorContainer": "app=nginx,io.kubernetes.pod.namespace=default",
                 "linkedServices": None, "healthState": "healthy", "system": False, "transitioning": "no",
                 "transitioningMessage": None, "transitioningProgress": None, "removed": None})
    assert row["links"]["self"] == f"{rancher.project_url}/kubernetesservices/{row['id']}"
    assert row["template"]["metadata"]["name"] == "nginx-service" and len(row["instanceIds"]) == 1
    assert not {"scale", "lbConfig", "launchConfig", "publicEndpoints", "fqdn"} & set(row)
    assert rancher.get(row["stackId"], "stacks")["externalId"] == "kubernetes://n-1"


def test_e6_create_balancer(rancher: Rancher) -> None:
    target, stack = rancher.target("nginx-service"), rancher.stack()
    slow(rancher, "registering")
    answer = rancher.api("POST", "loadbalancerservices", {
        "name": "default-rancherlb-web", "stackId": stack, "scale": 1, "startOnCreate": True,
        "externalId": "kubernetes-ingress-lbs://default-rancherlb-web",
        "launchConfig": {"imageUuid": IMAGE, "ports": ["80:80"], "labels": {}},
        "lbConfig": {"portRules": [rule(target, hostname="foo.bar.com", path="/foo", priority=1)]}})
    assert answer.status == 201
    body = answer.json
    assert set(body["actions"]) == {"remove"} | LINK_ACTIONS
    subset(body, {
        "type": "loadBalancerService", "baseType": "service", "name": "default-rancherlb-web",
        "state": "registering", "kind": "loadBalancerService", "accountId": "1a5", "stackId": stack,
        "description": None, "externalId": "kubernetes-ingress-lbs://default-rancherlb-web", "scale": 1,
        "currentScale": None, "scalePolicy": None, "assignServiceIpAddress": False, "startOnCreate": True,
        "retainIp": None, "system": False, "vip": None, "fqdn": None, "healthState": "healthy",
        "instanceIds": None,
        "linkedServices": None, "publicEndpoints": None, "metadata": None, "selectorLink": None,
        "upgrade": None,
        "removed": None, "transitioning": "yes", "transitioningMessage": "In Progress",
        "transitioningProgress": None})
    assert body["launchConfig"] == {
        "type": "launchConfig", "kind": "container", "imageUuid": IMAGE, "ports": ["80:80"],
        "labels": {"io.rancher.container.create_agent": "true",
                   "io.rancher.container.agent.role": "environmentAdmin,agent",
                   "io.rancher.container.agent_service.drain_provider": "true"},
        "healthCheck": {"type": "instanceHealthCheck", "port": 42, "interval": 2000, "responseTimeout": 2000,
                        "healthyThreshold": 2, "unhealthyThreshold": 3, "initializingTimeout": 60000,
                        "reinitializingTimeout": 60000, "name": None, "recreateOnQuorumStrategyConfig": None,
                        "requestLine": None, "strategy": None},
        "networkMode": "managed",
        "startOnCreate": True, "instanceTriggeredStop": "stop", "vcpu": 1, "version": "0",
        "drainTimeoutMs": 0,
        "privileged": False, "publishAllPorts": False, "readOnly": False, "runInit": False,
        "stdinOpen": False,
        "tty": False, "system": False}
    assert body["lbConfig"] == {"type": "lbConfig", "portRules": [{
        "type": "portRule", "sourcePort": 80, "protocol": "http", "hostname": "foo.bar.com", "path": "/foo",
        "serviceId": target, "targetPort": 8080, "priority": 1}]}


def test_e6_ports_take_their_normal_form(rancher: Rancher) -> None:
    made = rancher.make("a", [rule(rancher.target())], ports=["80", "8443:443"]).json
    assert made["launchConfig"]["ports"] == ["80", "8443:443"]
    assert rancher.get(made["id"])["launchConfig"]["ports"] == ["80:80/tcp", "8443:443/tcp"]


def test_e7_activate(rancher: Rancher) -> None:
    made = rancher.make("a", [rule(rancher.target())], startOnCreate=False).json
    row = rancher.get(made["id"])
    subset(row, {"state": "inactive", "transitioning": "no"})
    assert set(row["actions"]) == {"activate", "update", "remove", "upgrade"} | LINK_ACTIONS
    slow(rancher, "activating")
    answer = rancher.api("POST", f"loadbalancerservices/{made['id']}/?action=activate")
    assert answer.status == 202
    subset(answer.json, {"state": "activating", "transitioning": "yes"})
    assert set(answer.json["actions"]) == {"update", "deactivate", "remove", "upgrade"} | LINK_ACTIONS
    error(rancher.api("POST", f"loadbalancerservices/{made['id']}?action=activate"), 422,
          "ActionNotAvailable",
          "action")
    error(rancher.api("POST", f"loadbalancerservices/{made['id']}?action=nonsense"), 422, "InvalidAction",
          "action")


def test_e8_active(rancher: Rancher) -> None:
    target = rancher.target("nginx-service")
    made = rancher.make("web", [rule(target)]).json
    row = rancher.get(made["id"])
    assert set(row["actions"]) == {"update", "deactivate", "remove", "upgrade", "restart"} | LINK_ACTIONS
    instance = row["instanceIds"][0]
    subset(row, {
        "state": "active", "scale": 1, "currentScale": 1, "instanceIds": [instance], "healthState": "healthy",
        "linkedServices": {"default/nginx-service": target}, "transitioning": "no",
        "transitioningMessage": None,
        "publicEndpoints": [{"type": "publicEndpoint", "ipAddress": f"{rancher.info['network']}.1.1",
                             "port": 80,
                             "serviceId": made["id"], "hostId": "1h1", "instanceId": instance}]})


def test_e9_change_rules_scale_ports(rancher: Rancher) -> None:
    target = rancher.target()
    made = rancher.make("web", [rule(target)]).json
    answer = rancher.put(made["id"], {"lbConfig": {"portRules": [rule(target, path="/x")]}})
    assert answer.status == 200
    subset(answer.json, {"state": "updating-active", "transitioning": "yes"})
    rancher.settle()
    assert rancher.get(made["id"])["lbConfig"]["portRules"][0]["path"] == "/x"
    subset(rancher.put(made["id"], {"scale": 2}).json, {"state": "updating-active"})
    rancher.settle()
    row = rancher.get(made["id"])
    subset(row, {"state": "active", "currentScale": 2})
    assert len(row["instanceIds"]) == 2 and {e["hostId"] for e in row["publicEndpoints"]} == {"1h1", "1h2"}
    rancher.put(made["id"], {"launchConfig": {**row["launchConfig"], "ports": ["80:80/tcp", "443:443/tcp"]}})
    rancher.settle()
    after = rancher.get(made["id"])
    assert len(after["publicEndpoints"]) == 4 and after["instanceIds"] == row["instanceIds"]
    error(rancher.put(made["id"], {"lbConfig": {"portRules": [{"sourcePort": 80, "serviceId": target}]}}),
          422,
          "MissingRequired", "targetPort")


def test_e10_port_conflict(rancher: Rancher) -> None:
    target = rancher.target()
    rancher.control("deactivate-host", host="1h2")
    first = rancher.make("first", [rule(target)]).json
    made = rancher.make("second", [rule(target)]).json
    row = rancher.wait_for(lambda: next((r for r in [rancher.get(made["id"])]
                                         if r["transitioning"] == "error"), None))
    subset(row, {"state": "activating", "publicEndpoints": None, "currentScale": None})
    assert set(row["actions"]) == {"update", "deactivate", "remove", "upgrade"} | LINK_ACTIONS
    assert row["transitioningMessage"].endswith(
        "in state [error]: Allocation failed: host needs ports 80/tcp available")
    assert row["transitioningMessage"].startswith("Failed to allocate instance [container:1i")
    rancher.api("DELETE", f"loadbalancerservices/{first['id']}")
    row = rancher.wait_for(lambda: next((r for r in [rancher.get(made["id"])] if r["state"] == "active"),
                                        None))
    subset(row, {"transitioning": "no", "transitioningMessage": None, "currentScale": 1})


def test_e11_certificate(rancher: Rancher, foo_pair: Pair, other_pair: Pair) -> None:
    slow(rancher, "certificate.activating")
    answer = rancher.api("POST", "certificates", {"name": "default-web-tls", "cert": foo_pair.cert,
                                                  "key": foo_pair.key})
    assert answer.status == 201
    body = answer.json
    subset(body, {
        "type": "certificate", "baseType": "certificate", "name": "default-web-tls", "description": None,
        "state": "activating", "accountId": "1a5", "cert": foo_pair.cert, "key": foo_pair.key,
        "certChain": None,
        "CN": "foo.bar.com", "issuer": "CN=foo.bar.com", "issuedAt": "Tue Jan 02 03:04:05 UTC 2024",
        "algorithm": "SHA256WITHRSA", "version": "3", "serialNumber": "1234567", "keySize": 2048,
        "subjectAlternativeNames": ["foo.bar.com"], "removed": None, "transitioning": "yes"})
    assert set(body["actions"]) == {"remove"} and len(body["certFingerprint"]) == 59
    assert rancher.get(body["id"], "certificates")["key"] is None
    rancher.control("configure", step_delays={})
    rancher.settle()
    update = rancher.put(body["id"], {"cert": other_pair.cert, "key": other_pair.key}, "certificates")
    assert update.status == 200
    subset(update.json, {"state": "updating-active", "CN": "other.example.com", "keySize": None, "key": None,
                         "algorithm": "SHA256WITHECDSA"})
    rancher.settle()
    rancher.make("default-rancherlb-web", lb={"defaultCertificateId": body["id"]})
    rancher.make("zzz", lb={"defaultCertificateId": body["id"]}, ports=["81:81"])
    message = "Certificate is in use by load balancer services: default-rancherlb-web,zzz"
    error(rancher.api("DELETE", f"certificates/{body['id']}"), 405, "InvalidAction", message=message)
    error(rancher.api("POST", f"certificates/{body['id']}?action=remove"), 405, "InvalidAction",
          message=message)


def test_e12_remove(rancher: Rancher) -> None:
    target, stack = rancher.target(), rancher.stack()
    made = rancher.make("a", [rule(target)]).json
    other = rancher.make("b", [rule(target)], ports=["81:81"]).json
    slow(rancher, "removing")
    answer = rancher.api("DELETE", f"loadbalancerservices/{made['id']}")
    assert answer.status == 200
    subset(answer.json, {"state": "removing", "removed": None})
    answer = rancher.api("POST", f"loadbalancerservices/{other['id']}/?action=remove")
    assert answer.status == 202 and answer.json["state"] == "removing"
    listed = rancher.api("GET", f"loadbalancerservices?stackId={stack}&removed_null=1").json["data"]
    assert [r["id"] for r in listed] == [made["id"], other["id"]]
    error(rancher.make("a", [rule(target)], settle=False), 422, "NotUnique", "name")
    rancher.control("configure", step_delays={})
    rancher.settle()
    row = rancher.get(made["id"])
    subset(row, {"state": "removed"})
    assert row["removed"] and isinstance(row["removedTS"], int) and set(row["actions"]) == LINK_ACTIONS
    assert rancher.api("GET", "loadbalancerservices").json["data"] == []
    # A repetition is harmless.
    assert rancher.api("DELETE", f"loadbalancerservices/{made['id']}").status == 200
    error(rancher.api("GET", "loadbalancerservices/1s99999"), 404, "Not Found", message="Not Found")
    rancher.control("configure", purge_after=0)
    rancher.wait_for(lambda: rancher.api("GET", f"loadbalancerservices/{made['id']}").status == 404)


def test_e13_paging(rancher: Rancher) -> None:
    rancher.control("seed", count=5)
    stack = rancher.stack()
    path, pages = f"loadbalancerservices?stackId={stack}&removed_null=1&limit=2", []
    while path:
        body = rancher.api("GET", path).json
        pages.append(body)
        path = (body["pagination"]["next"] or "").removeprefix(rancher.base)
    assert pages[0]["pagination"] == {
        "first": None, "previous": None, "limit": 2, "total": None, "partial": True,
        "next": f"{rancher.project_url}/loadbalancerservices?stackId={stack}&removed_null=1&limit=2"
                "&marker=m2"}
    assert pages[-1]["pagination"]["next"] is None and pages[-1]["pagination"]["partial"] is False
    assert [len(p["data"]) for p in pages] == [2, 2, 1]
    assert len({r["id"] for p in pages for r in p["data"]}) == 5


def test_e14_event(rancher: Rancher) -> None:
    target = rancher.target()

    async def listen() -> tuple[dict, dict]:
        url = f"{rancher.project_url}/subscribe?eventNames=resource.change"
        auth = aiohttp.BasicAuth(rancher.access_key, rancher.secret_key)
        await asyncio.to_thread(rancher.control, "configure", ping_interval=0.2)
        async with aiohttp.ClientSession(auth=auth) as session, session.ws_connect(url) as socket:
            ping = json.loads((await socket.receive(5)).data)
            made = (await asyncio.to_thread(rancher.make, "web", [rule(target)])).json
            while True:
                event = json.loads((await socket.receive(5)).data)
                if event.get("resourceId") == made["id"] and event["data"]["resource"]["state"] == "active":
                    return ping, event

    ping, event = asyncio.run(listen())
    subset(ping, {"name": "ping", "resourceId": None, "resourceType": None, "data": {"options": {}, "resources": []}})
    assert ping["id"] and isinstance(ping["time"], int)
    subset(event, {"name": "resource.change", "resourceType": "loadBalancerService"})
    assert set(event) == set(ping) == {"id", "name", "resourceId", "resourceType", "data", "time"}
    assert event["data"]["resource"] == rancher.get(event["resourceId"])
