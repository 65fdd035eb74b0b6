# SPDX-License-Identifier: Apache-2.0
"""Services, stacks and certificates: validation, states, updates."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from .conftest import IMAGE, Pair, Rancher, rule

LINKS = {"addservicelink", "removeservicelink", "setservicelinks"}


def code(answer: Any) -> tuple:
    return (answer.status, answer.json["code"], answer.json.get("fieldName"))


# Validation

NAMES = [
    ("", "MinLengthExceeded"), ("a" * 64, "MaxLengthExceeded"), ("-a", "InvalidCharacters"),
    ("a-", "InvalidCharacters"), ("a--b", "InvalidCharacters"), ("a.b", "InvalidCharacters"),
    ("a_b", "InvalidCharacters"), ("ä", "InvalidCharacters"), (None, "MissingRequired"),
]


def test_names(rancher: Rancher) -> None:
    for name, wanted in NAMES:
        assert code(rancher.make(name)) == (422, wanted, "name"), name
    assert rancher.make("a" * 63).status == 201
    for name, wanted in NAMES[:-1]:
        if name != "a--b":  # which only a service may not be called
            assert code(rancher.api("POST", "stacks", {"name": name})) == (422, wanted, "name"), name
    assert rancher.api("POST", "stacks", {"name": "a--b"}).status == 201
    assert code(rancher.api("POST", "stacks", {"name": None})) == (500, "Internal Server Error", None)


def test_names_are_unique_in_the_stack_whatever_the_case_and_kind(rancher: Rancher) -> None:
    made = rancher.make("Web").json
    assert code(rancher.make("wEB")) == (422, "NotUnique", "name")
    external = {"name": "WEB", "stackId": made["stackId"], "hostname": "x.example.com"}
    assert code(rancher.api("POST", "externalservices", external)) == (422, "NotUnique", "name")
    other = rancher.make("other", ports=["81:81"]).json
    assert code(rancher.put(other["id"], {"name": "web"})) == (422, "NotUnique", "name")
    assert rancher.put(made["id"], {"name": "WEB"}).status == 200, "its own name"
    elsewhere = rancher.stack("elsewhere")
    assert rancher.api("POST", "externalservices", {**external, "stackId": elsewhere}).status == 201


RULES: list[tuple[dict[str, Any], str, str]] = [
    ({"sourcePort": 80}, "MissingRequired", "serviceId"),
    ({"sourcePort": 80, "serviceId": "T"}, "MissingRequired", "targetPort"),
    ({"sourcePort": 80, "serviceId": "T", "targetPort": 1, "selector": "a=b"}, "InvalidOption",
     "Can't specify both selector and serviceId"),
    ({"sourcePort": 80, "selector": "a=b", "region": "r"}, "MissingRequired", "environment"),
    ({"serviceId": "T", "targetPort": 1}, "MissingRequired", "sourcePort"),
    ({"sourcePort": 0, "serviceId": "T", "targetPort": 1}, "MinLimitExceeded", "sourcePort"),
    ({"sourcePort": 65536, "serviceId": "T", "targetPort": 1}, "MaxLimitExceeded", "sourcePort"),
    ({"sourcePort": 42, "serviceId": "T", "targetPort": 1}, "InvalidOption",
     "Port 42 is reserved for service health check"),
    ({"sourcePort": "x", "serviceId": "T", "targetPort": 1}, "InvalidFormat", "sourcePort"),
    ({"sourcePort": 80, "serviceId": "T", "targetPort": 0}, "MinLimitExceeded", "targetPort"),
    ({"sourcePort": 80, "serviceId": "1s999", "targetPort": 1}, "InvalidReference", "serviceId"),
    ({"sourcePort": 80, "serviceId": "", "targetPort": 1}, "InvalidReference", "serviceId"),
    ({"sourcePort": 80, "serviceId": "T", "targetPort": 1, "protocol": "spdy"}, "InvalidOption", "protocol"),
    ({"sourcePort": 80, "serviceId": "T", "targetPort": 1, "priority": 0}, "MinLimitExceeded", "priority"),
    ({"sourcePort": 80, "serviceId": "T", "targetPort": 1, "weight": 257}, "MaxLimitExceeded", "weight"),
]


def test_port_rules(rancher: Rancher) -> None:
    target = rancher.target()
    made = rancher.make("web", [rule(target)]).json
    for given, wanted, field in RULES:
        filled = {k: target if v == "T" else v for k, v in given.items()}
        assert code(rancher.make("x", [filled])) == (422, wanted, field), given
        assert code(rancher.put(made["id"], {"lbConfig": {"portRules": [filled]}})) == (422, wanted,
                                                                                        field), given


LB_CONFIGS: list[tuple[Any, str, str]] = [
    ({"portRules": None}, "NotNullable", "portRules"),
    ({"portRules": [], "defaultCertificateId": ""}, "InvalidReference", "defaultCertificateId"),
    ({"portRules": [], "defaultCertificateId": "1c9"}, "InvalidReference", "defaultCertificateId"),
    ({"portRules": [], "certificateIds": ["1c9"]}, "InvalidReference", "certificateIds"),
    ({"portRules": [], "stickinessPolicy": {"cookie": None}}, "NotNullable", "cookie"),
    ({"portRules": [], "stickinessPolicy": {"mode": "magic"}}, "InvalidOption", "mode"),
    ({"portRules": {}}, "MissingRequired", "sourcePort"), ({"portRules": "x"}, "MissingRequired", "sourcePort"),
]


def test_lb_config(rancher: Rancher) -> None:
    stack = rancher.stack()
    body = {"name": "x", "stackId": stack, "launchConfig": {"imageUuid": IMAGE}}
    for config, wanted, field in LB_CONFIGS:
        assert code(rancher.api("POST", "loadbalancerservices", {**body, "lbConfig": config})) == \
            (422, wanted, field), config
    assert code(rancher.api("POST", "loadbalancerservices", body)) == (422, "MissingRequired", "lbConfig")
    for number, (config, stored) in enumerate((({}, {"type": "lbConfig"}), ("x", {"type": "lbConfig"}), ([], {"type": "lbConfig"}), (None, None))):
        made = rancher.api("POST", "loadbalancerservices", {**body, "name": f"x{number}", "lbConfig": config}).json
        assert made["lbConfig"] == stored
    sticky = rancher.make("sticky", lb={"stickinessPolicy": {"cookie": "c"}}, ports=[]).json
    assert sticky["lbConfig"]["stickinessPolicy"] == {
        "type": "loadBalancerCookieStickinessPolicy", "cookie": "c", "mode": "insert", "indirect": False,
        "nocache": False, "postonly": False}


PORTS = [
    ("x", "PortWrongFormat"), ("80:80:80:80", "PortWrongFormat"), ("0:80", "PortInvalidPublicPort"),
    ("80:70000", "PortInvalidPrivatePort"), ("80/sctp", "PortInvalidProtocol"),
    ("1.2.3.999:80:80", "PortWrongFormat"),
    (":80", "PortWrongFormat"),
]


def test_launch_config(rancher: Rancher) -> None:
    stack = rancher.stack()
    for text, wanted in PORTS:
        assert code(rancher.make("x", ports=[text])) == (422, wanted, None), text
    body = {"name": "x", "stackId": stack, "lbConfig": {}}
    assert code(rancher.api("POST", "loadbalancerservices", body)) == (422, "MissingRequired", "launchConfig")
    answer = rancher.api("POST", "loadbalancerservices", {**body, "launchConfig": {"imageUuid": "nonsense"}})
    assert code(answer) == (422, "InvalidReference", "imageUuid")
    for number, launch in enumerate(({"imageUuid": "docker:a b"}, {}, [])):
        answer = rancher.api("POST", "loadbalancerservices", {**body, "name": f"x{number}", "launchConfig": launch})
        assert answer.status == 201, launch
    good = rancher.make("good", ports=["127.1.2.3:80:81/tcp", "53:53/udp"], launchName="dropped").json
    assert rancher.get(good["id"])["launchConfig"]["ports"] == ["127.1.2.3:80:81/tcp", "53:53/udp"]


def test_scale_and_external_id(rancher: Rancher) -> None:
    assert code(rancher.make("x", scale=-1)) == (422, "MinLimitExceeded", "scale")
    assert code(rancher.make("x", externalId="e" * 256)) == (422, "MaxLengthExceeded", "externalId")
    made = rancher.make("x", externalId="one", scale=None).json
    assert made["scale"] == 1, "null for a field with a default is the default"
    rancher.put(made["id"], {"externalId": "two", "nonsense": 1, "state": "removed", "fqdn": "x"})
    row = rancher.get(made["id"])
    assert (row["externalId"], row["state"], row["fqdn"]) == ("one", "active", None)


def test_stack_states(rancher: Rancher) -> None:
    rancher.control("configure", step_delays={"stack.removing": 30.0})
    stack = rancher.stack()
    rancher.api("DELETE", f"stacks/{stack}")
    body = {"name": "x", "stackId": stack, "launchConfig": {"imageUuid": IMAGE}, "lbConfig": {}}
    assert code(rancher.api("POST", "loadbalancerservices", body)) == (422, "InvalidState", "stackId")
    system = rancher.control("add-stack", name="system", external_id=None, system=True)["id"]
    answer = rancher.api("POST", "loadbalancerservices", {**body, "stackId": system})
    assert answer.status == 403 and "system stack" in answer.json["message"]


def test_services_of_system_stacks_show_no_actions(rancher: Rancher) -> None:
    made = rancher.make("web").json
    rancher.control("set-fields", id=made["stackId"], fields={"system": True})
    rancher.control("set-fields", id=made["id"], fields={"system": True})
    assert rancher.get(made["id"])["actions"] == {}
    assert rancher.put(made["id"], {"scale": 2}).status == 403


def test_deleting_a_stack_takes_its_services(rancher: Rancher) -> None:
    made = rancher.make("web").json
    rancher.api("DELETE", f"stacks/{made['stackId']}")
    rancher.settle()
    assert rancher.get(made["id"])["state"] == "removed"
    assert rancher.get(made["stackId"], "stacks")["state"] == "removed"
    assert [r for r in rancher.rows("container")] == []


def test_stack_error_state(rancher: Rancher) -> None:
    rancher.control("configure", step_delays={"stack.activating": 30.0})
    stack = rancher.api("POST", "stacks", {"name": "a"}).json
    assert rancher.api("POST", f"stacks/{stack['id']}?action=error").status == 202
    rancher.control("configure", step_delays={})
    rancher.settle()
    assert rancher.get(stack["id"], "stacks")["state"] == "error"


# Added and lost: labels and health check


def test_labels_depend_on_the_image(rancher: Rancher) -> None:
    stack = rancher.stack()

    def labels(name: str, image: str, sent: dict[str, str]) -> dict[str, str]:
        body = {"name": name, "stackId": stack, "lbConfig": {},
                "launchConfig": {"imageUuid": image, "labels": sent}}
        return rancher.api("POST", "loadbalancerservices", body).json["launchConfig"]["labels"]

    role, create = "io.rancher.container.agent.role", "io.rancher.container.create_agent"
    assert labels("old", "docker:rancher/lb-service-haproxy:v0.7.9", {}) == {role: "environmentAdmin",
                                                                             create: "true"}
    assert labels("own", "docker:someone/else:1", {role: "agent", "x": "y"}) == {role: "agent", "x": "y"}
    assert labels("new", "docker:rancher/lb-service-haproxy:v0.7.12", {role: "system"})[role] == \
        "environmentAdmin,agent"


def test_careless_put_loses_what_the_server_added(rancher: Rancher) -> None:
    made = rancher.make("web").json
    answer = rancher.put(made["id"], {"launchConfig": {"imageUuid": IMAGE, "ports": ["80:80"]}}).json
    assert "labels" not in answer["launchConfig"] and "healthCheck" not in answer["launchConfig"]


def test_lb_config_is_replaced_whole(rancher: Rancher, foo_pair: Pair) -> None:
    target = rancher.target()
    certificate = rancher.api("POST", "certificates",
                              {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}).json
    made = rancher.make("web", [rule(target)],
                        lb={"defaultCertificateId": certificate["id"], "config": "x"}).json
    rancher.put(made["id"], {"lbConfig": {"portRules": [rule(target)]}})
    config = rancher.get(made["id"])["lbConfig"]
    assert set(config) == {"type", "portRules"}


def test_switch_to_global_is_refused(rancher: Rancher) -> None:
    made = rancher.make("web").json
    launch = rancher.get(made["id"])["launchConfig"]
    launch["labels"]["io.rancher.scheduler.global"] = "true"
    answer = rancher.put(made["id"], {"launchConfig": launch})
    assert (answer.status, answer.json["code"]) == (422, "InvalidOption")
    assert "global" in answer.json["fieldName"]


# States


def test_update_out_of_season(rancher: Rancher) -> None:
    made = rancher.make("web", startOnCreate=False).json
    for state, status in (("requested", 409), ("registering", 409), ("deactivating", 409), ("removing", 409),
                          ("removed", 409), ("restarting", 409), ("upgraded", 200),
                          ("canceled-upgrade", 200)):
        rancher.control("set-fields", id=made["id"], fields={"state": state, "scale": 1})
        answer = rancher.put(made["id"], {"scale": 3})
        assert answer.status == status, state
        assert rancher.rows("loadBalancerService")[0]["scale"] == (3 if status == 200 else 1), "409 stores nothing"
        assert rancher.rows("loadBalancerService")[0]["state"] == state
        rancher.control("set-fields", id=made["id"], fields={"state": state, "description": None})
        assert rancher.put(made["id"], {"description": "x"}).status == 200, "no process is needed for that"


ACTIONS = {
    "requested": "create remove", "registering": "remove", "inactive": "activate update remove upgrade",
    "activating": "update deactivate remove upgrade", "active": "update deactivate remove upgrade restart",
    "updating-inactive": "deactivate remove", "updating-active": "update deactivate remove upgrade",
    "deactivating": "remove", "upgrading": "update remove cancelupgrade rollback",
    "upgraded": "rollback finishupgrade remove", "removing": "", "removed": "",
}


def test_actions_by_state(rancher: Rancher) -> None:
    made = rancher.make("web", startOnCreate=False).json
    for state, wanted in ACTIONS.items():
        rancher.control("set-fields", id=made["id"], fields={"state": state})
        shown = set(rancher.get(made["id"])["actions"])
        assert shown == set(wanted.split()) | LINKS, state
        for action in {"activate", "deactivate", "restart", "purge"} - shown:
            answer = rancher.api("POST", f"loadbalancerservices/{made['id']}?action={action}")
            refusal = "InvalidAction" if action == "purge" else "ActionNotAvailable"
            assert code(answer) == (422, refusal, "action"), (state, action)


def test_equal_parts_schedule_an_update_all_the_same(rancher: Rancher) -> None:
    made = rancher.make("web", [rule(rancher.target())]).json
    row = rancher.get(made["id"])
    for name in ("scale", "lbConfig", "launchConfig"):
        assert rancher.put(made["id"], {name: row[name]}).json["state"] == "updating-active", name
        rancher.settle()
    assert rancher.put(made["id"], {"description": row["description"]}).json["state"] == "active"
    counters = rancher.counters()
    assert counters["writes"]["noop"] == 4 and counters["puts"] == {"web": 4}


def test_rules_in_place_of_a_null_configuration_are_never_carried_out(rancher: Rancher) -> None:
    made = rancher.make("web", [rule(rancher.target())]).json
    assert rancher.put(made["id"], {"lbConfig": None}).status == 200
    rancher.settle()
    assert rancher.get(made["id"])["lbConfig"] is None
    assert rancher.put(made["id"], {"lbConfig": {"portRules": [rule(rancher.target())]}}).status == 200
    rancher.settle()
    stuck = rancher.get(made["id"])
    assert (stuck["state"], stuck["transitioning"], stuck["transitioningMessage"]) == ("updating-active", "yes", "In Progress")
    assert rancher.api("DELETE", f"loadbalancerservices/{made['id']}").status == 200
    rancher.settle()
    assert rancher.balancer("web") is None


FOUR_BYTES = "a\U0001F600b"


@pytest.mark.parametrize("where", [
    {"description": FOUR_BYTES}, {"externalId": FOUR_BYTES}, {"metadata": {"a": FOUR_BYTES}}, {"lb": {"config": FOUR_BYTES}},
    {"labels": {"a": FOUR_BYTES}},
])
def test_characters_of_four_bytes_are_a_conflict(rancher: Rancher, where: dict[str, Any]) -> None:
    assert code(rancher.make("web", **where)) == (409, "Conflict", None)
    assert rancher.balancer("web") is None
    assert rancher.make("web", description="\uFFFDü").status == 201


@pytest.mark.parametrize("early, wanted", [("lost", (200, "active")), ("conflict", (409, "active")), ("done", (200, None))])
def test_a_removal_may_come_too_early(rancher: Rancher, early: str, wanted: tuple[int, str | None]) -> None:
    rancher.control("configure", early_removal=early, step_delays={"registering": 0.3})
    made = rancher.make("web", settle=False).json
    status = rancher.api("DELETE", f"loadbalancerservices/{made['id']}").status
    rancher.settle()
    row = rancher.balancer("web")
    assert (status, row["state"] if row else None) == wanted


def test_an_unknown_id_is_a_server_error_to_writers(rancher: Rancher) -> None:
    for kind, put in (("stacks", 500), ("loadbalancerservices", 500), ("certificates", 404)):
        for wrong in ("1s99", "nonsense"):
            assert rancher.api("PUT", f"{kind}/{wrong}", {}).status == put
            assert rancher.api("DELETE", f"{kind}/{wrong}").status == 500
            assert rancher.api("GET", f"{kind}/{wrong}").status == 404


def test_an_agent_sees_nothing(rancher: Rancher) -> None:
    key = rancher.control("add-key", role="agent")
    encoded = base64.b64encode(f"{key['access_key']}:{key['secret_key']}".encode()).decode()
    asked = {path: rancher.api("GET", path, headers={"Authorization": f"Basic {encoded}"}).status
             for path in ("/v2-beta", "/v2-beta/stacks", "/v2-beta/projects/1a5/stacks", "/v2-beta/settings/lb.instance.image")}
    assert list(asked.values()) == [200, 404, 403, 404]


def test_update_of_an_inactive_service_only_stores(rancher: Rancher) -> None:
    made = rancher.make("web", startOnCreate=False).json
    assert rancher.put(made["id"], {"scale": 2}).json["state"] == "updating-inactive"
    rancher.settle()
    row = rancher.get(made["id"])
    assert (row["state"], row["scale"], row["currentScale"], row["publicEndpoints"]) == ("inactive", 2, None,
                                                                                         None)


def test_deactivate_and_activate(rancher: Rancher) -> None:
    made = rancher.make("web").json
    before = rancher.get(made["id"])
    assert rancher.api("POST", f"loadbalancerservices/{made['id']}?action=deactivate").status == 202
    rancher.settle()
    row = rancher.get(made["id"])
    assert (row["state"], row["publicEndpoints"]) == ("inactive", [])
    rancher.api("POST", f"loadbalancerservices/{made['id']}?action=activate")
    rancher.settle()
    row = rancher.get(made["id"])
    assert row["state"] == "active" and row["publicEndpoints"] == before["publicEndpoints"]
    rancher.api("POST", f"loadbalancerservices/{made['id']}?action=restart")
    rancher.settle()
    assert rancher.get(made["id"])["state"] == "active"


def test_overlapping_updates_are_both_carried_out(rancher: Rancher) -> None:
    made = rancher.make("web").json
    rancher.control("configure", step_delays={"updating-active": 30.0})
    rancher.put(made["id"], {"scale": 2})
    assert rancher.put(made["id"], {"scale": 1, "name": "web2"}).status == 200
    rancher.control("configure", step_delays={})
    rancher.settle()
    row = rancher.get(made["id"])
    assert (row["name"], row["currentScale"], row["state"]) == ("web2", 1, "active")


def test_a_busy_target_holds_up_its_balancers(rancher: Rancher) -> None:
    target = rancher.target()
    rancher.control("set-fields", id=target, fields={"state": "activating"})
    made = rancher.make("web", [rule(target)], settle=False).json
    rancher.wait_for(lambda: rancher.get(made["id"])["state"] == "activating")
    rancher.control("configure", target_wait=0)
    row = rancher.wait_for(lambda: next((r for r in [rancher.get(made["id"])]
                                         if "Timeout" in (r["transitioningMessage"] or "")), None))
    assert row["transitioning"] == "yes"
    rancher.control("set-fields", id=target, fields={"state": "active"})
    rancher.wait_for(lambda: rancher.get(made["id"])["state"] == "active")


def test_upgrade_and_rollback(rancher: Rancher) -> None:
    made = rancher.make("web").json
    before = rancher.get(made["id"])
    action = f"loadbalancerservices/{made['id']}?action="
    assert code(rancher.api("POST", action + "upgrade", {})) == (422, "MissingRequired", "launchConfig")
    fresh = {"inServiceStrategy": {"launchConfig": {"imageUuid": "docker:rancher/lb-service-haproxy:v1.0.0",
                                                    "ports": ["80:80"]}}}
    assert rancher.api("POST", action + "upgrade", fresh).json["state"] == "upgrading"
    rancher.settle()
    row = rancher.get(made["id"])
    assert row["state"] == "upgraded" and set(row["actions"]) == {"rollback", "finishupgrade",
                                                                  "remove"} | LINKS
    assert row["instanceIds"] != before["instanceIds"] and "healthCheck" in row["launchConfig"]
    rancher.api("POST", action + "rollback")
    rancher.settle()
    row = rancher.get(made["id"])
    assert (row["state"], row["instanceIds"]) == ("active", before["instanceIds"])
    assert row["launchConfig"] == before["launchConfig"]
    rancher.api("POST", action + "upgrade", fresh)
    rancher.settle()
    rancher.api("POST", action + "finishupgrade")
    rancher.settle()
    row = rancher.get(made["id"])
    assert row["state"] == "active" and row["launchConfig"]["imageUuid"].endswith("v1.0.0")
    assert len(rancher.rows("container")) == 1


def test_a_removed_target_takes_its_rules_along(rancher: Rancher) -> None:
    kept, lost = rancher.target("kept"), rancher.target("lost")
    made = rancher.make("web", [rule(kept, path="/a"), rule(lost, path="/b"), rule(lost, path="/c")]).json
    assert set(rancher.get(made["id"])["linkedServices"].values()) == {kept, lost}
    rancher.control("remove-service", uid="uid-lost")
    rancher.settle()
    row = rancher.get(made["id"])
    assert row["state"] == "active" and row["linkedServices"] == {"default/kept": kept}
    assert row["lbConfig"] == {
        "type": "lbConfig", "certificateIds": None, "config": None, "defaultCertificateId": None,
        "stickinessPolicy": None, "portRules": [{
            "type": "portRule", "backendName": None, "environment": None, "hostname": None, "path": "/a",
            "priority": None, "protocol": "http", "region": None, "selector": None, "serviceId": kept,
            "sourcePort": 80, "targetPort": 8080, "weight": None}]}
    assert rancher.api("GET", f"kubernetesservices/{lost}").json["state"] == "removed"
    answer = rancher.put(made["id"], {"lbConfig": {"portRules": [rule(lost)]}})
    assert answer.status == 200, "a removed row still passes as a reference"


def test_a_service_replaced_under_its_name(rancher: Rancher) -> None:
    old = rancher.target("web")
    assert rancher.control("set-service", uid="second", name="web") == {}
    rancher.settle()
    row = rancher.control("set-service", uid="second", name="web")
    rancher.settle()
    assert row["id"] != old and rancher.get(row["id"], "services")["state"] == "active"
    assert rancher.get(old, "services")["state"] == "removed"


def test_service_links(rancher: Rancher) -> None:
    target = rancher.target()
    made = rancher.make("web").json
    action = f"loadbalancerservices/{made['id']}?action="
    answer = rancher.api("POST", action + "addservicelink",
                         {"serviceLink": {"serviceId": target, "name": "alias"}})
    assert answer.status == 200 and answer.json["linkedServices"] == {"alias": target}
    answer = rancher.api("POST", action + "removeservicelink", {"serviceLink": {"serviceId": target}})
    assert answer.json["linkedServices"] is None
    answer = rancher.api("POST", action + "setservicelinks", {"serviceLinks": [{"serviceId": target}]})
    assert answer.json["linkedServices"] == {"web": target}
    assert code(rancher.api("POST", action + "addservicelink", {"serviceLink": {"serviceId": "1s77"}})) == \
        (422, "InvalidReference", "serviceId")


# External services


def test_external_services(rancher: Rancher) -> None:
    stack = rancher.stack()
    body = {"name": "ext", "stackId": stack, "startOnCreate": True}
    assert code(rancher.api("POST", "externalservices", body)) == (422, "MissingRequired",
                                                                   "externalIpAddresses")
    both = {**body, "externalIpAddresses": ["127.0.0.9"], "hostname": "x.example.com"}
    assert code(rancher.api("POST", "externalservices", both)) == (422, "InvalidOption", "hostname")
    made = rancher.api("POST", "externalservices", {**body, "externalIpAddresses": ["127.0.0.9"]}).json
    rancher.settle()
    row = rancher.get(made["id"], "externalservices")
    assert row["state"] == "active" and set(row["actions"]) == {"update", "deactivate", "remove"}
    rancher.put(made["id"], {"externalIpAddresses": ["127.0.0.8", "127.0.0.7"]}, "externalservices")
    rancher.settle()
    assert rancher.get(made["id"], "externalservices")["externalIpAddresses"] == ["127.0.0.8", "127.0.0.7"]
    balancer = rancher.make("web", [rule(made["id"])]).json
    assert rancher.get(balancer["id"])["linkedServices"] == {"ext": made["id"]}


# Certificates


def test_certificate_rules(rancher: Rancher, foo_pair: Pair, other_pair: Pair) -> None:
    body = {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}
    for missing in ("name", "cert", "key"):
        answer = rancher.api("POST", "certificates", {k: v for k, v in body.items() if k != missing})
        assert code(answer) == (422, "MissingRequired", missing)
    for bad in ("nonsense", foo_pair.key, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"):
        assert code(rancher.api("POST", "certificates", {**body, "cert": bad})) == (422, "InvalidFormat", None)
    made = rancher.api("POST", "certificates",
                       {**body, "key": other_pair.key, "cert": foo_pair.cert + other_pair.cert})
    # The first counts, and the key is not looked at.
    assert made.status == 201 and made.json["CN"] == "foo.bar.com"
    assert code(rancher.api("POST", "certificates", {**body, "name": "C"})) == (422, "NotUnique", "name")
    rancher.settle()
    assert code(rancher.put(made.json["id"], {"key": foo_pair.key}, "certificates")) == (422, "InvalidFormat",
                                                                                         None)


def test_certificate_states(rancher: Rancher, foo_pair: Pair) -> None:
    body = {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}
    made = rancher.api("POST", "certificates", body).json
    rancher.settle()
    rancher.control("configure", step_delays={"updating-active": 30.0})
    rancher.put(made["id"], {"cert": foo_pair.cert + "\n", "key": foo_pair.key}, "certificates")
    assert rancher.api("DELETE", f"certificates/{made['id']}").status == 405
    rancher.control("configure", step_delays={})
    rancher.settle()
    assert rancher.api("DELETE", f"certificates/{made['id']}").status == 200
    rancher.settle()
    assert rancher.get(made["id"], "certificates")["state"] == "removed"
    assert rancher.api("POST", "certificates", body).status == 201


def test_only_the_default_certificate_is_protected(rancher: Rancher, foo_pair: Pair) -> None:
    made = rancher.api("POST", "certificates", {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}).json
    rancher.settle()
    lb = rancher.make("web", lb={"certificateIds": [made["id"]]}).json
    default = rancher.api("POST", "certificates",
                          {"name": "d", "cert": foo_pair.cert, "key": foo_pair.key}).json
    rancher.settle()
    rancher.put(lb["id"], {"lbConfig": {"portRules": [], "defaultCertificateId": default["id"],
                                        "certificateIds": [made["id"]]}})
    rancher.settle()
    assert rancher.api("DELETE", f"certificates/{made['id']}").status == 200
    rancher.control("configure", step_delays={"service.removing": 30.0})
    rancher.api("DELETE", f"loadbalancerservices/{lb['id']}")
    # A balancer that is being removed still counts.
    assert rancher.api("DELETE", f"certificates/{default['id']}").status == 405
    rancher.control("configure", step_delays={})
    rancher.settle()
    assert rancher.api("DELETE", f"certificates/{default['id']}").status == 200


@pytest.mark.parametrize("role,visible", [("environment", False), ("projectadmin", True)])
def test_key_is_read_back_by_project_admins_only(foo_pair: Pair, role: str, visible: bool) -> None:
    with Rancher(dataplane=False, role=role) as server:
        made = server.api("POST", "certificates",
                          {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}).json
        assert made["key"] == foo_pair.key
        assert server.get(made["id"], "certificates")["key"] == (foo_pair.key if visible else None)
        log = server.requests(method="POST", type="certificate")
        assert "PRIVATE" not in str(log) and "<masked sha256:" in log[0]["body"]["key"]
