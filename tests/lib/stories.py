# SPDX-License-Identifier: Apache-2.0
"""Small stories about Ingresses, each in a namespace of its own: how it begins, what changes, and what must be true in the end.

They are told side by side on one line, and once more under each disturbance; nothing in them knows of that.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from .certs import self_signed
from .cluster import Cluster
from .line import Line
from .wait import wait_for

Object = dict[str, Any]
HTTP, ALTERNATIVE, HTTPS, ALTERNATIVE_TLS = 80, 8080, 443, 8443
PROBES = '{"one": {"httpGet": {"path": "/healthz", "port": 8080}}}'
# Where load balancers of the original run; the line keeps these hosts free of others.
RESERVED_HOSTS = {"current": -1, "legacy": -2}


@dataclass
class Expected:
    """What must be true of one load balancer and its Ingresses."""

    rules: set[tuple] | None = None  # (port, host, path, Service); None: there is no load balancer
    scale: int = 1
    ingresses: tuple[str, ...] = ("web",)  # these show the addresses of the load balancer
    bare: tuple[str, ...] = ()  # these show none
    event: tuple[str, str] | None = None  # reason and words of a Warning on `web`
    certificate: bytes | None = None  # DER, shown on port `https`
    https: int = HTTPS
    answers: tuple[tuple, ...] = ()  # (port, path, backend or status); the host is `host_of(story)` unless a fourth says another
    holds: Callable[[Object], Any] | None = None  # what else must be true of the row of the load balancer


@dataclass
class Story:
    name: str
    begin: Callable[["Scene"], None]
    change: Callable[["Scene"], None]
    start: Callable[["Scene"], Expected]
    end: Callable[["Scene"], Expected]
    writes: int = 1  # most that this may change in Rancher
    statuses: int = 0  # and in the statuses of its Ingresses
    idle: int = 0  # most writes in Rancher that change nothing
    same: bool = True  # the load balancer stays the one it was
    steady: bool = True  # a client of /one loses no request
    balancer: str = "{namespace}-rancherlb-web"
    fault: Callable[["Scene"], None] | None = None  # a disturbance of its own

    def __str__(self) -> str:
        return self.name


@dataclass
class Scene:
    """One story as it is told: its namespace, and what it needs to change things."""

    line: Line
    story: Story
    namespace: str
    pods: dict[str, str]  # name: address
    first_id: str | None = None
    first_der: bytes | None = None
    second_der: bytes | None = None
    uids: dict[str, str] = field(default_factory=dict)

    @property
    def api(self):
        return self.line.kube.api

    @property
    def build(self) -> Cluster:
        return self.line.cluster.within(self.namespace)

    @property
    def host(self) -> str:
        return f"{self.namespace}.example.com"

    @property
    def balancer(self) -> str:
        return self.story.balancer.format(namespace=self.namespace)

    # What changes things

    def create(self, *objects: Object) -> None:
        for item in objects:
            made = self.api.create(item)
            self.uids[f"{made['kind']}/{made['metadata']['name']}"] = made["metadata"]["uid"]

    def service(self, name: str) -> None:
        self.create(self.build.service(name), self.build.slice(name, [self.pods[name]]))

    def ingress(self, *rules: tuple, name: str = "web", annotations: dict[str, str] | None = None, **spec: Any) -> Object:
        """A rule is (host or None for the story's own, (path, Service)...)."""
        built = [{"host": host or self.host, "paths": [(path, "Prefix", service, 80) for path, service in paths]}
            for host, *paths in rules]
        return self.build.ingress(name, built, annotations, **spec)

    def patch(self, patch: Object, name: str = "web", plural: str = "ingresses") -> None:
        self.api.patch(plural, name, patch, self.namespace)

    def annotate(self, name: str = "web", **annotations: str | None) -> None:
        self.patch({"metadata": {"annotations": annotations}}, name)

    def rules(self, *rules: tuple) -> None:
        self.patch({"spec": {"rules": self.ingress(*rules)["spec"]["rules"]}})

    def secret(self, name: str) -> bytes:
        """A new certificate in a Secret, new or old; in DER."""
        pair = self_signed(self.host)
        item = self.build.tls_secret(name, pair.pem, pair.key)
        if self.api.find("secrets", name, self.namespace) is None:
            self.create(item)
        else:
            self.patch({"data": item["data"]}, name, "secrets")
        return pair.der


# How stories begin


def one_path(scene: Scene, **more: Any) -> None:
    scene.service("one")
    scene.service("two")
    scene.create(scene.ingress((None, ("/one", "one")), **more))


def services_only(scene: Scene) -> None:
    scene.service("one")
    scene.service("two")


def with_certificate(scene: Scene) -> None:
    scene.first_der = scene.secret("cert")
    one_path(scene, tls=[{"hosts": [scene.host], "secretName": "cert"}])


def of_the_original(form: str) -> Callable[[Scene], None]:
    """A load balancer as the Go original left it, without an Ingress that we know."""
    def begin(scene: Scene) -> None:
        services_only(scene)
        uid = scene.uids["Service/one"]
        wait_for(lambda: uid in [s["externalId"] for s in scene.line.rancher.rows("kubernetesService")], uid, 60)
        scene.line.rancher.control("seed-balancers", items=[{
            "namespace": scene.namespace, "name": "web", "form": form, "hostname": scene.host, "path": "/one", "uid": uid,
            "host": scene.line.rancher.info["hosts"][RESERVED_HOSTS[form]]["id"]}])
    return begin


# What is expected


def nothing(_scene: Scene) -> Expected:
    return Expected(None, ingresses=())


def serves(*paths: tuple[str, str], port: int = HTTP, **more: Any) -> Callable[[Scene], Expected]:
    """Paths of the story's own host and the Services behind them."""
    def expected(scene: Scene) -> Expected:
        given = dict(more)
        given.setdefault("answers", tuple((port, path, service) for path, service in paths))
        return Expected({(port, scene.host, path, service) for path, service in paths}, **given)
    return expected


ONE = ("/one", "one")
TWO = ("/two", "two")
BASIC = serves(ONE)


def seeded(scene: Scene) -> Expected:
    return Expected({(HTTP, scene.host, *ONE)}, ingresses=())


def with_https(certificate: str, https: int = HTTPS) -> Callable[[Scene], Expected]:
    def expected(scene: Scene) -> Expected:
        return Expected({(port, scene.host, *ONE) for port in (HTTP, https)}, certificate=getattr(scene, certificate), https=https,
            answers=((HTTP, *ONE),))
    return expected


def https_only(scene: Scene) -> Expected:
    return Expected({(HTTPS, scene.host, *ONE)}, certificate=scene.first_der)


def two_hosts(second: str) -> Callable[[Scene], Expected]:
    def expected(scene: Scene) -> Expected:
        host = second.format(host=scene.host)
        return Expected({(HTTP, scene.host, *ONE), (HTTP, host, "/", "two")},
            answers=((HTTP, *ONE), (HTTP, "/x", "two", host.replace("*", "some"))))
    return expected


def with_default(scene: Scene) -> Expected:
    return Expected({(HTTP, scene.host, *ONE), (HTTP, None, None, "two")},
        answers=((HTTP, *ONE), (HTTP, "/x", "two", "else.example.org")))


def a_group(*names: str) -> Callable[[Scene], Expected]:
    def expected(scene: Scene) -> Expected:
        paths = [ONE, TWO][:len(names)]
        return Expected({(HTTP, scene.host, *path) for path in paths}, ingresses=names,
            answers=tuple((HTTP, *path) for path in paths))
    return expected


# What changes


def renew(scene: Scene) -> None:
    scene.second_der = scene.secret("cert")


def move_endpoints(scene: Scene) -> None:
    scene.patch({"endpoints": scene.build.slice("one", [scene.pods["two"]])["endpoints"]}, "one-a", "endpointslices")


def no_endpoints(scene: Scene) -> None:
    scene.patch({"endpoints": []}, "one-a", "endpointslices")


def recreate(scene: Scene) -> None:
    scene.api.delete("ingresses", "web", scene.namespace)
    scene.create(scene.ingress((None, TWO)))


def take_service_away(scene: Scene) -> None:
    scene.api.delete("services", "two", scene.namespace)
    scene.api.delete("endpointslices", "two-a", scene.namespace)


def join_group(scene: Scene) -> None:
    scene.create(scene.ingress((None, TWO), name="second", annotations={"sluice.io/group": "both"}))


def somebody_else_writes(scene: Scene) -> None:
    """Just before ours: the status write meets a conflict."""
    scene.line.kube.fault("race", {"identity": "controller", "resource": "ingresses", "subresource": "status",
        "namespace": scene.namespace}, count=2)


def all_rules(scene: Scene) -> None:
    scene.rules((None, ONE, TWO))


CLASS = "kubernetes.io/ingress.class"

STORIES = [
    Story("create", services_only, lambda s: s.create(s.ingress((None, ONE))), nothing, BASIC, statuses=1, steady=False),
    Story("path", one_path, all_rules, BASIC, serves(ONE, TWO)),
    Story("endpoints", one_path, move_endpoints, BASIC, serves(ONE, answers=((HTTP, "/one", "two"),)), writes=0),
    Story("endpoints-to-zero", one_path, no_endpoints, BASIC, serves(ONE, answers=((HTTP, "/one", 503),)), writes=0, steady=False),
    Story("scale", one_path, lambda s: s.annotate(scale="2"), BASIC, serves(ONE, scale=2), statuses=1),
    # Between the two ports there may be no public endpoint for a moment, or both.
    Story("port", one_path, lambda s: s.annotate(**{"http.port": str(ALTERNATIVE)}), BASIC, serves(ONE, port=ALTERNATIVE),
        statuses=3, steady=False),
    # The new certificate, the load balancer, and the old certificate goes.
    Story("renewal", with_certificate, renew, with_https("first_der"), with_https("second_der"), writes=3),
    Story("missing-secret", one_path, lambda s: s.patch({"spec": {"tls": [{"hosts": [s.host], "secretName": "none"}]}}), BASIC,
        serves(ONE, event=("SecretNotFound", "none")), writes=0),
    Story("class-away", one_path, lambda s: s.annotate(**{CLASS: "nginx"}), BASIC,
        lambda s: Expected(None, ingresses=(), bare=("web",)), statuses=1, same=False, steady=False),
    Story("delete", one_path, lambda s: s.api.delete("ingresses", "web", s.namespace), BASIC, nothing, same=False, steady=False),
    # Told apart or not: one that changes, or one that goes and one that comes.
    Story("recreate", one_path, recreate, BASIC, serves(TWO), writes=2, statuses=2, same=False, steady=False),
    Story("group", lambda s: one_path(s, annotations={"sluice.io/group": "both"}), join_group, a_group("web"), a_group("web", "second"),
        statuses=1, balancer="{namespace}-rancherlbgroup-both"),
    Story("two-hosts", one_path, lambda s: s.rules((None, ONE), (f"second.{s.host}", ("/", "two"))), BASIC, two_hosts("second.{host}")),
    Story("wildcard", one_path, lambda s: s.rules((None, ONE), (f"*.{s.host}", ("/", "two"))), BASIC, two_hosts("*.{host}")),
    Story("default-backend", one_path, lambda s: s.patch({"spec": {"defaultBackend": {"service": {"name": "two", "port": {"number": 80}}}}}),
        BASIC, with_default),
    Story("status-conflict", one_path, lambda s: s.annotate(scale="2"), BASIC, serves(ONE, scale=2), statuses=1,
        fault=somebody_else_writes),
    Story("https-port", with_certificate, lambda s: s.annotate(**{"https.port": str(ALTERNATIVE_TLS)}), with_https("first_der"),
        with_https("first_der", ALTERNATIVE_TLS), statuses=3),
    Story("http-off", with_certificate, lambda s: s.annotate(**{"allow.http": "false"}), with_https("first_der"), https_only, statuses=3,
        steady=False),
    Story("stickiness", one_path, lambda s: s.annotate(**{"io.rancher.stickiness.policy": "name: p\ncookie: sid\nmode: insert\n"}), BASIC,
        serves(ONE, holds=lambda row: row["lbConfig"]["stickinessPolicy"]["cookie"] == "sid")),
    Story("probes", one_path, lambda s: s.annotate(**{"io.rancher.kubernetes.livenessprobes": PROBES}), BASIC,
        serves(ONE, holds=lambda row: '"/healthz"' in row["lbConfig"]["config"])),
    Story("config", one_path, lambda s: s.annotate(config="global\n    maxconn 1234\n"), BASIC,
        serves(ONE, holds=lambda row: "maxconn 1234" in row["lbConfig"]["config"])),
    Story("scheduling", one_path, lambda s: s.annotate(**{"io.rancher.scheduler.affinity.host_label_soft": "a=b"}), BASIC,
        serves(ONE, holds=lambda row: row["launchConfig"]["labels"]["io.rancher.scheduler.affinity:host_label_soft"] == "a=b")),
    Story("label", one_path, lambda s: s.annotate(**{"io.rancher.lb_service.target": "any"}), BASIC,
        serves(ONE, holds=lambda row: row["launchConfig"]["labels"]["io.rancher.lb_service.target"] == "any")),
    Story("bad-annotation", one_path, lambda s: s.annotate(scale="many"), BASIC, serves(ONE, event=("InvalidAnnotation", "scale")), writes=0),
    Story("adoption", of_the_original("current"), lambda s: s.create(s.ingress((None, ONE))), seeded, BASIC, statuses=1),
    Story("legacy-adoption", of_the_original("legacy"), lambda s: s.create(s.ingress((None, ONE))), seeded, BASIC, statuses=1,
        balancer="{namespace}-web"),
    # Rancher takes the rules away itself at the same moment: ours may come second.
    Story("service-deleted", lambda s: (services_only(s), s.create(s.ingress((None, ONE, TWO)))), take_service_away, serves(ONE, TWO),
        serves(ONE, event=("ServiceNotFound", "two")), idle=1),
]
