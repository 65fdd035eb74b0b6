# SPDX-License-Identifier: Apache-2.0
"""What a user does with an Ingress or a Service, end to end with AWS: kubectl on one side, requests through the stand-in's load balancers on the other.

Each story runs once undisturbed, and once more with a daemon that is killed with SIGKILL before every step and comes back while the step is
under way. The end must be the same, and a client that keeps asking must not lose a request.
"""
from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.balancer_services import balancer_service, balancer_slice, finalizers
from lib.certs import self_signed
from lib.elb_line import ElbLine
from lib.line import DAEMONS
from lib.traffic import Load, answers
from lib.wait import stays, wait_for

HOST = "foo.bar.com"
TAG = "AddTags"
_numbers = itertools.count(1)
_turn = itertools.count()


@pytest.fixture(scope="module")
def line() -> Iterator[ElbLine]:
    with ElbLine() as running:
        yield running


@pytest.fixture
def cluster(line):
    """A fresh namespace; everything in it is gone afterwards, in AWS, too."""
    name = f"e{next(_numbers)}"
    cluster = line.cluster.within(name)
    line.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield cluster
    line.aws.clear()
    line.start_daemons()
    cluster.kubectl("delete", "ingress,service,secret,endpointslice", "--all", "--timeout=60s")
    line.cluster.kubectl("delete", "namespace", name, "--wait=false")
    # The last ones, security groups, go when the rates of calls allow it: perhaps in the middle of the next story.
    wait_for(lambda: not line.aws.balancers() and not line.aws.groups() and not line.aws.certificates() and not own_security_groups(line),
             "AWS to be empty", 60)


def own_security_groups(line: ElbLine) -> list[str]:
    return [group["id"] for group in line.aws.security_groups() if group["tags"]]


class Story:
    """Steps in one namespace; `step()` is where a daemon dies."""

    def __init__(self, line: ElbLine, cluster, backends, victim: str | None):
        self.line, self.aws, self.cluster, self.backends = line, line.aws, cluster, backends
        self.victim = line.daemon(victim) if victim else None

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Kills the victim, lets the block change something, and brings the victim back."""
        if self.victim is not None:
            self.victim.kill()
        yield
        if self.victim is not None:
            self.victim.start()

    def deploy(self, service: str, pods: int = 1) -> list[Backend]:
        """A Service with pods behind it."""
        running = [self.backends(f"{service}-{index}") for index in range(pods)]
        self.cluster.apply(self.cluster.service(service), self.slice(service, running))
        return running

    def slice(self, service: str, pods: list[Backend]) -> dict[str, Any]:
        return self.cluster.slice(service, [self.line.place(pod) for pod in pods])

    def owner(self, name: str) -> str:
        return f"{self.cluster.namespace}/{name}"

    def apply(self, *paths: tuple, **more) -> None:
        """The Ingress `web` with these paths, (path, Service) each."""
        self.cluster.apply(self.cluster.ingress("web", [{"host": HOST, "paths": [(path, "Prefix", service, 80) for path, service in paths]}], **more))

    def begin(self, **more) -> str:
        """The Ingress `web` with /foo to the Service `web`, serving; the name of its load balancer."""
        self.deploy("web")
        with self.step():
            self.apply(("/foo", "web"), **more)
        name, = self.cluster.wait_addresses("web", 1)
        self.line.wait_reaches(name, HOST, "/foo/x", "web")
        return name


@pytest.fixture
def story(request, line, cluster, backends):
    return Story(line, cluster, backends, request.param)


@pytest.fixture
def calm(line, cluster, backends):
    """A story that is told undisturbed."""
    return Story(line, cluster, backends, None)


def pytest_generate_tests(metafunc):
    """The daemons take turns from story to story; all of them in all stories are for --long."""
    if "story" in metafunc.fixturenames:
        turn = next(_turn) % len(DAEMONS)
        metafunc.parametrize("story", [None, *(pytest.param(victim, id=f"kill-{victim}", marks=[] if at == turn else pytest.mark.long)
                                               for at, victim in enumerate(DAEMONS))], indirect=True)


# One Ingress


@pytest.mark.quick
def test_create_shows_the_name_and_delete_takes_all_away(story):
    name = story.begin()
    assert name.endswith(".elb.amazonaws.com") and name in story.cluster.kubectl("get", "ingress", "web")
    assert answers(*story.line.entry(name), "other.example", "/foo", 404)
    with story.step():
        story.cluster.delete("ingress", "web")
    wait_for(lambda: not story.aws.balancers() and not story.aws.groups(), "all to be gone", 30)
    assert story.aws.port(name, 80) is None


def test_another_path_moves_no_request(story):
    name = story.begin()
    story.deploy("second")
    with story.line.traffic(name, HOST, "/foo") as traffic:
        with story.step():
            story.apply(("/foo", "web"), ("/foo/second", "second"))
        story.line.wait_reaches(name, HOST, "/foo/second", "second")
        with story.step():
            story.apply(("/foo", "web"))
        story.line.wait_reaches(name, HOST, "/foo/second", "web")
    assert traffic.failures == [] and traffic.good > 0
    assert story.cluster.addresses("web") == [name]


def test_a_rollout_loses_no_request(story):
    """Pod after pod is replaced, as a Deployment does it; an old one ends when AWS sends it nothing more."""
    old = story.deploy("web", 3)
    story.apply(("/", "web"))
    name, = story.cluster.wait_addresses("web", 1)
    story.line.wait_reaches(name, HOST, "/", "web")
    address, port = story.line.entry(name)
    pods = list(old)
    with Load(address, port, [(HOST, "/")], clients=4) as load:
        for number, gone in enumerate(old):
            pods.append(story.backends(f"web-new-{number}"))
            with story.step():
                story.cluster.apply(story.slice("web", pods))
            wait_for(lambda: len(story.line.targets(story.owner("web:80"))) == 4, "the new one to be registered", 30)
            pods.remove(gone)
            with story.step():
                story.cluster.apply(story.slice("web", pods))
            leaving = f"{story.line.place(gone)}:{gone.port}"
            wait_for(lambda leaving=leaving: leaving not in story.line.targets(story.owner("web:80")), "the old one to be taken out", 30)
            # What preStop is for in a real Deployment: requests that are under way.
            stays(lambda gone=gone, count=settled(gone): gone.count == count, "that the old one gets nothing more", 0.2)
            gone.stop()
        good = load.good
        wait_for(lambda: load.good > good + 20, "traffic to go on")
    assert load.failures == []
    assert len(story.aws.groups()) == 1


def settled(pod: Backend) -> int:
    """How many requests a pod has got when those under way have come."""
    count = -1
    while count != pod.count:
        count = pod.count
        time.sleep(0.1)
    return count


def test_endpoints_to_zero_and_back(story):
    pods = story.deploy("web", 2)
    story.apply(("/", "web"))
    name, = story.cluster.wait_addresses("web", 1)
    story.line.wait_reaches(name, HOST, "/", "web")
    with story.step():
        story.cluster.apply(story.slice("web", []))
    wait_for(lambda: answers(*story.line.entry(name), HOST, "/", 503), "503 without endpoints", 30)
    with story.step():
        story.cluster.apply(story.slice("web", [pods[1]]))
    story.line.wait_reaches(name, HOST, "/", "web-1")


def test_tls_is_added_renewed_and_removed(story):
    first, second = self_signed(HOST), self_signed(HOST)
    name = story.begin()
    with story.line.traffic(name, HOST, "/foo") as traffic:
        with story.step():
            story.cluster.apply(story.cluster.tls_secret("cert", first.pem, first.key))
            story.cluster.patch("ingress", "web", {"spec": {"tls": [{"hosts": [HOST], "secretName": "cert"}]}})
        story.line.wait_reaches(name, HOST, "/foo", "web", 443)
        stored, = story.aws.certificates()
        assert story.aws.request(name, 443, HOST, "/foo").headers["x-standin-certificate"] == stored["arn"]
        with story.step():
            story.cluster.apply(story.cluster.tls_secret("cert", second.pem, second.key))
        wait_for(lambda: story.aws.certificates()[0]["serial"] != stored["serial"], "the renewed certificate", 30)
        with story.step():
            story.cluster.patch("ingress", "web", {"spec": {"tls": None}})
        wait_for(lambda: story.aws.port(name, 443) is None, "port 443 to close", 30)
    assert traffic.failures == [] and len(story.aws.balancers()) == 1


def test_a_missing_service_is_served_once_it_is_there(story):
    story.deploy("web")
    with story.step():
        story.apply(("/", "web"), ("/late", "late"))
    name, = story.cluster.wait_addresses("web", 1)
    story.line.wait_reaches(name, HOST, "/", "web")
    story.cluster.wait_event("web", "ServiceNotFound", "late")
    assert answers(*story.line.entry(name), HOST, "/late", 503)
    with story.step():
        story.deploy("late")
    story.line.wait_reaches(name, HOST, "/late", "late")


def test_a_class_that_changes_away_takes_the_balancer_and_the_status(story):
    story.begin()
    with story.step():
        story.cluster.annotate("ingress", "web", **{"kubernetes.io/ingress.class": "nginx"})
    wait_for(lambda: not story.aws.balancers(), "the load balancer to be gone", 30)
    story.cluster.wait_no_addresses("web")
    with story.step():
        story.cluster.annotate("ingress", "web", **{"kubernetes.io/ingress.class": "rancher"})
    name, = story.cluster.wait_addresses("web", 1)
    story.line.wait_reaches(name, HOST, "/foo", "web")


# What an ALB cannot have


def test_what_it_cannot_have_reaches_the_owner_and_the_rest_is_served(calm):
    cluster = calm.cluster
    long = "/" + "x" * 200
    calm.deploy("web")
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "far"}, "spec": {"type": "ExternalName", "externalName": "far.example.com"}})
    calm.apply(("/", "web"), (long, "web"), ("/far", "far"), annotations={"scale": "2"})
    name, = cluster.wait_addresses("web", 1)
    cluster.wait_event("web", "PathTooLong", HOST)
    cluster.wait_event("web", "ExternalNameRefused")
    wait_for(lambda: [e for e in cluster.events("web") if "scale" in e["message"]], "an Event about the scale")
    calm.line.wait_reaches(name, HOST, "/", "web")
    assert len(calm.line.rules(calm.owner("web"))) == 2


def test_what_aws_refuses_reaches_the_owner(calm):
    """The account has no room; when it has some, and the Ingress changes, it is tried again at once."""
    calm.aws.configure(quotas={"application-load-balancers": 0})
    try:
        calm.deploy("web")
        calm.apply(("/foo", "web"))
        event = wait_for(lambda: [e for e in calm.cluster.events("web") if "TooManyLoadBalancers" in e["message"]], "the refusal to be told", 30)[0]
        assert event["type"] == "Warning" and not calm.cluster.addresses("web")
    finally:
        calm.aws.configure(quotas={"application-load-balancers": 50})
    calm.apply(("/foo", "web"), ("/bar", "web"))
    name, = calm.cluster.wait_addresses("web", 1)
    calm.line.wait_reaches(name, HOST, "/foo", "web")


def test_a_certificate_that_acm_refuses_is_named_to_who_uses_it(calm):
    pair = self_signed(HOST)
    calm.aws.fault("error", action="ImportCertificate", status=400, code="ValidationException", message="no such kind of key")
    calm.cluster.apply(calm.cluster.tls_secret("cert", pair.pem, pair.key))
    name = calm.begin(tls=[{"hosts": [HOST], "secretName": "cert"}])
    calm.cluster.wait_event("web", "CertificateNotInAcm", f"{calm.cluster.namespace}/cert")
    calm.cluster.wait_event("web", "NoCertificate", "443")
    assert calm.aws.port(name, 443) is None


# Groups


def test_a_group_shares_one_balancer(story):
    for name in ("one", "two"):
        story.deploy(name)
    with story.step():
        for name in ("one", "two"):
            apply_member(story, name)
    first = story.cluster.wait_addresses("one", 1)
    assert story.cluster.wait_addresses("two", 1) == first and len(story.aws.balancers()) == 1
    for name in ("one", "two"):
        story.line.wait_reaches(first[0], f"{name}.bar.com", "/", name)
    with story.line.traffic(first[0], "two.bar.com") as traffic:
        with story.step():
            story.cluster.delete("ingress", "one")
        wait_for(lambda: answers(*story.line.entry(first[0]), "one.bar.com", "/", 404), "one.bar.com to be gone", 30)
    assert traffic.failures == [] and story.cluster.addresses("two") == first


def apply_member(story: Story, name: str, *paths: str, **spec) -> None:
    story.cluster.apply(story.cluster.ingress(name, [{"host": f"{name}.bar.com", "paths": [(path, "Prefix", name, 80) for path in paths or ["/"]]}],
                                              {"sluice.io/group": "shared"}, **spec))


def test_a_bad_member_hurts_only_itself(story):
    cluster = story.cluster
    good, other = self_signed("good.bar.com"), self_signed("other.bar.com")
    for name in ("good", "bad"):
        story.deploy(name)
    cluster.apply(cluster.tls_secret("good", good.pem, good.key), cluster.tls_secret("broken", good.pem, other.key))
    apply_member(story, "good", tls=[{"hosts": ["good.bar.com"], "secretName": "good"}])
    name, = cluster.wait_addresses("good", 1)
    story.line.wait_reaches(name, "good.bar.com", "/", "good", 443)
    with story.line.traffic(name, "good.bar.com") as traffic, story.line.traffic(name, "good.bar.com", port=443) as tls:
        with story.step():
            apply_member(story, "bad", "/", "/" + "x" * 200, tls=[{"hosts": ["bad.bar.com"], "secretName": "broken"}])
        story.line.wait_reaches(name, "bad.bar.com", "/", "bad")
        cluster.wait_event("bad", "PathTooLong")
        wait_for(lambda: [e for e in cluster.events("bad") if "broken" in e["message"]], "the Secret to be named")
        with story.step():
            cluster.delete("ingress", "bad")
        wait_for(lambda: answers(*story.line.entry(name), "bad.bar.com", "/", 404), "bad.bar.com to be gone", 30)
    assert traffic.failures == [] == tls.failures and traffic.good > 0 < tls.good
    assert [e["reason"] for e in cluster.events("good") if e["type"] == "Warning"] == []


# Services of type LoadBalancer


def test_the_life_of_a_service(story):
    cluster, pod = story.cluster, story.backends("db")
    place = story.line.place(pod)
    with story.step():
        cluster.apply(balancer_service(cluster, "db", 5432), balancer_slice(cluster, "db", [place], 1))
    name = wait_for(lambda: cluster.addresses("db", "service"), "the name of the load balancer", 30)[0]
    balancer, = story.aws.balancers()
    assert balancer["type"] == "network" and balancer["dns_name"].lower() == name
    story.line.wait_reaches(name, "any.example", "/", "db", 5432)
    with story.step():
        cluster.apply(balancer_service(cluster, "db", 5432, 5433), balancer_slice(cluster, "db", [place], 2))
    story.line.wait_reaches(name, "any.example", "/", "db", 5433)
    assert story.line.reached(name, "any.example", "/", 5432) == "db"
    with story.step():
        cluster.kubectl("delete", "service", "db", "--wait=false")
    wait_for(lambda: not story.aws.balancers(), "the load balancer to be gone", 30)
    wait_for(lambda: cluster.get("service", "db") is None, "the Service to be gone", 30)


def test_a_service_that_becomes_another_type(calm):
    cluster, pod = calm.cluster, calm.backends("db")
    cluster.apply(balancer_service(cluster, "db", 5434), balancer_slice(cluster, "db", [calm.line.place(pod)], 1))
    wait_for(lambda: cluster.addresses("db", "service"), "the name of the load balancer", 30)
    cluster.kubectl("patch", "service", "db", "--type=merge", "-p", '{"spec": {"type": "ClusterIP", "loadBalancerClass": null}}')
    wait_for(lambda: not calm.aws.balancers(), "the load balancer to be gone", 30)
    wait_for(lambda: not cluster.addresses("db", "service") and not finalizers(cluster, "db"), "neither addresses nor our finalizer", 30)


# Killed in the middle

HELD = {"before": "the call is not carried out", "after": "it is, and its answer is lost"}
VICTIMS = [*((name,) for name in DAEMONS), DAEMONS]


@pytest.mark.parametrize("when", HELD)
@pytest.mark.parametrize("victims", VICTIMS, ids="-".join)
def test_killed_in_the_middle_of_a_change(calm, victims, when):
    """A new Service under a new path, a removed path, an endpoint: AWS is written what that takes, and nothing twice."""
    line, cluster = calm.line, calm.cluster
    web, = calm.deploy("web")
    new, more = calm.deploy("new")[0], calm.backends("web-more")
    calm.apply(("/foo", "web"), ("/old", "web"))
    name, = cluster.wait_addresses("web", 1)
    line.wait_reaches(name, HOST, "/old", "web")
    line.settle()
    line.aws.forget()
    mark = line.kube.mark()
    number = calm.aws.fault("hold", action="CreateRule", count=1, when=when)
    with line.traffic(name, HOST, "/foo") as traffic:
        calm.apply(("/foo", "web"), ("/new", "new"))
        cluster.apply(calm.slice("web", [web, more]))
        wait_for(lambda: "CreateRule" in [call["action"] for call in calm.aws.calls()], "the change to be half done", 30)
        for victim in victims:
            line.daemon(victim).kill()
        calm.aws.clear(number)
        good = traffic.good
        wait_for(lambda: traffic.good > good + 20, "traffic to go on")
        line.start_daemons()
        line.wait_reaches(name, HOST, "/new", "new")
        wait_for(lambda: answers(*line.entry(name), HOST, "/old", 404), "the old path to be gone", 30)
        wait_for(lambda: len(line.targets(calm.owner("web:80"))) == 2, "the endpoint", 30)
        line.settle()
    assert traffic.failures == [] and new.count > 0
    done = [call["action"] for call in calm.aws.writes() if call["applied"]]
    stays(lambda: len([call for call in calm.aws.writes() if call["applied"]]) == len(done), "silence", 0.5)
    # "changing", and what was applied.
    assert sorted(done) == sorted([*[TAG] * 2, "CreateTargetGroup", "ModifyTargetGroupAttributes", *["RegisterTargets"] * 2, "CreateRule", "DeleteRule"])
    assert [w for w in line.kube.writes(mark) if w["resource"] == "ingresses" and w["subresource"] == "status"] == []


@pytest.mark.parametrize("victims", VICTIMS, ids="-".join)
def test_a_restart_writes_nothing(calm, victims):
    line, cluster = calm.line, calm.cluster
    pair = self_signed(HOST)
    cluster.apply(cluster.tls_secret("cert", pair.pem, pair.key))
    name = calm.begin(tls=[{"hosts": [HOST], "secretName": "cert"}])
    cluster.apply(balancer_service(cluster, "db", 5432), balancer_slice(cluster, "db", [line.place(calm.backends("db"))], 1))
    wait_for(lambda: cluster.addresses("db", "service"), "the name of the second load balancer", 30)
    line.wait_reaches(name, HOST, "/foo", "web", 443)
    line.settle()
    mark = line.kube.mark()
    line.aws.forget()
    since = {victim: len(line.daemon(victim).lines) for victim in victims}
    for victim in victims:
        line.daemon(victim).kill()
    line.start_daemons()
    for victim in victims:
        line.daemon(victim).wait_event("ready", since=since[victim])
    # A further Ingress goes the whole way: what came before it has been dealt with.
    cluster.apply(cluster.ingress("canary", [{"host": "canary.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
    cluster.wait_addresses("canary", 1)
    line.settle()
    made = {"CreateTargetGroup", "ModifyTargetGroupAttributes", "AddTags", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "CreateLoadBalancer",
            "CreateListener", "RegisterTargets", "CreateRule"}
    assert [(call["action"], call["params"]) for call in calm.aws.writes() if call["action"] not in made] == []
    others = [call for call in calm.aws.writes() if "canary" not in str(call["params"]) and not about_new(line, call, calm.owner("canary"))]
    assert others == []
    assert {w["name"] for w in line.kube.writes(mark) if w["resource"] != "events" and w["subresource"] == "status"} == {"canary"}


def about_new(line: ElbLine, call: dict, owner: str) -> bool:
    """Whether a call names something of that load balancer by its ARN or id."""
    own = [b for b in line.aws.balancers() if b["tags"].get("sluice.io/lb") == owner]
    names = [x["arn"] for b in own for x in (b, *b["listeners"])] + [g for b in own for g in b["security_groups"]]
    names += [g["arn"] for g in line.aws.groups() if g["tags"].get("sluice.io/lb") == owner]
    return any(name in str(call["params"]) for name in names)
