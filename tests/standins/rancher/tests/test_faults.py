# SPDX-License-Identifier: Apache-2.0
"""Every fault, seen by an ordinary client; scopes and counts; what the counters and the log say."""

from __future__ import annotations

import http.client
import json
import threading
import time

import pytest

from standins.rancher.client import ControlError

from .conftest import Rancher, rule


def test_errors_by_status(rancher: Rancher) -> None:
    for status, code in ((409, "Conflict"), (500, "Internal Server Error"), (401, "Unauthorized"),
                         (503, "ServerError")):
        rancher.fault("error", status=status, count=1)
        answer = rancher.api("GET", "stacks")
        assert (answer.status, answer.json["code"]) == (status, code)
        assert rancher.api("GET", "stacks").status == 200
    rancher.fault("error", status=422, code="NotUnique", fieldName="name", message="m", count=1)
    body = rancher.api("GET", "stacks").json
    assert (body["code"], body["fieldName"], body["message"]) == ("NotUnique", "name", "m")
    rancher.fault("error", status=502, body="<h1>Bad gateway</h1>", headers={"Retry-After": "7"}, count=1)
    answer = rancher.api("GET", "stacks")
    assert (answer.status, answer.text, answer.headers["Retry-After"]) == (502, "<h1>Bad gateway</h1>", "7")


def test_broken_connections(rancher: Rancher) -> None:
    for fault, error in (("reset", ConnectionResetError), ("close", http.client.RemoteDisconnected)):
        number = rancher.fault(fault)
        for _ in range(2):
            with pytest.raises(error):
                rancher.api("GET", "stacks")
        rancher.clear(number)
        assert rancher.api("GET", "stacks").status == 200


def test_slow_and_trickling(rancher: Rancher) -> None:
    for fault in ("slow", "trickle"):
        rancher.fault(fault, delay=0.3, count=1)
        begin = time.monotonic()
        assert rancher.api("GET", "settings").json["data"]
        assert time.monotonic() - begin >= 0.25
        with pytest.raises(TimeoutError):
            rancher.fault(fault, delay=2.0, count=1)
            # A client that waits less for each byte than the pieces are apart.
            rancher.api("GET", "settings", timeout=0.05)


def test_garbage_and_wrong_json(rancher: Rancher) -> None:
    rancher.fault("garbage", count=1)
    answer = rancher.api("GET", "stacks")
    assert answer.status == 200
    with pytest.raises(ValueError):
        json.loads(answer.text)
    rancher.fault("garbage", body="", count=1)
    assert rancher.api("GET", "stacks").text == ""
    for body in ({"data": None}, [], 7, {"data": [{"id": 1, "name": None}]}):
        rancher.fault("json", body=body, count=1)
        assert rancher.api("GET", "stacks").json == body


def test_truncated(rancher: Rancher) -> None:
    rancher.fault("truncate", count=1)
    with pytest.raises(http.client.IncompleteRead):
        rancher.api("GET", "settings")


def test_hanging(rancher: Rancher) -> None:
    number = rancher.fault("hang", count=1)
    with pytest.raises(TimeoutError):
        rancher.api("GET", "stacks", timeout=0.2)
    assert rancher.api("GET", "stacks").status == 200, "one request was to hang, others go on"
    rancher.clear(number)


def test_an_answer_lost_after_the_work_was_done(rancher: Rancher) -> None:
    for fault, name in (("reset", "a"), ("error", "b"), ("garbage", "c")):
        rancher.fault(fault, when="after", method="POST", count=1)
        try:
            rancher.api("POST", "stacks", {"name": name})
        except ConnectionResetError:
            pass
    assert [s["name"] for s in rancher.rows("stack")] == ["a", "b", "c"]
    rancher.fault("reset", method="POST", count=1)
    with pytest.raises(ConnectionResetError):
        rancher.api("POST", "stacks", {"name": "d"})
    assert len(rancher.rows("stack")) == 3, "before: nothing is done"


def test_refusing_one_balancer(rancher: Rancher) -> None:
    target = rancher.target()
    rancher.fault("error", status=422, code="InvalidOption", name="bad", type="loadBalancerService",
                  method=["POST", "PUT"])
    assert rancher.make("bad", [rule(target)]).status == 422
    good = rancher.make("good", [rule(target)])
    assert good.status == 201
    rancher.fault("error", status=409, id=good.json["id"], method="PUT")
    assert rancher.put(good.json["id"], {"scale": 2}).status == 409
    assert rancher.get(good.json["id"])["scale"] == 1


def test_scopes(rancher: Rancher) -> None:
    stack = rancher.stack()
    rancher.fault("error", action="remove")
    assert rancher.api("POST", f"stacks/{stack}?action=remove").status == 500
    rancher.fault("error", path="/settings/lb")
    assert rancher.api("GET", "settings/lb.instance.image").status == 500
    assert rancher.api("GET", "settings/cattle.version").status == 200
    rancher.fault("error", type="stack", skip=1, count=1)
    assert [rancher.api("GET", "stacks").status for _ in range(3)] == [200, 500, 200]
    rancher.fault("error", type="stack")
    rancher.clear()
    assert rancher.api("GET", "stacks").status == 200


def test_unknown_faults_are_refused(rancher: Rancher) -> None:
    for spec in ({"fault": "nonsense"}, {"fault": "error", "staus": 1}, {}):
        with pytest.raises(ControlError):
            rancher.control("fault", **spec)
    with pytest.raises(ControlError, match="no such setting"):
        rancher.control("configure", nonsense=1)
    with pytest.raises(ControlError, match="float is wanted"):
        rancher.control("configure", step_delay="x")
    with pytest.raises(ControlError, match="no such command"):
        rancher.control("nonsense")


def test_the_api_goes_and_comes_back(rancher: Rancher) -> None:
    rancher.control("api", state="down")
    with pytest.raises(ConnectionRefusedError):
        rancher.api("GET", "stacks")
    rancher.control("api", state="up")
    assert rancher.api("GET", "stacks").status == 200
    rancher.control("api", state="black-hole")
    with pytest.raises(TimeoutError):
        rancher.api("POST", "stacks", {"name": "lost"}, timeout=0.2)
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(rancher.api("GET", "stacks").status))
    waiting.start()
    rancher.control("api", state="up")
    waiting.join(10)
    assert answers == [200], "who has waited is answered"
    assert rancher.rows("stack") == [], "what nobody waits for is lost"


def test_kept_connections_are_cut_when_the_api_goes(rancher: Rancher) -> None:
    host, port = rancher.base.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", "/v2-beta")
    connection.getresponse().read()
    rancher.control("api", state="down")
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        connection.request("GET", "/v2-beta")
        connection.getresponse()
    connection.close()


def collect(rancher: Rancher) -> list[str]:
    path, names = "loadbalancerservices?limit=2", []
    while path:
        body = rancher.api("GET", path).json
        names += [r["name"][-1] for r in body["data"]]
        path = (body["pagination"]["next"] or "").removeprefix(rancher.base)
    return names


def test_markers_that_drift(rancher: Rancher) -> None:
    rancher.control("seed", count=6)
    assert collect(rancher) == list("123456")
    for shift, wanted in ((1, "12456"), (-1, "1223456")):
        number = rancher.fault("drift", shift=shift, type="loadBalancerService")
        assert collect(rancher) == list(wanted)
        rancher.clear(number)
    rancher.fault("drop-rows", rows=2, count=1)
    assert len(rancher.api("GET", "loadbalancerservices").json["data"]) == 4


def test_a_stack_that_is_in_the_way_or_taken_away(rancher: Rancher) -> None:
    rancher.control("add-stack", name="kubernetes-ingress-lbs", external_id="catalog://somebody-else")
    body = {"name": "kubernetes-ingress-lbs", "externalId": "kubernetes-ingress-lbs://"}
    assert rancher.api("POST", "stacks", body).json["code"] == "NotUnique"
    assert rancher.api("GET", "stacks?externalId=kubernetes-ingress-lbs%3A%2F%2F").json["data"] == []
    stack = rancher.rows("stack")[0]["id"]
    rancher.control("remove-row", id=stack)
    rancher.settle()
    assert rancher.api("POST", "stacks", body).status == 201


def test_a_stale_error_mark(rancher: Rancher) -> None:
    made = rancher.make("a").json
    rancher.control("set-fields", id=made["id"],
                    fields={"transitioning": "error", "transitioningMessage": "old"})
    row = rancher.get(made["id"])
    assert (row["state"], row["transitioning"], row["transitioningMessage"]) == ("active", "error", "old")
    rancher.put(made["id"], {"lbConfig": {"portRules": []}})
    rancher.settle()
    assert rancher.get(made["id"])["transitioning"] == "no"


def test_a_foreign_balancer_and_a_vanished_row(rancher: Rancher) -> None:
    rancher.control("seed-balancers", items=[{"balancerName": "theirs", "externalId": None, "rules": []}])
    row = rancher.balancer("theirs")
    assert row is not None and row["externalId"] is None and row["stackId"] == rancher.stack()
    rancher.control("forget-row", id=row["id"])
    assert rancher.api("GET", f"loadbalancerservices/{row['id']}").status == 404


def test_a_missing_image_setting(rancher: Rancher) -> None:
    rancher.control("set-setting", name="lb.instance.image", value=None)
    assert rancher.api("GET", "settings/lb.instance.image").status == 404
    rancher.control("set-setting", name="lb.instance.image", value="")
    assert rancher.api("GET", "settings/lb.instance.image").json["value"] == ""


def test_lost_overlapping_updates(rancher: Rancher) -> None:
    made = rancher.make("web").json
    rancher.control("configure", step_delays={"updating-active": 30.0}, lose_overlapping_updates=True)
    rancher.put(made["id"], {"name": "web2"})
    rancher.put(made["id"], {"name": "web3"})
    rancher.control("configure", step_delays={})
    rancher.settle()
    row = rancher.get(made["id"])
    assert (row["name"], row["state"]) == ("web3", "active"), "stored in any case"


def test_counters_and_log(rancher: Rancher) -> None:
    target = rancher.target()
    rancher.control("reset-counters")
    made = rancher.make("web", [rule(target)]).json
    rancher.put(made["id"], {"scale": 2})
    rancher.put(made["id"], {"scale": 2})
    rancher.put(made["id"], {"scale": -1})
    rancher.api("GET", "stacks")
    rancher.fault("reset", count=1)
    with pytest.raises(ConnectionResetError):
        rancher.api("GET", "stacks")
    rancher.settle()
    rancher.api("DELETE", f"loadbalancerservices/{made['id']}")
    rancher.api("DELETE", f"loadbalancerservices/{made['id']}")
    rancher.settle()
    rancher.make("web", [rule(target)])
    counters = rancher.counters()
    assert counters["requests"]["PUT loadBalancerService"] == 3 and counters["requests"]["GET stack"] == 2
    assert counters["writes"] == {"changed": 5, "noop": 2, "failed": 1}
    assert counters["puts"] == {"web": 3}
    assert (counters["created"], counters["removed"]) == ({"web": 2}, {"web": 1})
    assert (counters["recreations"], counters["faults"]) == (1, 1)
    log = rancher.requests(method="PUT", type="loadBalancerService")
    assert [e["body"] for e in log] == [{"scale": 2}, {"scale": 2}, {"scale": -1}]
    assert [(e["changed"], e["status"]) for e in log] == [(True, 200), (False, 200), (None, 422)]
    assert log[0]["name"] == "web" and log[0]["key"] == rancher.access_key
    assert rancher.requests(since=log[-1]["number"])[0]["number"] == log[-1]["number"] + 1
    assert rancher.requests(method="GET", status=None)[-1]["fault"] == "reset"
