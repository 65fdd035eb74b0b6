# SPDX-License-Identifier: Apache-2.0
"""The stand-in is asked what a real server was asked, and answers as that did. What differs on purpose is in the README's table."""

from __future__ import annotations

import base64
import collections
import http.client
import json
import urllib.parse
from typing import Any

import pytest

from lib.provider_bench import FAST
from standins.rancher.client import RancherStandin
from standins.rancher.transcript import Exchange, Ids, Transcript, differences, shape_of

AT_LEAST = 257


class Replay:
    """Sends the exchanges in their order, with the ids that the stand-in gives."""

    def __init__(self, rancher: RancherStandin, transcript: Transcript):
        self.rancher = rancher
        self.address = urllib.parse.urlsplit(rancher.url).netloc
        self.transcript = transcript
        self.ids = Ids()
        secret = f"{rancher.access_key}:{rancher.secret_key}"
        self.keys = {"environment": secret, "wrong-secret": f"{rancher.access_key}:nonsense", "wrong-key": "nobody:nonsense"}
        for role, name in (("projectadmin", "system"), ("agent", "outside")):
            key = rancher.control("add-key", role=role)
            self.keys[name] = f"{key['access_key']}:{key['secret_key']}"

    def begin(self) -> None:
        """What the recorded server held besides."""
        self.rancher.control("add-stack", name="simulated-network", external_id=None)
        for service in self.transcript.services:
            row = self.rancher.control("set-service", uid=service["externalId"], name=service["name"], vip="10.43.0.7", at_once=True)
            self.ids.learn(service["id"], row["id"])
            self.ids.learn(service["uuid"], row["uuid"])

    def run(self, exchange: Exchange, then: Exchange | None) -> list[str]:
        """Differences in words; one that begins with "status" is one of the status. `then` is the next one."""
        if not exchange.now:
            self.rancher.control("configure", step_delay=FAST["step_delay"])
            self.rancher.settle()
        if then is not None and then.now:
            # However slow this machine is, nothing is over before that one is sent.
            self.rancher.control("configure", step_delay=60.0)
        status, headers, text = self._send(exchange)
        body = shape_of(text)
        if status == 201:
            for recorded, name in zip(exchange.ids, ("id", "uuid")):
                self.ids.learn(recorded, self._member(text, name))
        if exchange.remove and status == 201:
            self.rancher.settle()
            self.rancher.api("DELETE", f"{exchange.path}/{self._member(text, 'id')}")
        if exchange.is_setup:
            return []
        if status != exchange.status:
            return [f"status: real {exchange.status}, here {status} {text[:300]}"]
        found = differences(exchange.shape, body) if exchange.shape is not None else []
        if exchange.challenge != ("WWW-Authenticate" in headers):
            found.append("WWW-Authenticate on one side only")
        return found

    @staticmethod
    def _member(text: str, name: str) -> str:
        return json.loads(text)[name]

    def _send(self, exchange: Exchange) -> tuple[int, dict[str, Any], str]:
        sent = dict(exchange.headers or {})
        if exchange.key is not None:
            sent["Authorization"] = "Basic " + base64.b64encode(self.keys[exchange.key].encode()).decode()
        body = self.ids.translate(exchange.body).encode() if exchange.body is not None else None
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(exchange.method, self.ids.translate(exchange.path), body, sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def outcome() -> dict[str, list[str]]:
    transcript = Transcript()
    found: dict[str, list[str]] = collections.defaultdict(list)
    # Containers of the recorded server's simulated hosts never became healthy.
    with RancherStandin(dataplane=False, hosts=3, settings={**FAST, "health_checks": False}) as rancher:
        replay = Replay(rancher, transcript)
        replay.begin()
        following = [*transcript.exchanges[1:], None]
        for number, (exchange, then) in enumerate(zip(transcript.exchanges, following)):
            differs = replay.run(exchange, then)
            if not exchange.is_setup:
                found[f"{number}: {exchange.name}"] = differs
    return found


def test_every_status_is_that_of_the_real_server(outcome: dict[str, list[str]]) -> None:
    wrong = {name: differs for name, differs in outcome.items() if any(d.startswith("status") for d in differs)}
    assert not wrong


def test_answers_are_those_of_the_real_server(outcome: dict[str, list[str]]) -> None:
    differing = {name: differs for name, differs in outcome.items() if differs}
    report = "\n".join(f"{name}\n    " + "\n    ".join(differs) for name, differs in differing.items())
    assert len(outcome) - len(differing) >= AT_LEAST, report


def test_seeded_rows_equal_those_made_by_requests() -> None:
    with RancherStandin(dataplane=False, settings=FAST) as rancher:
        rancher.control("seed", count=1)
        seeded = rancher.rows("loadBalancerService")[0]
        rule = {"hostname": "h00001.example.com", "path": "/p", "protocol": "http", "sourcePort": 80, "targetPort": 8080,
                "serviceId": rancher.rows("kubernetesService")[0]["id"]}
        launch = {"imageUuid": seeded["launchConfig"]["imageUuid"], "ports": ["80:80"], "labels": {}}
        wanted = {"name": "made", "stackId": seeded["stackId"], "launchConfig": launch, "lbConfig": {"portRules": [rule]}}
        made = rancher.api("POST", "loadbalancerservices", wanted).json
        rancher.settle()
        rancher.api("POST", f"loadbalancerservices/{made['id']}?action=activate")
        rancher.settle()
        made = rancher.balancer("made")
    assert set(seeded) == set(made)
    assert {k for k in seeded if seeded[k] != made[k]} <= {
        "id", "name", "externalId", "links", "actions", "uuid", "created", "createdTS", "instanceIds", "publicEndpoints"}
