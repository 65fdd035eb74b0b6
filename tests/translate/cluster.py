# SPDX-License-Identifier: Apache-2.0
"""Random small clusters as records, drawn from few names so that everything collides with everything."""
from __future__ import annotations

import random
from typing import Any

from lib.certs import self_signed
from lib.definitions import table

Record = dict[str, Any]

NAMESPACES = ["a", "b"]
HOSTS = ["x.org", "y.org", "*.org", "", "Bad_Host", "www.y.org", "*.y.org"]
PATHS = ["/", "/a", "/a/", "/a/b", "", "/b", "bad", "/a b"]
BY_TYPE = {"COUNT": ["{least}", "{greatest}", "many"], "SWITCH": ["true", "false", "maybe"]}
ANNOTATIONS = {canonical: [value.format(least=least, greatest=greatest) for value in BY_TYPE[kind]]
               for _, _, kind, _, canonical, _, least, greatest, _ in table("translator/annotations.def", "ANNOTATION") if kind in BY_TYPE} | {
    "scale": ["1", "2", "many"], "http.port": ["80", "443", "8080", "x"],
    "https.port": ["443", "80", "8443"], "allow.http": ["true", "false", "f", "maybe"], "config": ["global\n  maxconn 5\n"],
    "sluice.io/group": ["g", "h", "G!"], "io.rancher.stickiness.policy": ["mode: insert\ncookie: c\n", "mode: x"],
    "io.rancher.scheduler.affinity.host_label": ["a=b"], "io.rancher.x": ["1", "2"], "sluice.io/io.rancher.x": ["3"],
    "io.rancher.kubernetes.livenessprobes": ['{"s1": {"tcpSocket": {"port": 80}}}', "{", '{"s1": {}, "s2": {"httpGet": {}}}'],
    "sluice.io/backend-protocol": ["https", "grpcs", "h2c", "x"], "sluice.io/backend-tls.ca": ["t0", "t1", "T!"],
    "sluice.io/backend-tls.verify": ["true", "false"], "sluice.io/backend-tls.client-certificate": ["t1", "t2"],
    "sluice.io/backend-tls.name": ["a.test", "*.test"], "sluice.io/tls-passthrough": ["true", "true", "false"],
    "kubernetes.io/ingress.class": ["rancher", "nginx", ""], "sluice.io/none": ["1"],
    "sluice.io/shared-with": ["a", "b", " b ,a", "b,", "B"],
}
PORTS = [{"name": "a", "port": 443}, {"name": "b", "port": 8080}, {"name": "c", "port": 8443}, {"name": "d", "port": 22},
         {"name": "e", "port": 53, "protocol": "udp"}, {"name": "f", "port": 22, "protocol": "udp"}]
CLASSES = ["", "", "", "ours", "theirs", "none"]


class Certificates:
    """Made once: keys are slow."""

    def __init__(self) -> None:
        self.good = [self_signed("x.org"), self_signed("y.org", "*.y.org"), self_signed("z.org", days=-1)]

    def pick(self, draw: random.Random) -> Record:
        pair = draw.choice(self.good)
        kind = draw.randrange(6)
        if kind == 0:
            return {"certificate": b"no certificate", "private_key": pair.key, "ca": b"none"}
        if kind == 1:
            return {"certificate": pair.pem, "private_key": draw.choice(self.good).key}
        return {"certificate": pair.pem, "private_key": pair.key, **({"ca": draw.choice(self.good).pem} if kind == 2 else {})}


class RandomCluster:
    def __init__(self, seed: int, certificates: Certificates):
        self.draw = random.Random(seed)
        self.certificates = certificates
        self.records: dict[tuple[str, str, str], Record] = {}
        self.uids = 0

    def key(self, record: Record) -> tuple[str, str, str]:
        return record["kind"], record.get("namespace", ""), record["name"]

    def new_uid(self) -> str:
        self.uids += 1
        return f"00000000-0000-4000-8000-{self.uids:012d}"

    def step(self) -> tuple[str, Record]:
        """One change: ("upsert" or "delete", record)."""
        if self.records and self.draw.random() < 0.3:
            record = self.records.pop(self.draw.choice(sorted(self.records)))
            return "delete", record
        record = self.make()
        old = self.records.get(self.key(record))
        record["uid"] = old["uid"] if old and self.draw.random() < 0.9 else self.new_uid()
        self.records[self.key(record)] = record
        return "upsert", record

    def make(self) -> Record:
        kind = self.draw.choices(["ingress", "service", "endpoints", "secret", "ingress-class"], [6, 3, 4, 2, 1])[0]
        namespace = self.draw.choice(NAMESPACES)
        base = {"kind": kind, "namespace": namespace}
        if kind == "ingress":
            return {**base, "name": f"i{self.draw.randrange(5)}", **self.ingress()}
        if kind == "service":
            return {**base, "name": f"s{self.draw.randrange(3)}", **self.service()}
        if kind == "endpoints":
            return {**base, "name": f"e{self.draw.randrange(5)}", **self.slice()}
        if kind == "secret":
            return {**base, "name": f"t{self.draw.randrange(3)}", **self.certificates.pick(self.draw)}
        name = self.draw.choice(["ours", "theirs"])
        controller = "sluice.io/ingress-controller" if name == "ours" and self.draw.random() < 0.8 else "other.io/x"
        return {"kind": kind, "name": name, "controller": controller, "is_default": self.draw.random() < 0.3}

    def some(self, most: int) -> range:
        return range(self.draw.randrange(most + 1))

    def backend(self) -> Record:
        kind = self.draw.randrange(8)
        if kind == 0:
            return {"resource": "a/B c"}
        backend = {"service": f"s{self.draw.randrange(3)}"}
        if kind == 1:
            return {**backend, "port_name": self.draw.choice(["http", "none", "80"])}
        return {**backend, "port_number": self.draw.choice([80, 81])}

    def path(self) -> Record:
        return {"path": self.draw.choice(PATHS), "type": self.draw.choice(["prefix", "exact", "implementation-specific"]),
                "backend": self.backend()}

    def ingress(self) -> Record:
        keys = self.draw.sample(sorted(ANNOTATIONS), self.draw.choice([0, 0, 1, 2, 4]))
        record: Record = {
            "created": self.draw.randrange(1, 4),
            "annotations": [{"key": key, "value": self.draw.choice(ANNOTATIONS[key])} for key in sorted(keys)],
            "rules": [{"host": self.draw.choice(HOSTS), "paths": [self.path() for _ in self.some(3)]} for _ in self.some(3)],
            "tls": [{"hosts": [self.draw.choice(HOSTS[:3]) for _ in self.some(2)], "secret": self.draw.choice(["t0", "t1", "t2", ""])}
                    for _ in self.some(2)],
        }
        if self.draw.random() < 0.3:
            record["default_backend"] = self.backend()
        if (name := self.draw.choice(CLASSES)):
            record["class_name"] = name
        return record

    def service(self) -> Record:
        if self.draw.random() < 0.1:
            return {"type": "external-name", "external_name": self.draw.choice(["else.org", "localhost"])}
        ports = [{"name": "http", "port": 80, "target_number": 8080}, {"name": "alt", "port": 81, "target_name": "alt"}]
        if self.draw.random() < 0.3:
            ports[0]["app_protocol"] = self.draw.choice(["https", "kubernetes.io/h2c", "sluice.io/grpcs"])
        record: Record = {"has_selector": True, "ports": self.draw.sample(ports, self.draw.randrange(3))}
        if self.draw.random() < 0.5:
            record |= self.layer4()
            record["ports"] += self.draw.sample(PORTS, self.draw.randrange(4))
        return record

    def layer4(self) -> Record:
        record: Record = {"type": "load-balancer" if self.draw.random() < 0.8 else "cluster-ip",
                          "created": self.draw.randrange(1, 4), "finalizer": self.draw.random() < 0.6,
                          "deleting": self.draw.random() < 0.2, "client_ip_affinity": self.draw.random() < 0.3}
        if self.draw.random() < 0.8:
            record["load_balancer_class"] = self.draw.choice(["sluice.io/load-balancer"] * 3 + ["other"])
        if self.draw.random() < 0.2:
            record["source_ranges"] = self.draw.choice([["10.0.0.0/8"], ["::/0", "192.0.2.1/32"], ["10.0.0.1"], ["0.0.0.0/33"]])
        return record

    def slice(self) -> Record:
        addresses = [{"ip": f"10.0.0.{self.draw.randrange(4)}", "ready": self.draw.random() < 0.6,
                      "serving": self.draw.random() < 0.7, "terminating": self.draw.random() < 0.3,
                      "target_uid": f"pod{self.draw.randrange(3)}"} for _ in self.some(4)]
        ports = [{"name": self.draw.choice(["http", "alt"]), "port": self.draw.choice([8080, 8081])} for _ in self.some(2)]
        return {"service": f"s{self.draw.randrange(3)}", "created": self.draw.randrange(1, 3),
                "subsets": [{"ports": ports, "addresses": addresses}]}
