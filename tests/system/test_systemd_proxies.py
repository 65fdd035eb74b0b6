# SPDX-License-Identifier: Apache-2.0
"""HAProxy and nginx as units of our packages under a real systemd: each serves, and replaces the other when it is started."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.traffic import Traffic
from lib.wait import wait_for

from .test_systemd import HAPROXY, NGINX, RANCHER, SystemdLine

ADDRESS = "127.0.0.9"
HOST = "foo.bar.com"


@pytest.fixture(name="line")
def running_line():
    pod = Backend("pod")
    with SystemdLine() as line:
        machine, cluster = line.machine, line.cluster
        machine.systemctl("stop", RANCHER)
        machine.write("/etc/sluice/translator.env", "SLUICE_ALLOW_EGRESS=127.0.0.0/8\n")
        for name in ("haproxy", "nginx"):
            machine.write(f"/etc/sluice/provider-{name}.env", f"SLUICE_BIND_ADDRESS={ADDRESS}\n")
        machine.systemctl("restart", "sluice-translator.service")
        cluster.apply(cluster.service("web"), cluster.slice("web", [pod.ip]),
                      cluster.ingress("first", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        yield line
    pod.stop()


def test_one_proxy_takes_the_others_place(line):
    machine = line.machine

    def wait_ready(unit: str) -> None:
        try:
            wait_for(lambda: machine.show(unit, "StatusText") == "ready", f"{unit} to be ready", 60)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{machine.journal(unit)[-2000:]}") from None

    machine.systemctl("start", HAPROXY)
    wait_ready(HAPROXY)
    with Traffic(ADDRESS, 80, HOST) as traffic:
        for former, new in ((HAPROXY, NGINX), (NGINX, HAPROXY)):
            good = traffic.good
            wait_for(lambda least=good + 50: traffic.good > least, "requests to be served", 60)
            machine.systemctl("start", new)
            for unit in (former, former.replace("provider", "proxy")):
                wait_for(lambda unit=unit: not machine.is_active(unit), f"{unit} to end", 60)
                assert machine.show(unit, "Result") == "success"
            wait_ready(new)
        good = traffic.good
        wait_for(lambda: traffic.good > good + 50, "requests to be served", 60)
    assert traffic.failures == []
