# SPDX-License-Identifier: Apache-2.0
"""What the checks ask a provider for: small and whole sets of objects, in the grouping that it has asked for."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgpack

Object = dict[str, Any]


def pack_body(body: Object) -> bytes:
    """A map with `rev` in the nine-byte form."""
    out = msgpack.Packer(use_bin_type=True)
    parts = [out.pack_map_header(len(body))]
    for key, value in body.items():
        parts.append(out.pack(key))
        parts.append(b"\xcf" + value.to_bytes(8, "big") if key == "rev" else out.pack(value))
    return b"".join(parts)


def revised(item: Object) -> Object:
    """The object with its revision, as section 5.1 of PROTOCOL.md computes it."""
    item = {"rev": 0, **{key: value for key, value in item.items() if key != "rev"}}
    item["rev"] = int.from_bytes(hashlib.sha256(pack_body(item)).digest()[:8], "big")
    return item


@dataclass
class Wishes:
    """Makes the objects. `uid` is that of the Service that they all use, for load balancers that look it up."""

    grouping: str
    port: int
    other_port: int
    uid: str
    listeners: list[Object] = field(default_factory=list)

    def lb_id(self, name: str = "web") -> str:
        return "class/check" if self.grouping == "merged" else f"default/{name}"

    def load_balancer(self, name: str = "web", **more: Any) -> Object:
        port = self.port if name == "web" or self.grouping == "merged" else self.other_port
        base = {"kind": "load-balancer", "id": self.lb_id(name)}
        if self.grouping == "merged":
            base |= {"class": "check"}
        else:
            base |= {"namespace": "default", "name": name,
                     "owners": [{"namespace": "default", "name": name, "uid": f"uid-of-ingress-{name}"}]}
        if not more.get("absent") and not more.get("keep"):
            base |= {"listeners": [{"port": port, "protocol": "http"}]}
        return revised({**base, **more})

    def virtual_host(self, host: str = "check.example.com", pool: str = "pool/web", lb: str = "web", path: str = "/") -> Object:
        return revised({"kind": "virtual-host", "id": f"{self.lb_id(lb)}/{host}", "load_balancer": self.lb_id(lb), "host": host,
                        "match": "exact", "rules": [{"path": path, "match": "prefix", "pool": pool, "ingress": "default/web"}]})

    def pool(self, name: str = "web", *ips: str, **more: Any) -> Object:
        return revised({"kind": "pool", "id": f"pool/{name}", "service": {"namespace": "default", "name": "web", "uid": self.uid},
                        "port": 80, "target_port": 8080, "has_selector": True,
                        "endpoints": [{"ip": ip, "port": 8080, "active": True, "ready": True} for ip in ips], **more})

    def usual(self, **lb: Any) -> list[Object]:
        """One host with one path and one endpoint."""
        return [self.load_balancer(**lb), self.virtual_host(), self.pool("web", "127.0.0.1")]
