# SPDX-License-Identifier: Apache-2.0
"""What a user does with an Ingress, end to end: kubectl on one side, HTTP through real HAProxies on the other.

Each case is a short story told in steps. It runs once undisturbed, and once more for each daemon, which is then killed with SIGKILL before every
step and comes back while the step is under way. The end must be the same, and a client that keeps asking must not lose a request.
"""
from __future__ import annotations

import contextlib
import itertools

import pytest

from lib.certs import self_signed
from lib.line import DAEMONS
from lib.traffic import Traffic, answers, request
from lib.wait import wait_for

HTTP = 80
HTTPS = 443


class Story:
    """Steps on one namespace; `step()` is where a daemon dies."""

    def __init__(self, line, cluster, backends, victim: str | None):
        self.line = line
        self.cluster = cluster
        self.backends = backends
        self.victim = line.daemon(victim) if victim else None

    @contextlib.contextmanager
    def step(self):
        """Kills the victim, lets the block change something, and brings the victim back."""
        if self.victim is not None:
            self.victim.kill()
        yield
        if self.victim is not None:
            self.victim.start()

    @property
    def namespace(self) -> str:
        return self.cluster.namespace

    def deploy(self, service: str, pods: int = 1, port: int = 8080, port_name: str | None = None):
        """A Service with pods behind it."""
        running = [self.backends(f"{service}-{index}", port) for index in range(pods)]
        self.cluster.apply(self.cluster.service(service, 80, port, port_name),
                           self.cluster.slice(service, [pod.ip for pod in running], port, port_name or ""))
        return running

    def entry(self, ingress: str, port: int = HTTP) -> tuple[str, int]:
        """An address at which the load balancer of an Ingress listens."""
        entries = wait_for(lambda: [e for e in self.line.entries(ingress, self.namespace) if e[1] == port],
                           f"{ingress} to listen on {port}")
        return entries[0]

    def serves(self, ingress: str, host: str, path: str, service: str, port: int = HTTP, **how) -> None:
        """Waits until a request arrives at a pod of the Service."""
        def arrives():
            with contextlib.suppress(OSError, ValueError):
                got = request(*self.entry(ingress, port), host, path, **how)
                return got.status == 200 and got.json["name"].startswith(service)
        wait_for(arrives, f"{host}{path} to reach {service}", 30)

    def answers(self, ingress: str, host: str, path: str, status: int) -> None:
        wait_for(lambda: answers(*self.entry(ingress), host, path, status), f"{host}{path} to give {status}", 30)

    def traffic(self, ingress: str, host: str, path: str) -> Traffic:
        return Traffic(*self.entry(ingress), host, path)


_turn = itertools.count()


def pytest_generate_tests(metafunc):
    """Under sanitizers the four ways in which each story is told take turns from story to story."""
    if "story" in metafunc.fixturenames:
        turn = next(_turn) % (1 + len(DAEMONS))
        metafunc.parametrize("story", [pytest.param(victim, id=f"kill-{victim}" if victim else "undisturbed",
                                                    marks=[] if at == turn else pytest.mark.plain)
                                       for at, victim in enumerate([None, *DAEMONS])], indirect=True)


@pytest.fixture
def story(request, line, namespace, backends):
    return Story(line, namespace, backends, request.param)


def basic(story: Story, annotations: dict[str, str] | None = None, **spec) -> None:
    """An Ingress `web` for foo.bar.com/foo to Service `web`, applied and serving."""
    story.deploy("web")
    with story.step():
        story.cluster.apply(story.cluster.ingress(
            "web", [{"host": "foo.bar.com", "paths": [("/foo", "Prefix", "web", 80)]}], annotations, **spec))
    story.serves("web", "foo.bar.com", "/foo/x", "web")


@pytest.mark.quick
def test_create_shows_the_addresses_and_delete_takes_all_away(story):
    basic(story)
    addresses = story.cluster.wait_addresses("web", 1)
    assert addresses == [story.entry("web")[0]]
    assert addresses[0] in story.cluster.kubectl("get", "ingress", "web")
    story.answers("web", "other.example", "/foo", 503)
    with story.step():
        story.cluster.delete("ingress", "web")
    story.line.wait_no_balancer("web", story.namespace)


def test_update_of_a_path_moves_no_request(story):
    basic(story)
    story.deploy("second")
    with story.traffic("web", "foo.bar.com", "/foo") as traffic:
        with story.step():
            story.cluster.apply(story.cluster.ingress("web", [{"host": "foo.bar.com", "paths": [
                ("/foo", "Prefix", "web", 80), ("/foo/second", "Prefix", "second", 80)]}]))
        story.serves("web", "foo.bar.com", "/foo/second", "second")
        story.serves("web", "foo.bar.com", "/foo", "web")
    assert traffic.failures == [] and traffic.good > 0


def test_scale_up_and_down(story):
    basic(story, {"scale": "1"})
    with story.traffic("web", "foo.bar.com", "/foo") as traffic:
        with story.step():
            story.cluster.annotate("ingress", "web", scale="2")
        two = story.cluster.wait_addresses("web", 2)
        for address in two:
            wait_for(lambda a=address: answers(a, HTTP, "foo.bar.com", "/foo"), f"{address} to serve")
        assert traffic.failures == []
    with story.step():
        story.cluster.annotate("ingress", "web", scale="1")
    assert story.cluster.wait_addresses("web", 1)[0] in two


def test_tls_is_added_renewed_and_removed(story):
    first, second = self_signed("foo.bar.com"), self_signed("foo.bar.com")
    basic(story)
    with story.traffic("web", "foo.bar.com", "/foo") as traffic:
        with story.step():
            story.cluster.apply(story.cluster.tls_secret("cert", first.pem, first.key))
            story.cluster.patch("ingress", "web", {"spec": {"tls": [{"hosts": ["foo.bar.com"], "secretName": "cert"}]}})
        story.serves("web", "foo.bar.com", "/foo", "web", HTTPS, tls=True)
        assert request(*story.entry("web", HTTPS), "foo.bar.com", "/foo", tls=True).certificate == first.der
        with story.step():
            story.cluster.apply(story.cluster.tls_secret("cert", second.pem, second.key))
        wait_for(lambda: request(*story.entry("web", HTTPS), "foo.bar.com", "/foo", tls=True).certificate == second.der,
                 "the renewed certificate", 30)
        with story.step():
            story.cluster.patch("ingress", "web", {"spec": {"tls": None}})
        wait_for(lambda: not [e for e in story.line.entries("web", story.namespace) if e[1] == HTTPS], "port 443 to close")
    assert traffic.failures == []


def test_two_certificates_by_sni(story):
    one, two = self_signed("one.bar.com"), self_signed("two.bar.com")
    story.deploy("web")
    with story.step():
        story.cluster.apply(story.cluster.tls_secret("one", one.pem, one.key), story.cluster.tls_secret("two", two.pem, two.key))
        story.cluster.apply(story.cluster.ingress(
            "web", [{"host": h, "paths": [("/", "Prefix", "web", 80)]} for h in ("one.bar.com", "two.bar.com")],
            tls=[{"hosts": ["one.bar.com"], "secretName": "one"}, {"hosts": ["two.bar.com"], "secretName": "two"}]))
    for host, pair in (("one.bar.com", one), ("two.bar.com", two)):
        story.serves("web", host, "/", "web", HTTPS, tls=True)
        assert request(*story.entry("web", HTTPS), host, "/", tls=True).certificate == pair.der


def test_a_missing_service_is_served_once_it_is_there(story):
    story.deploy("web")
    with story.step():
        story.cluster.apply(story.cluster.ingress("web", [{"host": "foo.bar.com", "paths": [
            ("/", "Prefix", "web", 80), ("/late", "Prefix", "late", 80)]}]))
    story.serves("web", "foo.bar.com", "/", "web")
    story.cluster.wait_event("web", "ServiceNotFound", "late")
    with story.step():
        story.deploy("late")
    story.serves("web", "foo.bar.com", "/late", "late")


def test_a_service_replaced_under_the_same_name_is_followed(story):
    basic(story)
    with story.step():
        story.cluster.delete("service", "web")
        story.cluster.delete("endpointslice", "web-a")
        story.deploy("web")
    story.serves("web", "foo.bar.com", "/foo", "web")


def test_endpoints_to_zero_and_back(story):
    pods = story.deploy("web", 2)
    story.cluster.apply(story.cluster.ingress("web", [{"host": "foo.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
    story.serves("web", "foo.bar.com", "/", "web")
    with story.step():
        story.cluster.apply(story.cluster.slice("web", []))
    story.answers("web", "foo.bar.com", "/", 503)
    with story.step():
        story.cluster.apply(story.cluster.slice("web", [pods[1].ip]))
    story.serves("web", "foo.bar.com", "/", "web-1")


def test_a_class_that_changes_away_takes_the_balancer_and_the_status(story):
    basic(story)
    story.cluster.wait_addresses("web")
    with story.step():
        story.cluster.annotate("ingress", "web", **{"kubernetes.io/ingress.class": "nginx"})
    story.line.wait_no_balancer("web", story.namespace)
    story.cluster.wait_no_addresses("web")
    with story.step():
        story.cluster.annotate("ingress", "web", **{"kubernetes.io/ingress.class": "rancher"})
    story.serves("web", "foo.bar.com", "/foo", "web")
    story.cluster.wait_addresses("web")


def test_a_group_of_two_shares_one_balancer(story):
    story.deploy("one")
    story.deploy("two")
    with story.step():
        for name in ("one", "two"):
            story.cluster.apply(story.cluster.ingress(
                name, [{"host": f"{name}.bar.com", "paths": [("/", "Prefix", name, 80)]}], {"sluice.io/group": "shared"}))
    first = story.cluster.wait_addresses("one", 1)
    assert story.cluster.wait_addresses("two", 1) == first
    for name in ("one", "two"):
        wait_for(lambda n=name: answers(first[0], HTTP, f"{n}.bar.com", "/"), f"{name}.bar.com to be served", 30)
    with story.step():
        story.cluster.delete("ingress", "one")
    wait_for(lambda: answers(first[0], HTTP, "one.bar.com", "/", 503), "one.bar.com to be gone", 30)
    assert answers(first[0], HTTP, "two.bar.com", "/")
