# SPDX-License-Identifier: Apache-2.0
"""provider-rancher against a real Rancher 1.6 server, told what is wanted by a translator of the tests. scripts/test-real --rancher runs it."""
from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from typing import Any, Iterator

import pytest

from lib.certs import self_signed
from lib.daemon import Daemon
from lib.line import build_folder
from lib.provider_link import Translator, certificate, load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

from .server import ROOT, RealRancher

WEB, TWO = "default-rancherlb-web", "default-rancherlb-two"
EMOJI = "\U0001F600"
PATIENCE_S = 90


@pytest.fixture(scope="module")
def rancher() -> Iterator[RealRancher]:
    with RealRancher(pathlib.Path(os.environ["SLUICE_RANCHER"])) as server:
        for name in ("web", "api"):
            server.add_service(name, f"uid-{name}")
        yield server


class Room:
    """A provider with one of the keys; nothing is left of what was made when it ends."""

    def __init__(self, rancher: RealRancher, key: str):
        self.rancher = rancher
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-provider-"))
        self.translator = Translator(self.folder)
        access, secret = key.split(":")
        self.provider = Daemon(build_folder() / "provider-rancher/sluice-provider-rancher", ["--runtime-dir", str(self.folder)], self.folder / "provider.log",
                               {"CATTLE_URL": ROOT, "CATTLE_ACCESS_KEY": access, "CATTLE_SECRET_KEY": secret})
        self.provider.start()

    def applied(self, owner: str = "default/web") -> dict[str, Any]:
        return self.translator.wait_status(owner, timeout=PATIENCE_S)

    def balancer(self, name: str = WEB) -> dict[str, Any]:
        return self.rancher.balancers()[name]

    def wait(self, condition: Any, what: str) -> Any:
        return wait_for(condition, what, PATIENCE_S, 0.25)

    def addresses(self, count: int, owner: str = "default/web") -> list[str]:
        return self.wait(lambda: len(found := self.translator.addresses(owner) or []) == count and found, f"{count} addresses")

    def empty(self) -> None:
        for id_ in [id_ for kind, id_ in list(self.translator.objects) if kind == "load-balancer"]:
            self.translator.remove_ingress(id_)
        for key in [key for key in list(self.translator.objects) if key[0] == "certificate"]:
            self.translator.remove(key)
        self.wait(lambda: not self.rancher.balancers() and not self.rancher.certificates(), "nothing to be left")

    def stop(self) -> None:
        code = self.provider.stop()
        self.translator.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert code == 0, "\n".join(self.provider.lines[-20:])


@pytest.fixture
def room(rancher) -> Iterator[Room]:
    one = Room(rancher, rancher.key)
    try:
        yield one
        one.empty()
    finally:
        one.stop()


def test_an_ingress_becomes_a_load_balancer(room):
    room.translator.put(*simple("web", "foo.bar.com"))
    room.applied()
    found = room.balancer()
    assert found["state"] == "active" and found["externalId"] == f"kubernetes-ingress-lbs://{WEB}"
    assert found["launchConfig"]["ports"] == ["80:80/tcp"]
    rule, = found["lbConfig"]["portRules"]
    assert (rule["hostname"], rule["path"], rule["targetPort"], rule["sourcePort"]) == ("foo.bar.com", "/foo", 8080, 80)
    address, = room.addresses(1)
    assert address.startswith("192.0.2.")


def test_changes_are_made_in_place(room):
    room.translator.put(*simple("web", "foo.bar.com"))
    room.applied()
    id_ = room.balancer()["id"]
    room.translator.put(load_balancer("web", scale=2))
    room.applied()
    room.addresses(2)
    room.translator.put(load_balancer("web", http=8081, scale=2))
    room.wait(lambda: room.balancer()["launchConfig"]["ports"] == ["8081:8081/tcp"], "the new port")
    room.translator.put(virtual_host("default/web", "foo.bar.com", ("/bar", "default/api"), ("/", "default/web")), pool("api"))
    room.wait(lambda: sorted(rule["path"] for rule in room.balancer()["lbConfig"]["portRules"]) == ["/", "/bar"], "the new paths")
    room.applied()
    assert room.balancer()["id"] == id_ and room.balancer()["scale"] == 2


def test_a_certificate_is_stored_renewed_and_removed(room):
    first, second = self_signed("foo.bar.com"), self_signed("foo.bar.com")
    room.translator.put(*simple("web", "foo.bar.com"), certificate("tls", first), load_balancer("web", https=443, certificates=["default/tls"]))
    room.applied()
    stored, = room.rancher.certificates().values()
    assert room.balancer()["lbConfig"]["defaultCertificateId"] == stored["id"]
    room.translator.put(certificate("tls", second))
    room.wait(lambda: [row for row in room.rancher.certificates().values() if row["certFingerprint"] != stored["certFingerprint"]], "the new one")
    room.applied()
    assert [row["id"] for row in room.rancher.certificates().values()] == [stored["id"]]
    room.translator.put(load_balancer("web"))
    room.translator.remove(("certificate", "default/tls"))
    room.wait(lambda: not room.rancher.certificates(), "the certificate to go")


def test_a_restart_changes_nothing(room):
    room.translator.put(*simple("web", "foo.bar.com"))
    room.applied()
    before = room.balancer()
    room.provider.restart()
    room.translator.wait_connection(2)
    room.translator.put(virtual_host("default/web", "foo.bar.com", ("/new", "default/web")))
    room.wait(lambda: room.balancer()["lbConfig"]["portRules"][0]["path"] == "/new", "the new path")
    room.applied()
    assert room.balancer()["id"] == before["id"] and room.balancer()["created"] == before["created"]


def test_what_the_go_original_made_is_taken_over(room):
    """Another life, and another key, have made it: it is found by its name."""
    room.translator.put(*simple("web", "foo.bar.com"))
    room.applied()
    id_ = room.balancer()["id"]
    assert room.provider.stop() == 0
    other = Room(room.rancher, room.rancher.system_key)
    try:
        other.translator.put(*simple("web", "foo.bar.com"))
        other.applied()
        other.addresses(1)
        assert other.balancer()["id"] == id_
    finally:
        other.stop()
    room.provider.start()


def test_text_that_cannot_be_stored_costs_only_itself(room):
    label = {"key": "io.rancher.scheduler.affinity:host_label_soft", "value": f"a={EMOJI}"}
    room.translator.put(*simple("web", "foo.bar.com", labels=[label]),
                        virtual_host("default/web", "foo.bar.com", (f"/{EMOJI}", "default/web"), ("/foo", "default/web")))
    room.applied()
    assert [rule["path"] for rule in room.balancer()["lbConfig"]["portRules"]] == ["/foo"]
    assert "TextNotStorable" in " ".join(room.translator.notices("default/web"))


def test_a_port_conflict_is_told_once_and_ends(room):
    room.translator.put(*simple("web", "foo.bar.com", scale=3))
    room.addresses(3)
    room.translator.put(*simple("two"))
    room.translator.wait_status("default/two", "failed", "80/tcp", timeout=PATIENCE_S)
    texts = {status["message"] for status in room.translator.status_log if status["id"] == "default/two" and status["state"] == "failed"}
    stays(lambda: texts == {status["message"] for status in room.translator.status_log if status["id"] == "default/two" and status["state"] == "failed"},
          "one text", 20)
    room.translator.put(load_balancer("web", scale=1))
    room.applied("default/two")


def test_what_is_removed_while_it_is_being_made_goes(room):
    for number in range(8):
        room.translator.put(*simple(f"early{number}", http=9000 + number))
        room.provider.wait_event("balancer-created", text=f"early{number} ", timeout=PATIENCE_S)
        room.translator.remove_ingress(f"default/early{number}")
    room.wait(lambda: not room.rancher.balancers(), "all of them to go")
    stays(lambda: not room.rancher.balancers(), "nothing to come back", 6)


def test_a_certificate_removed_by_somebody_else_is_made_anew(room):
    room.translator.put(*simple("web", "foo.bar.com"), certificate("tls", self_signed("foo.bar.com")),
                        load_balancer("web", https=443, certificates=["default/tls"]))
    room.applied()
    old, = room.rancher.certificates().values()
    found = room.balancer()
    room.rancher.api.ask("PUT", f"/loadbalancerservices/{found['id']}", {"lbConfig": {"portRules": found["lbConfig"]["portRules"]}})
    room.rancher.api.ask("DELETE", f"/certificates/{old['id']}")
    room.translator.put(certificate("tls", self_signed("foo.bar.com")))
    room.wait(lambda: [row for row in room.rancher.certificates().values() if row["id"] != old["id"]], "another certificate")
    room.applied()


def test_a_key_that_sees_nothing_is_told_in_one_line(rancher):
    room = Room(rancher, rancher.outside_key)
    try:
        room.translator.put(*simple("web", "foo.bar.com"))
        assert "system stack" in room.provider.wait_event("rancher-outage", timeout=PATIENCE_S)
        assert not rancher.balancers()
    finally:
        room.stop()
