# SPDX-License-Identifier: Apache-2.0
"""Our packages under a real systemd: the line runs as units; each process is killed, hung and restarted without the others."""
from __future__ import annotations

import base64
import json
import pathlib
import signal
import urllib.parse

import pytest
import yaml
from lib.cluster import Cluster
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

from . import attack
from .machine import UNITS, Machine

SOCKETS = ("/run/sluice/source.sock", "/run/sluice/provider.sock")
EXPOSURE_MAX = 20  # tenths of systemd-analyze's figure
WATCHER, TRANSLATOR, RANCHER = UNITS
HAPROXY, NGINX = "sluice-provider-haproxy.service", "sluice-provider-nginx.service"
ELB = "sluice-provider-elb.service"
PROXIES = PROXY_HAPROXY, PROXY_NGINX = "sluice-proxy-haproxy.service", "sluice-proxy-nginx.service"
METRICS = "sluice-translator-metrics.service"
PACKAGED = (*UNITS, HAPROXY, NGINX, ELB, *PROXIES, METRICS)


def self_contained(path: pathlib.Path) -> str:
    """A kubeconfig with the contents of the files it names."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for cluster in config["clusters"]:
        if authority := cluster["cluster"].pop("certificate-authority", None):
            cluster["cluster"]["certificate-authority-data"] = base64.b64encode(pathlib.Path(authority).read_bytes()).decode()
    for user in config["users"]:
        if token := user["user"].pop("tokenFile", None):
            user["user"]["token"] = pathlib.Path(token).read_text(encoding="utf-8").strip()
    return yaml.safe_dump(config)


class SystemdLine:
    def __init__(self) -> None:
        self.kube = KubeStandin("1.34").start()
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.machine = Machine()

    def __enter__(self) -> "SystemdLine":
        machine = self.machine.__enter__()
        machine.write("/etc/sluice/kubeconfig", self_contained(pathlib.Path(self.kube.controller_kubeconfig)))
        machine.write("/etc/sluice/rancher-access-key", self.rancher.access_key)
        machine.write("/etc/sluice/rancher-secret-key", self.rancher.secret_key)
        machine.write("/etc/sluice/provider-rancher.env", f"CATTLE_URL={self.rancher.url}\nSLUICE_RANCHER_POLL_INTERVAL=0.5\n")
        machine.systemctl("enable", "--now", "sluice-provider-rancher.service", "sluice.target")
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.__exit__()
        self.rancher.stop()
        self.kube.stop()

    def wait_address(self, ingress: str) -> None:
        def shown() -> bool:
            found = self.cluster.get("ingress", ingress)
            return bool(found and found.get("status", {}).get("loadBalancer", {}).get("ingress"))
        wait_for(shown, f"{ingress} to have an address\n" + "\n".join(self.machine.journal(unit)[-2000:] for unit in UNITS))


@pytest.fixture(scope="module", name="line")
def running_line():
    with SystemdLine() as line:
        line.cluster.apply(line.cluster.service("web"), line.cluster.ingress(
            "first", [{"host": "foo.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_address("first")
        yield line


def test_every_unit_is_active_and_says_what_it_does(line):
    for unit in UNITS:
        assert line.machine.is_active(unit)
        wait_for(lambda unit=unit: line.machine.show(unit, "StatusText") == "ready", f"{unit} to be ready")


@pytest.mark.parametrize("unit", UNITS)
def test_lines_in_the_journal_have_priorities(line, unit):
    """And no timestamp of their own, because the journal has one."""
    report = line.machine.run("journalctl", "--no-pager", "--output=json", "--unit", unit, "_COMM=" + unit.removesuffix(".service")[:15])
    priorities: dict[str, set[str]] = {}
    for entry in map(json.loads, report.splitlines()):
        message = entry["MESSAGE"]
        assert message.startswith("level=") and " ts=" not in message, message
        priorities.setdefault(message.split()[0], set()).add(entry["PRIORITY"])
    # At its first start each waits for its neighbours, and warns about it.
    assert priorities.pop("level=warn") == {"4"} and priorities.pop("level=info") == {"6"}
    assert priorities.pop("level=error", {"3"}) == {"3"} and not priorities


@pytest.mark.parametrize("unit", PACKAGED)
def test_exposure_is_low(line, unit):
    report = line.machine.run("systemd-analyze", "security", "--no-pager", f"--threshold={EXPOSURE_MAX}", unit, check=False)
    figure = float(report.split("exposure level for")[1].split(":")[1].split()[0])
    assert figure * 10 <= EXPOSURE_MAX, report


def test_processes_have_users_of_their_own_and_no_rights(line):
    users = set()
    for unit, pid in line.machine.pids().items():
        status = line.machine.run("cat", f"/proc/{pid}/status")
        fields = dict(row.split(":", 1) for row in status.splitlines())
        users.add(fields["Uid"].split()[1])
        assert fields["Uid"].split()[1] != "0", unit
        assert int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0
        assert fields["NoNewPrivs"].strip() == "1" and fields["Seccomp"].strip() == "2"
    assert len(users) == len(UNITS)


def test_credentials_are_for_their_process_alone(line):
    """The files in /etc belong to root; each process reads the copy that the service manager gives it."""
    for user in ("sluice-watcher", "sluice-translator", "sluice-provider"):
        for path in ("/etc/sluice/kubeconfig", "/etc/sluice/rancher-secret-key",
                     "/run/credentials/sluice-watcher.service/kubeconfig"):
            allowed = user == "sluice-watcher" and path.startswith("/run/credentials")
            done = line.machine.run("runuser", "-u", user, "--", "head", "-c1", path, check=False)
            assert bool(done) == allowed, (user, path)
    for unit in UNITS:
        assert line.rancher.secret_key not in line.machine.journal(unit)


@pytest.mark.parametrize("unit,port", [("sluice-watcher.service", 10241), ("sluice-translator.service", 10242),
                                       ("sluice-provider-rancher.service", 10243)])
def test_every_admin_server_is_open(line, unit, port):
    """On loopback, and as a socket that belongs to its user. The translator has no network: another unit shows its admin server."""
    name = unit.removeprefix("sluice-").removesuffix(".service")
    user = {"watcher": "sluice-watcher", "translator": "sluice-translator"}.get(name, "sluice-provider")
    for path, words in (("/healthz", "the event loop turns"), ("/readyz", "ready"), ("/metrics", "sluice_build_info")):
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
        answer = wait_for(lambda ask=ask: line.machine.run("bash", "-c", ask, check=False), f"an answer at {path}")
        assert answer.splitlines()[0] == "HTTP/1.1 200 OK" and words in answer, answer
    assert line.machine.run("stat", "--format=%a %U %G", f"/run/sluice/{name}.admin").strip() == f"660 {user} sluice"
    assert "event=admin-unavailable" not in line.machine.journal(unit)


def test_the_port_of_the_translator_tells_of_it_while_it_is_away(line):
    """The unit that shows it outlives the translator; if it ends itself, the next request starts it again."""
    machine = line.machine
    ask = "exec 3<>/dev/tcp/127.0.0.1/10242; printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    assert machine.run("bash", "-c", ask).startswith("HTTP/1.1 200 ")
    namespaces = {machine.run("readlink", f"/proc/{number}/ns/net").strip() for number in (machine.pid(TRANSLATOR), machine.pid(METRICS), 1)}
    assert len(namespaces) == 3, "neither of them is in the machine's network"
    status = machine.run("cat", f"/proc/{machine.pid(METRICS)}/status")
    assert "Seccomp:\t2" in status and "CapEff:\t0000000000000000" in status
    machine.signal(METRICS, signal.SIGKILL)
    assert machine.run("bash", "-c", ask).startswith("HTTP/1.1 200 ")
    # Its neighbours are stopped, too: if one of them connected again, systemd would start the translator.
    machine.systemctl("stop", *UNITS)
    try:
        assert machine.run("bash", "-c", ask).startswith("HTTP/1.1 503 ")
        assert machine.is_active(METRICS)
    finally:
        machine.systemctl("start", *UNITS)
    wait_for(lambda: machine.run("bash", "-c", ask).startswith("HTTP/1.1 200 "), "the translator to answer there again")
    wait_for(lambda: all(machine.show(unit, "StatusText") == "ready" for unit in UNITS), "the line to be ready")


def test_a_admin_does_not_start_what_was_stopped(line):
    machine = line.machine
    machine.systemctl("stop", "sluice-watcher.service")
    assert not machine.run("bash", "-c", "ls /run/sluice/watcher.admin", check=False)
    assert not machine.is_active("sluice-watcher.service")
    machine.systemctl("start", "sluice-watcher.service")
    wait_for(lambda: machine.run("bash", "-c", "ls /run/sluice/watcher.admin", check=False), "the admin server to be back")


def test_the_sockets_are_for_the_line_alone(line):
    for path in SOCKETS:
        assert line.machine.run("stat", "--format=%a %U %G", path).strip() == "660 sluice-translator sluice"


@pytest.mark.parametrize("unit", UNITS)
def test_a_killed_process_comes_back_alone(line, unit):
    machine = line.machine
    before, inodes, restarts = machine.pids(), [machine.inode(path) for path in SOCKETS], machine.restarts(unit)
    machine.signal(unit, signal.SIGKILL)
    wait_for(lambda: machine.restarts(unit) == restarts + 1 and machine.is_active(unit), f"{unit} to be started again")
    after = machine.pids()
    assert {other for other in UNITS if before[other] != after[other]} == {unit}
    assert [machine.inode(path) for path in SOCKETS] == inodes
    _serves_another(line, f"after-kill-{UNITS.index(unit)}")


def test_the_sockets_survive_a_restart_of_the_translator(line):
    machine = line.machine
    before, inodes = machine.pids(), [machine.inode(path) for path in SOCKETS]
    machine.systemctl("restart", TRANSLATOR)
    after = machine.pids()
    assert {other for other in UNITS if before[other] != after[other]} == {TRANSLATOR}
    assert [machine.inode(path) for path in SOCKETS] == inodes
    _serves_another(line, "after-restart")


@pytest.mark.parametrize("unit", UNITS)
def test_a_hung_process_is_found_and_replaced_alone(line, unit):
    """By the watchdog, with shorter times than the unit's own, which allow for a busy machine."""
    machine = line.machine
    machine.change(unit, "WatchdogSec=8s", "TimeoutAbortSec=1s")
    try:
        machine.systemctl("restart", unit)
        before, restarts = machine.pids(), machine.restarts(unit)
        machine.signal(unit, signal.SIGSTOP)
        wait_for(lambda: machine.restarts(unit) > restarts and machine.is_active(unit),
                 f"{unit} to be started again\n{machine.journal(unit)[-1000:]}", timeout=120)
        after = machine.pids()
        assert {other for other in UNITS if before[other] != after[other]} == {unit}
    finally:
        machine.unchange(unit)
        machine.systemctl("restart", unit)
    _serves_another(line, f"after-hang-{UNITS.index(unit)}")


def _serves_another(line: SystemdLine, name: str) -> None:
    line.cluster.apply(line.cluster.ingress(name, [{"host": f"{name}.example.com", "paths": [("/", "Prefix", "web", 80)]}]))
    line.wait_address(name)
    line.cluster.delete("ingress", name)
    wait_for(lambda: line.rancher.balancer(f"default-rancherlb-{name}") is None, f"the load balancer of {name} to be gone")
    assert line.rancher.balancer("default-rancherlb-first")["state"] == "active"


CREDENTIALS = {WATCHER: ("kubeconfig",), RANCHER: ("access-key", "secret-key")}
CREDENTIAL_FILES = {f"/run/credentials/{unit}/{name}": unit for unit, names in CREDENTIALS.items() for name in names}
NETWORK = {WATCHER, RANCHER, HAPROXY, NGINX, ELB, *PROXIES}
STATE = {HAPROXY: "/var/lib/sluice/haproxy", NGINX: "/var/lib/sluice/nginx", PROXY_HAPROXY: "/var/lib/sluice/haproxy", PROXY_NGINX: "/var/lib/sluice/nginx"}
# Each socket lets in only the user of the program at its other end.
LINKS = {"connect=/run/sluice/source.sock", "connect=/run/sluice/provider.sock"}
LINK = {WATCHER: "connect=/run/sluice/source.sock", **dict.fromkeys((RANCHER, HAPROXY, NGINX, ELB), "connect=/run/sluice/provider.sock")}
# The options that would let each in at the sockets that are not its own.
STRANGER_TO = {WATCHER: {"--allow-provider-uid"}, **dict.fromkeys((RANCHER, HAPROXY, NGINX, ELB), {"--allow-watcher-uid"}),
               METRICS: {"--allow-provider-uid", "--allow-watcher-uid"}}
INET, NETLINK, PACKET = "family=2", "family=16", "family=17"
RIGHTS = {INET, "root=setuid", "root=namespace", "root=mount", "root=hostname", "root=module", "root=device", PACKET, NETLINK, "code="}
FOLDERS = {f"write={folder}" for folder in ("/", "/etc", "/usr/bin", "/usr/local/libexec", "/var/lib", "/run", "/run/sluice", "/root", "/proc/sys/kernel")}


def _may(unit: str, ports: set[str]) -> set[str]:
    may = {f"read={path}" for path, owner in CREDENTIAL_FILES.items() if owner == unit}
    may |= {"write=/tmp", "read=/etc/hostname"}
    if unit in NETWORK:
        may |= ports | {INET}
    if unit == METRICS:
        may.add("ask=/run/sluice/translator.admin")
    if unit in LINK:
        may.add(LINK[unit])
    elif unit == TRANSLATOR:  # its own folder
        may |= {"write=/run/sluice", "listen=/run/sluice/attacker.sock"}
    if unit in STATE:
        may |= {f"write={STATE[unit]}", f"list={STATE[unit]}", NETLINK}
    if unit in PROXIES:
        may |= {"code="}
    return may


def _all(line: SystemdLine, unit: str, ports: set[str]) -> set[str]:
    """Everything that is tried in the place of a unit."""
    attempts = {f"read={path}" for path in (*CREDENTIAL_FILES, "/etc/hostname", "/etc/shadow", "/etc/sluice/kubeconfig", "/tmp/of-others", "/proc/kmsg")}
    attempts |= {"list=/etc/sluice", "list=/root", "write=/tmp", "connect=/run/dbus/system_bus_socket", "connect=/run/systemd/private",
                 "listen=/run/sluice/attacker.sock"}
    attempts |= {f"{what}={folder}" for folder in STATE.values() for what in ("write", "list")}
    for other, pid in line.machine.pids().items():
        if other == unit:
            continue
        attempts |= {f"{what}={pid}" for what in ("signal", "trace", "see", "memory")}
        attempts.add(f"ask=/run/sluice/{other.removeprefix('sluice-').removesuffix('.service')}.admin")
    attempts |= {f"{what}=1" for what in ("signal", "trace", "see", "memory")}
    return attempts | FOLDERS | RIGHTS | ports | (LINKS if unit != TRANSLATOR else set())


@pytest.mark.parametrize("unit", PACKAGED)
def test_an_attacker_in_its_place_reaches_nothing_else(line, unit):
    machine = line.machine
    machine.run("touch", "/tmp/of-others")
    machine.run("chmod", "0644", "/tmp/of-others")
    for folder in STATE.values():
        machine.run("install", "-d", "-o", "sluice-provider", "-g", "sluice", "-m", "700", folder)
    ports = {f"tcp={urllib.parse.urlsplit(url).port}" for url in (line.kube.url, line.rancher.url)}
    # All providers have the same user, because only one of them is meant to run: they are not protected from each other.
    alone = unit in STATE or unit == ELB
    if alone:
        machine.systemctl("stop", RANCHER)
    try:
        attempts = _all(line, unit, ports)
        may = _may(unit, ports)
        if alone:
            attempts = {word for word in attempts if not word.endswith(("=0", "provider-rancher.admin"))}
        before = len(machine.journal(TRANSLATOR))
        attack.check(machine.attack(unit, sorted(attempts)), may, attempts - may)
        refused = attack.refused_users(machine.journal(TRANSLATOR)[before:])
        assert refused == STRANGER_TO.get(unit, set())
    finally:
        if alone:
            machine.systemctl("start", RANCHER)
    wait_for(lambda: all(machine.is_active(each) for each in UNITS), "the line to be whole again")
    _serves_another(line, f"after-attack-{PACKAGED.index(unit)}")


def test_stopping_the_line_takes_nothing_away(line):
    machine = line.machine
    writes = line.rancher.balancer("default-rancherlb-first")["uuid"]
    machine.systemctl("stop", "sluice.target")
    wait_for(lambda: not any(machine.is_active(unit) for unit in UNITS), "the line to stop")
    assert machine.run("sh", "-c", "ls /run/sluice") == ""
    assert line.rancher.balancer("default-rancherlb-first")["uuid"] == writes
    line.wait_address("first")
    machine.systemctl("start", "sluice.target")
    wait_for(lambda: all(machine.is_active(unit) for unit in UNITS), "the line to start")


def test_a_missing_credential_is_named(line):
    machine = line.machine
    machine.run("mv", "/etc/sluice/kubeconfig", "/etc/sluice/kubeconfig.away")
    try:
        machine.systemctl("stop", "sluice-watcher.service")
        done = machine.start("systemctl", "start", WATCHER)
        assert done.returncode != 0 and "Assertion failed" in done.stderr
        assert "/etc/sluice/kubeconfig" in machine.systemctl("status", "sluice-watcher.service", check=False)
    finally:
        machine.run("mv", "/etc/sluice/kubeconfig.away", "/etc/sluice/kubeconfig")
        machine.systemctl("start", "sluice-watcher.service")


def test_the_packages_can_be_taken_away(line):
    machine = line.machine
    machine.run("dpkg", "--purge", *(f"sluice-provider-{name}" for name in ("elb", "haproxy", "nginx", "rancher")), "sluice")
    assert machine.run("sh", "-c", "ls /usr/bin/sluice-* 2>/dev/null || true") == ""
    assert json.loads(machine.run("systemctl", "list-units", "--output=json", "sluice-*.service", "--state=active") or "[]") == []
