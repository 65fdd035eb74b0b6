# SPDX-License-Identifier: Apache-2.0
"""moto's server, an emulator of AWS that others have written, and provider-elb before it."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from typing import Any

import botocore.session

from lib.daemon import Daemon, Room
from lib.elb_bench import CLUSTER, FAST
from lib.line import build_folder
from lib.processes import WITH_US
from lib.provider_link import Translator
from lib.wait import stays, wait_for

REGION = "eu-central-1"
KEY = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
ADDRESS = re.compile(r"Running on http://127\.0\.0\.1:(\d+)")
Row = dict[str, Any]


def folder() -> pathlib.Path | None:
    """Of the virtual environment that `scripts/test-real --aws` has made; None: there is none."""
    if given := os.environ.get("SLUICE_MOTO"):
        return pathlib.Path(given)
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    found = sorted(path.parents[1] for path in cache.glob("sluice/moto-*/bin/moto_server"))
    return found[-1] if found else None


class Moto:
    """The server as a process of its own, on a free port of loopback. Reads go by botocore, which checks every answer."""

    def __init__(self, where: pathlib.Path):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-moto-"))
        self._record = self._folder / "recording"
        log = self._folder / "server.log"
        with open(log, "wb") as output:
            self._process = subprocess.Popen([*WITH_US, str(where / "bin/moto_server"), "-H", "127.0.0.1", "-p", "0"], stdin=subprocess.DEVNULL, stdout=output,
                                             stderr=output, cwd=self._folder, env={"PATH": os.environ["PATH"], "MOTO_ENABLE_RECORDING": "true",
                                                                                   "MOTO_RECORDER_FILEPATH": str(self._record)})
        found = wait_for(lambda: self._process.poll() is not None or ADDRESS.search(log.read_text()), "moto to answer")
        if found is True:
            raise RuntimeError(f"moto has ended: {log.read_text()[-2000:]}")
        self.url = f"http://127.0.0.1:{found[1]}"
        session = botocore.session.Session()
        session.set_credentials(*KEY.values())
        self.elb, self.ec2, self.acm, self.tagging = (session.create_client(name, region_name=REGION, endpoint_url=self.url)
                                                      for name in ("elbv2", "ec2", "acm", "resourcegroupstaggingapi"))

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def reset(self) -> None:
        """An account with nothing but its first network, whose subnets have the tag that is looked for."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST"), timeout=30):
            pass
        self.subnets = [row["SubnetId"] for row in self.ec2.describe_subnets()["Subnets"]]
        self.ec2.create_tags(Resources=self.subnets, Tags=[{"Key": "kubernetes.io/role/elb", "Value": "1"}])
        self.vpc = self.ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
        self.forget()

    # What there is

    def tags(self, *arns: str) -> dict[str, str]:
        """Of one resource."""
        described, = self.elb.describe_tags(ResourceArns=list(arns))["TagDescriptions"]
        return {tag["Key"]: tag["Value"] for tag in described["Tags"]}

    def balancers(self) -> list[Row]:
        return self.elb.describe_load_balancers()["LoadBalancers"]

    def listeners(self, balancer: Row) -> dict[int, Row]:
        return {row["Port"]: row for row in self.elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]}

    def rules(self, balancer: Row, port: int = 80) -> list[Row]:
        """In their order, without the default one."""
        rows = self.elb.describe_rules(ListenerArn=self.listeners(balancer)[port]["ListenerArn"])["Rules"]
        return sorted((row for row in rows if not row["IsDefault"]), key=lambda row: int(row["Priority"]))

    def groups(self) -> list[Row]:
        return self.elb.describe_target_groups()["TargetGroups"]

    def targets(self, group: Row) -> list[str]:
        rows = self.elb.describe_target_health(TargetGroupArn=group["TargetGroupArn"])["TargetHealthDescriptions"]
        return sorted(f"{row['Target']['Id']}:{row['Target']['Port']}" for row in rows)

    def certificates(self) -> list[Row]:
        return self.acm.list_certificates()["CertificateSummaryList"]

    def security_groups(self) -> list[Row]:
        """Those with our tag."""
        return self.ec2.describe_security_groups(Filters=[{"Name": "tag-key", "Values": ["sluice.io/cluster"]}])["SecurityGroups"]

    def everything(self) -> list[Any]:
        """All that a provider writes, for comparisons."""
        return [self.balancers(), [self.rules(b, port) for b in self.balancers() for port in self.listeners(b)], self.groups(),
                [self.targets(g) for g in self.groups()], self.security_groups(), self.tagging.get_resources()["ResourceTagMappingList"], self.certificates()]

    # What was called

    def forget(self) -> None:
        self._record.write_text("")

    def calls(self) -> list[str]:
        """Actions that the provider has called since the last forget(), in order."""
        return [action_of(entry) for entry in map(json.loads, self._record.read_text().splitlines()) if entry["headers"]["User-Agent"].startswith("sluice")]

    def writes(self) -> list[str]:
        return [action for action in self.calls() if not action.startswith(("Describe", "List", "Get"))]


def action_of(entry: Row) -> str:
    """Of a request that the server has recorded."""
    if target := entry["headers"].get("X-Amz-Target"):
        return target.split(".")[1]
    body = base64.b64decode(entry["body"]) if entry["body_encoded"] else entry["body"].encode()
    return urllib.parse.parse_qs(body.decode())["Action"][0]


class MotoBench(Room):
    """provider-elb alone, with a translator of the tests behind it."""

    def __init__(self, moto: Moto, arguments: list[str]):
        super().__init__("provider")
        self.moto = moto
        self.translator = Translator(self.runtime)
        options = ["--runtime-dir", str(self.runtime), "--cluster-name", CLUSTER, "--vpc-id", moto.vpc, *FAST, *arguments]
        self.provider = Daemon(build_folder() / "provider-elb/sluice-provider-elb", options, self.folder / "provider.log",
                               KEY | {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": moto.url, "AWS_EC2_METADATA_DISABLED": "true"})
        self.provider.start()

    def stop(self) -> list[str]:
        complaints = self.provider.end() + self.translator.problems
        self.translator.stop()
        return self.leave(complaints)

    def balancer(self, owner: str = "default/web") -> Row | None:
        return next((row for row in self.moto.balancers() if self.moto.tags(row["LoadBalancerArn"])["sluice.io/lb"] == owner), None)

    def remembered(self, owner: str = "default/web") -> None:
        """It is as wanted, and its tag says so."""
        self.translator.wait_status(owner)
        wait_for(lambda: (row := self.balancer(owner)) and self.moto.tags(row["LoadBalancerArn"]).get("sluice.io/applied", "changing") != "changing",
                 "the digest of what was applied")

    def quiet(self, seconds: float = 1.0) -> None:
        """Nothing more is written, for a while."""
        before = len(self.moto.writes())
        stays(lambda: len(self.moto.writes()) == before, f"silence after {self.moto.writes()}", seconds)

    def restart(self) -> None:
        """Kills it, and waits until its next life has found the translator."""
        connections = self.translator.connections
        self.provider.restart()
        self.translator.wait_connection(connections + 1)
