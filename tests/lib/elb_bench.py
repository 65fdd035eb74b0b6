# SPDX-License-Identifier: Apache-2.0
"""provider-elb alone on this machine: the stand-in of AWS before it, a translator of the tests behind it."""
from __future__ import annotations

import json
import pathlib
from typing import Any

from standins.elb.client import Aws

from .daemon import Daemon
from .line import build_folder
from .provider_room import ProviderRoom
from .wait import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = "demo"
FAST = ["--poll-interval", "0.2", "--list-interval", "600", "--sweep-interval", "0", "--replace-delay", "1", "--orphan-grace", "1", "--tag-delay", "0.2",
        "--read-rate", "500", "--target-rate", "500", "--write-rate", "500", "--other-rate", "500"]


def elb_provider(runtime: pathlib.Path, folder: pathlib.Path, aws: Aws, *arguments: str, source: str = "environment") -> Daemon:
    """provider-elb with its log in `folder`, not started; the stand-in shall not make it wait."""
    return Daemon(build_folder() / "provider-elb/sluice-provider-elb",
                  ["--runtime-dir", str(runtime), "--cluster-name", CLUSTER, "--vpc-id", aws.vpc, *FAST, *arguments],
                  folder / "provider.log", aws.environment(source))


def policy() -> list[dict[str, Any]]:
    """Statements of the policy that users are told to give to the provider."""
    return json.loads((ROOT / "examples/aws/iam-policy.json").read_text().replace("CLUSTER", CLUSTER).replace("ZONE", "*"))["Statement"]


class InAws:
    """What is in AWS, by what it was made for."""

    aws: Aws

    def balancer(self, owner: str = "default/web", kind: str = "application") -> dict[str, Any] | None:
        """The load balancer of this object, by its tag."""
        found = [b for b in self.aws.balancers() if b["tags"].get("sluice.io/lb") == owner and b["type"] == kind]
        return found[0] if found else None

    def rules(self, owner: str = "default/web", port: int = 80) -> list[dict[str, Any]]:
        """Of one listener, in their order, without the default one."""
        balancer = self.balancer(owner) or {"listeners": []}
        return next((x["rules"] for x in balancer["listeners"] if x["port"] == port), [])

    def group(self, pool: str = "default/web") -> dict[str, Any] | None:
        found = [g for g in self.aws.groups() if g["tags"].get("sluice.io/resource", "").endswith(f"/pool/{pool}")]
        return found[0] if found else None

    def targets(self, pool: str = "default/web") -> list[str]:
        """Addresses that get traffic now, or will once they are healthy."""
        group = self.group(pool)
        return sorted(f"{t['id']}:{t['port']}" for t in self.aws.targets(group["arn"]) if t["State"] != "draining") if group else []

    def writes(self) -> list[str]:
        """Actions of all writes since the last forget(), in order."""
        return [call["action"] for call in self.aws.writes()]


class ElbBench(InAws, ProviderRoom):
    """Use it as a context manager. The provider is started with start(), or by start=True. It has the rights of the policy, and no others."""

    def __init__(self, start: bool = True, settings: dict[str, Any] | None = None, arguments: list[str] | None = None,
                 source: str = "environment", **aws: Any):
        super().__init__()
        self.aws = self.standin = Aws(settings={"policy": policy()} | (settings or {}), **aws)
        self.provider = elb_provider(self.runtime, self.folder, self.aws, *(arguments or []), source=source)
        if start:
            self.start()

    def settle(self, owner: str = "default/web", timeout: float = 30.0) -> None:
        self.translator.wait_status(owner, timeout=timeout)

    def remembered(self, owner: str = "default/web") -> None:
        """It is as wanted, and its tag says so: a restart need not read what is in it."""
        self.settle(owner)
        wait_for(lambda: all(b["tags"].get("sluice.io/applied", "changing") != "changing" for b in self.aws.balancers()
                             if b["tags"].get("sluice.io/lb") == owner), "the digest of what was applied")
