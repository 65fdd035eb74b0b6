# SPDX-License-Identifier: Apache-2.0
"""The stories that scripts/demo tells: of load balancers in Rancher or AWS, and of a proxy on this machine. Run it through that script."""
from __future__ import annotations

import argparse
import contextlib
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

from lib.backend import Backend
from lib.daemon import log_ends
from lib.elb_line import ElbLine
from lib.guardian import Asked, guarded
from lib.line import DAEMONS, Line, build_folder
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.traffic import Traffic, answers
from lib.wait import wait_for
from lib.web_page import WebPage

AnyLine = Line | ElbLine | ProxyLine
ROOT = pathlib.Path(__file__).resolve().parents[1]
HOST, PATH, PORT = "foo.bar.com", "/foo", 80
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"\n\033[1m[{time.monotonic() - STARTED:5.1f} s] {text}\033[0m" if sys.stdout.isatty()
          else f"\n[{time.monotonic() - STARTED:5.1f} s] {text}", flush=True)


def show(command: list[str], line: AnyLine) -> None:
    print("$ " + shlex.join(command), flush=True)
    subprocess.run(command, check=False, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(line.folder),
                                              "KUBECONFIG": line.cluster.kubeconfig}, timeout=60)


def curl(address: str, line: AnyLine) -> None:
    wait_for(lambda: answers(address, PORT, HOST, PATH), f"{address} to serve")
    show(["curl", "-sS", "-H", f"Host: {HOST}", "-w", "   <- status %{http_code}\\n", f"http://{address}{PATH}"], line)


def deploy(line: AnyLine, pods: list[Backend]) -> None:
    cluster = line.cluster
    cluster.apply(cluster.service("nginx-service"), cluster.slice("nginx-service", [line.place(pod) if isinstance(line, ElbLine) else pod.ip for pod in pods]))


def kill_each(line: AnyLine, address: str, port: int = PORT) -> int:
    """Kills every daemon once while a client keeps asking; how many of its requests failed."""
    failed = 0
    for name in DAEMONS:
        daemon = line.daemon(name)
        with Traffic(address, port, HOST, PATH) as traffic:
            wait_for(lambda: traffic.good > 50, "traffic to flow")
            daemon.kill()
            before = traffic.good
            wait_for(lambda: traffic.good > before + 100, "traffic to go on")
            lines = len(daemon.lines)
            daemon.start()
            daemon.wait_event("link-up", since=lines)
            before = traffic.good
            wait_for(lambda: traffic.good > before + 100, "traffic to go on")
        print(f"  killed {daemon.program.name:28} {traffic.good} requests, {len(traffic.failures)} failed", flush=True)
        failed += len(traffic.failures)
    return failed


def tell(line: Line) -> int:
    say("kubectl apply -f examples/ingress.yaml")
    show(["kubectl", "apply", "-f", str(ROOT / "examples/ingress.yaml")], line)
    first = line.cluster.wait_addresses("test", 1)
    show(["kubectl", "get", "ingress"], line)
    curl(first[0], line)
    say("the annotation scale: \"2\" makes it two load balancers")
    show(["kubectl", "annotate", "--overwrite", "ingress", "test", "scale=2"], line)
    both = line.cluster.wait_addresses("test", 2)
    show(["kubectl", "get", "ingress"], line)
    for address in both:
        curl(address, line)
    say("kill -9 of each daemon while a client keeps asking")
    failed = kill_each(line, both[0])
    print(f"  failed requests in all: {failed}")
    show(["kubectl", "describe", "ingress", "test"], line)
    return failed


def curl_balancer(name: str, line: ElbLine) -> None:
    """By the load balancer's name, which only AWS's name servers would know."""
    address, port = line.entry(name)
    wait_for(lambda: answers(address, port, HOST, PATH), f"{name} to serve")
    show(["curl", "-sS", "--connect-to", f"{name}:{PORT}:{address}:{port}", "-H", f"Host: {HOST}", "-w", "   <- status %{http_code}\\n",
          f"http://{name}{PATH}"], line)


def tell_of_aws(line: ElbLine) -> int:
    """With what only this provider can show: what is wanted stands in tags, so that killed daemons write nothing twice."""
    say("kubectl apply -f examples/ingress.yaml")
    show(["kubectl", "apply", "-f", str(ROOT / "examples/ingress.yaml")], line)
    name = line.cluster.wait_addresses("test", 1)[0]
    show(["kubectl", "get", "ingress"], line)
    curl_balancer(name, line)
    say("what that has become in AWS")
    show_balancer(line)
    say("kill -9 of each daemon, three times, while a client keeps asking")
    line.settle()
    line.aws.forget()
    failed = sum(kill_each(line, *line.entry(name)) for _ in range(3))
    print(f"  failed requests in all: {failed}\n  writes to AWS: {len(line.writes())}")
    say("kill -9 of all of them, and another path while they are away")
    failed += change_without_them(line, name)
    show_balancer(line)
    show(["kubectl", "describe", "ingress", "test"], line)
    return failed


def change_without_them(line: ElbLine, name: str) -> int:
    """How many requests of a client failed meanwhile."""
    cluster = line.cluster
    with Traffic(*line.entry(name), HOST, PATH) as traffic:
        for daemon in line.daemons():
            daemon.kill()
        cluster.patch("ingress", "test", {"spec": {"rules": cluster.ingress("test", [
            {"host": HOST, "paths": [(path, "Prefix", "nginx-service", 80) for path in (PATH, "/new")]}])["spec"]["rules"]}})
        before = traffic.good
        wait_for(lambda: traffic.good > before + 100, "traffic to go on")
        line.start_daemons()
        wait_for(lambda: answers(*line.entry(name), HOST, "/new"), "the new path to be served")
        line.settle()
    print(f"  {traffic.good} requests, {len(traffic.failures)} failed; writes to AWS: {', '.join(line.writes())}", flush=True)
    return len(traffic.failures)


def show_balancer(line: ElbLine) -> None:
    for balancer in line.aws.balancers():
        print(f"  {balancer['type']} load balancer {balancer['name']}, {balancer['state']}")
        for listener in balancer["listeners"]:
            print(f"    {listener['protocol']} {listener['port']}")
            for rule in listener["rules"]:
                values = [(one.get("HostHeaderConfig") or one["PathPatternConfig"])["Values"] for one in rule["conditions"]]
                print(f"      {rule['priority']} " + ", ".join(" or ".join(value) for value in values))
    for group in line.aws.groups():
        print(f"  target group {group['name']}: " + ", ".join(f"{t['id']}:{t['port']} {t['State']}" for t in line.aws.targets(group["arn"])), flush=True)


def take_down_in_aws(line: ElbLine) -> None:
    say("kubectl delete ingress test")
    show(["kubectl", "delete", "ingress", "test"], line)
    wait_for(lambda: not line.aws.balancers() and not line.aws.groups(), "all to be gone", 60)
    print("  load balancer and target group are gone")


def tell_of_proxy(line: ProxyLine) -> int:
    """The same with one proxy on this machine, and what only that can show: the proxy itself is killed."""
    say("kubectl apply -f examples/ingress.yaml")
    show(["kubectl", "apply", "-f", str(ROOT / "examples/ingress.yaml")], line)
    address = line.cluster.wait_addresses("test", 1)[0]
    show(["kubectl", "get", "ingress"], line)
    curl(address, line)
    say("kill -9 of each daemon, three times, while a client keeps asking")
    failed = sum(kill_each(line, address) for _ in range(3))
    print(f"  failed requests in all: {failed}")
    say(f"kill -9 of {line.proxy.name} itself: it is started again, with all its routes, from disk")
    died = time.monotonic()
    line.proxy.kill_proxy()
    wait_for(lambda: answers(address, PORT, HOST, PATH), f"{line.proxy.name} to serve again", 60)
    print(f"  it serves again after {time.monotonic() - died:.1f} s")
    show(["kubectl", "describe", "ingress", "test"], line)
    return failed


def take_down_proxy(line: ProxyLine) -> None:
    say("kubectl delete ingress test")
    show(["kubectl", "delete", "ingress", "test"], line)
    wait_for(lambda: answers(line.proxy.address, PORT, HOST, PATH, 404) or not answers(line.proxy.address, PORT, HOST, PATH),
             "the route to be gone", 60)
    print("  the route is gone")


def take_down(line: Line) -> None:
    say("kubectl delete ingress test")
    show(["kubectl", "delete", "ingress", "test"], line)
    line.wait_no_balancer("test")
    print("  the load balancer is gone")


def whereabouts(line: AnyLine) -> str:
    """What serves the traffic, in words."""
    if isinstance(line, Line):
        return f"Rancher: {line.rancher.url}"
    if isinstance(line, ProxyLine):
        return f"{line.proxy.name}: http://{line.proxy.address}"
    address, port = line.entry(line.cluster.addresses("test")[0])
    return f"AWS: {line.aws.url}\n  load balancer of test: http://{address}:{port}"


def watched_proxy(name: str) -> ProxyLine:
    """One whose traffic can be watched, as doc/woken-at-night.md does."""
    log = pathlib.Path(tempfile.gettempdir()) / "access.log"
    return ProxyLine(name, PORT, 443, provider=["--metrics-ingresses", "1000", "--access-log", "json", "--access-log-to", str(log)])


def ways_in(line: AnyLine, page: WebPage) -> list[str]:
    """What somebody who wants to look around needs: lines to copy."""
    lines = [f"in a browser: {page.url}", "in a shell, with sluicectl and kubectl for this line:",
             f"  export KUBECONFIG={line.cluster.kubeconfig} SLUICE_RUNTIME_DIR={line.runtime} PATH={build_folder() / 'sluicectl'}:$PATH",
             "  sluicectl status", "  sluicectl explain default/test"]
    if isinstance(line, ProxyLine):
        lines += ["  sluicectl top", f"access log: {pathlib.Path(tempfile.gettempdir()) / 'access.log'}"]
    return [*lines, f"logs: {line.folder}", whereabouts(line)]


def keep(line: AnyLine) -> None:
    say("left running; Ctrl-C ends it")
    with contextlib.suppress(Asked), WebPage(line.runtime) as page:
        print("\n".join("  " + text for text in ways_in(line, page)), flush=True)
        while True:
            signal.pause()


def show_logs() -> None:
    for name, lines in log_ends():
        say(f"the end of the log of {name}")
        print(lines, flush=True)


# By provider: what makes its line, the story, and its end.
STORIES: dict[str, tuple[Callable[[], AnyLine], Callable[[Any], int], Callable[[Any], None]]] = {
    "rancher": (Line, tell, take_down),
    "elb": (ElbLine, tell_of_aws, take_down_in_aws),
    **{name: (lambda name=name: watched_proxy(name), tell_of_proxy, take_down_proxy) for name in PROXIES},
}


def demonstrate(args: argparse.Namespace) -> int:
    say("starting the stand-ins, two backends and the three daemons")
    make, story, end = STORIES[args.provider]
    with Backend("backend-a") as one, Backend("backend-b") as two, make() as line:
        deploy(line, [one, two])
        failed = story(line)
        if failed != 0:
            show_logs()
        if args.keep:
            keep(line)
        else:
            end(line)
    say(f"done, {failed} failed requests")
    return 0 if failed == 0 else 1


def demonstrate_or_show_logs(args: argparse.Namespace) -> int:
    try:
        return demonstrate(args)
    except Exception:
        show_logs()
        raise


def may_listen() -> bool:
    with socket.socket() as one, contextlib.suppress(OSError):
        try:
            one.bind(("127.0.0.1", PORT))
        except PermissionError:
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description="Shows the whole line at work on this machine.")
    parser.add_argument("--keep", action="store_true", help="leave it running for playing, until Ctrl-C")
    parser.add_argument("--provider", choices=list(STORIES), default="rancher", help="what serves the traffic")
    args = parser.parse_args()
    # The load balancers of the stand-in of AWS have ports of their own.
    if args.provider != "elb" and not may_listen():
        parser.error(f"this user may not listen on port {PORT}: run it as root, or let everybody, with `sysctl net.ipv4.ip_unprivileged_port_start={PORT}`")
    return guarded(lambda: demonstrate_or_show_logs(args))


if __name__ == "__main__":
    sys.exit(main())
