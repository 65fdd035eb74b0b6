# SPDX-License-Identifier: Apache-2.0
"""The story that scripts/demo tells; run it through that script."""
from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time

from lib.backend import Backend
from lib.line import DAEMONS, Line
from lib.traffic import Traffic, answers
from lib.wait import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[1]
HOST, PATH, PORT = "foo.bar.com", "/foo", 80
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"\n\033[1m[{time.monotonic() - STARTED:5.1f} s] {text}\033[0m" if sys.stdout.isatty()
          else f"\n[{time.monotonic() - STARTED:5.1f} s] {text}", flush=True)


def show(command: list[str], line: Line) -> None:
    print("$ " + " ".join(command), flush=True)
    subprocess.run(command, check=False, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(line.folder),
                                              "KUBECONFIG": line.cluster.kubeconfig}, timeout=60)


def curl(address: str, line: Line) -> None:
    wait_for(lambda: answers(address, PORT, HOST, PATH), f"{address} to serve")
    show(["curl", "-sS", "-H", f"Host: {HOST}", "-w", "   <- status %{http_code}\\n", f"http://{address}{PATH}"], line)


def deploy(line: Line, pods: list[Backend]) -> None:
    cluster = line.cluster
    cluster.apply(cluster.service("nginx-service"), cluster.slice("nginx-service", [pod.ip for pod in pods]))


def kill_each(line: Line, address: str) -> int:
    """Kills every daemon once while a client keeps asking; how many of its requests failed."""
    failed = 0
    for name in DAEMONS:
        daemon = line.daemon(name)
        with Traffic(address, PORT, HOST, PATH) as traffic:
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


def take_down(line: Line) -> None:
    say("kubectl delete ingress test")
    show(["kubectl", "delete", "ingress", "test"], line)
    line.wait_no_balancer("test")
    print("  the load balancer is gone")


def keep(line: Line) -> None:
    say("left running; Ctrl-C ends it")
    print(f"  export KUBECONFIG={line.cluster.kubeconfig}\n  logs and sockets: {line.folder}\n  Rancher: {line.rancher.url}")
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


def main() -> int:
    wants_keep = "--keep" in sys.argv[1:]
    if wants_keep:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    say("starting the stand-ins, two backends and the three daemons")
    with Backend("backend-a") as one, Backend("backend-b") as two, Line() as line:
        deploy(line, [one, two])
        failed = tell(line)
        if wants_keep:
            keep(line)
        else:
            take_down(line)
    say(f"done, {failed} failed requests")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
