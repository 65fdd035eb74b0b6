# SPDX-License-Identifier: Apache-2.0
"""What provider-elb asks of AWS: scripts/bench elb.

The stand-in of AWS throttles as an account does. Nobody wants to wait for that: the rates of the account, those of the provider, and its intervals are
SPEED times as fast, and times are told multiplied by it, as AWS would take them. What does not scale (the provider's own pauses, the stand-in's
answers) makes them longer than they would be. Calls are exact, and have limits.
"""
from __future__ import annotations

import statistics
import time
from collections import Counter
from typing import Any, Callable

from lib.daemon import Daemon, Room
from lib.line import build_folder
from lib.provider_link import Object, Translator, pool
from lib.wait import wait_for
from report import budget, cpu_s, figure, pss_mb, say
from standins.elb.client import Aws
from standins.elb.faults import RATES

SPEED = 10.0
PER_GROUP = 20  # Ingresses in a group, each with a path and a Service of its own
ENDPOINTS = 10  # of each Service
STEPS, STEP_S = 4, 30.0  # of a rollout: a quarter of the pods each, and how long one takes
PROVISIONING_S = 150.0  # until a load balancer is active
QUIET_S = 4.0
READS = ("Describe", "Get", "List")
# The provider's defaults. It does not look for changes of others by itself meanwhile, so that calls are exact.
INTERVALS = {"poll-interval": 5.0, "tag-delay": 10.0}
OUR_RATES = {"read-rate": 8.0, "target-rate": 4.0, "write-rate": 3.0, "other-rate": 2.0}
STILL = ["--sweep-interval", "0", "--list-interval", "86400"]
# Once in a life: subnets, zones, the VPC, the account's limits, certificates.
FIRST_READS = 5
# A change takes the time of a few calls, and is not the last one in the line.
SWEPT_MEANWHILE_MAX = 90

PEER = ("The AWS Load Balancer Controller, by its users' reports: a restart with 900 Ingresses took 1.5 hours within the account's rates, and changes waited until it was\n"
        "over (kubernetes-sigs/aws-load-balancer-controller, issues 1871, 3167, 1048 and others).")


class Wishes:
    """What the translator tells of `count` Ingresses."""

    def __init__(self, count: int):
        self.groups = max(1, count // PER_GROUP)
        self.services = self.groups * PER_GROUP
        self.generation = [[0] * ENDPOINTS for _ in range(self.services)]
        self.paths = [[f"/p{n}" for n in range(PER_GROUP)] for _ in range(self.groups)]

    def owner(self, group: int) -> str:
        return f"shop/group-{group:04}"

    def service(self, group: int, index: int) -> str:
        return f"web-{group * PER_GROUP + index:05}"

    def balancer(self, group: int) -> Object:
        owners = [{"namespace": "shop", "name": self.service(group, n), "uid": f"ingress-{group}-{n}"} for n in range(PER_GROUP)]
        return {"kind": "load-balancer", "id": self.owner(group), "namespace": "shop", "name": f"group-{group:04}", "group": True, "owners": owners,
                "listeners": [{"port": 80, "protocol": "http"}]}

    def host(self, group: int) -> Object:
        rules = [{"path": path, "pool": f"shop/{self.service(group, n)}", "match": "prefix", "ingress": f"shop/{self.service(group, n)}"}
                 for n, path in enumerate(self.paths[group])]
        host = f"g{group}.example.com"
        return {"kind": "virtual-host", "id": f"{self.owner(group)}/{host}", "load_balancer": self.owner(group), "host": host, "match": "exact", "rules": rules}

    def endpoints(self, service: int) -> list[str]:
        numbers = [(generation * self.services + service) * ENDPOINTS + n for n, generation in enumerate(self.generation[service])]
        return [f"172.31.{n >> 8 & 255}.{n & 255}" for n in numbers]

    def pool(self, service: int) -> Object:
        return pool(self.service(service // PER_GROUP, service % PER_GROUP), "shop", endpoints=self.endpoints(service))

    def all(self) -> list[Object]:
        hosts = [item for group in range(self.groups) for item in (self.balancer(group), self.host(group))]
        return hosts + [self.pool(service) for service in range(self.services)]

    def targets(self) -> int:
        return self.services * ENDPOINTS


class Account(Room):
    """provider-elb between a translator of the tests and an account with its rates."""

    def __init__(self, wishes: Wishes):
        super().__init__("provider")
        self.wishes = wishes
        quotas = {"application-load-balancers": max(50, wishes.groups), "target-groups": max(3000, wishes.services)}
        self.aws = Aws(settings={"quotas": quotas, "provisioning_s": PROVISIONING_S / SPEED}, check_answers=False)
        self.aws.control("rates", on=True, **{name: [burst, rate * SPEED] for name, (burst, rate) in RATES.items()})
        self.translator = Translator(self.runtime)
        options = [text for name, value in INTERVALS.items() for text in (f"--{name}", str(value / SPEED))]
        options += [text for name, value in OUR_RATES.items() for text in (f"--{name}", str(value * SPEED))]
        self.provider = Daemon(build_folder() / "provider-elb/sluice-provider-elb",
                               ["--runtime-dir", str(self.runtime), "--cluster-name", "demo", "--vpc-id", self.aws.vpc, *STILL, *options],
                               self.folder / "provider.log", self.aws.environment())

    def stop(self) -> list[str]:
        complaints = self.provider.end() + self.translator.problems
        self.translator.stop()
        complaints += self.aws.control("failures")
        self.aws.stop()
        return self.leave(complaints)

    def pending(self) -> int:
        """Load balancers that are not told as applied."""
        owners = [self.wishes.owner(group) for group in range(self.wishes.groups)]
        return sum((status := self.translator.status(owner)) is None or status["state"] != "applied" for owner in owners)

    def calls(self) -> Counter:
        return Counter(self.aws.counts())

    def rest(self) -> None:
        """Waits until all is as wanted, and nothing is called any more for longer than the provider waits where nothing fails."""
        last: list[Any] = [None, time.monotonic()]

        def rests() -> bool:
            now = self.calls()
            if now != last[0] or self.pending():
                last[:] = [now, time.monotonic()]
            return time.monotonic() - last[1] > QUIET_S

        wait_for(rests, "the provider to come to rest", 3600, 0.5)


def is_write(action: str) -> bool:
    return not action.startswith(READS)


def writes_of(calls: Counter) -> int:
    return sum(count for action, count in calls.items() if is_write(action))


def shown(calls: Counter) -> str:
    return ", ".join(f"{action} {count}" for action, count in calls.most_common())


def since(account: Account, began: float, wanted: Callable[[dict[str, Any]], bool]) -> float:
    """How long the last of these calls was away from `began`, by AWS's clock."""
    return max((call["time"] - began for call in account.aws.calls() if wanted(call)), default=0.0) * SPEED


def say_throttled(account: Account) -> None:
    """Calls that AWS refused to take now."""
    throttled = Counter(call["action"] for call in account.aws.calls() if call["outcome"] in ("Throttling", "RequestLimitExceeded", "ThrottlingException"))
    figure("  of them throttled", sum(throttled.values()), "", shown(throttled))


def time_statuses(account: Account, began: float) -> list[float]:
    """When each load balancer was told as applied, by AWS's clock."""
    times: list[float] = []

    def done() -> bool:
        left = account.pending()
        times.extend([(time.time() - began) * SPEED] * (account.wishes.groups - left - len(times)))
        return left == 0

    wait_for(done, "all load balancers to be applied", 3600, 0.05)
    return times


def measure_creation(account: Account) -> None:
    wishes = account.wishes
    account.translator.put(*wishes.all())
    account.provider.start()
    began = time.time()
    times = time_statuses(account, began)
    account.rest()
    calls = account.calls()
    # A rule costs its rule, its group, and the group's settings; a load balancer two security calls, itself, its listener and its tag.
    budget("elb: writes from nothing", writes_of(calls), wishes.services * 4 + wishes.groups * 5, "", shown(calls))
    say_throttled(account)
    figure("elb: until the first load balancer is applied", times[0], " s")
    figure("  half of them", statistics.median(times), " s")
    figure("  all of them", times[-1], " s")


def count_wrong(account: Account) -> int:
    """Targets that are registered and should not be, or the other way round."""
    found = {group["tags"]["sluice.io/resource"].rpartition("/")[2]: {t["id"] for t in group["targets"] if t["State"] != "draining"}
             for group in account.aws.groups()}
    wishes = account.wishes
    wanted = {wishes.service(n // PER_GROUP, n % PER_GROUP): set(wishes.endpoints(n)) for n in range(wishes.services)}
    return sum(len(found.get(name, set()) ^ wanted.get(name, set())) for name in found.keys() | wanted.keys())


def measure_restart(account: Account) -> None:
    wishes = account.wishes
    begin_anew(account)
    began = time.time()
    times = time_statuses(account, began)
    account.rest()
    calls = account.calls()
    pages = -(-(wishes.services + 2 * wishes.groups) // 100) + -(-wishes.services // 400) + -(-wishes.groups // 400) + 1
    budget("elb: writes of a restart", writes_of(calls), 0, "")
    budget("elb: reads of a restart", calls.total() - writes_of(calls), pages + wishes.services + FIRST_READS, "", shown(calls))
    say_throttled(account)
    figure("elb: until all are told as applied", times[-1], " s")
    figure("elb: until all endpoints are compared", since(account, began, lambda call: call["action"] == "DescribeTargetHealth"), " s")


def begin_anew(account: Account) -> None:
    connections = account.translator.connections
    account.provider.kill()
    account.translator.statuses.clear()
    account.aws.forget()
    account.provider.start()
    account.translator.wait_connection(connections + 1)


def change_endpoint(account: Account, service: int) -> None:
    account.wishes.generation[service][0] += 1
    account.translator.put(account.wishes.pool(service))


def change_path(account: Account, group: int) -> None:
    account.wishes.paths[group][0] += "x"
    account.translator.put(account.wishes.host(group))


def measure_change_in_restart(account: Account) -> None:
    """Both while everything is still being compared."""
    begin_anew(account)
    wait_for(lambda: account.pending() == 0, "all load balancers to be told as applied", 600, 0.02)
    swept = account.calls()["DescribeTargetHealth"]
    began = time.time()
    change_endpoint(account, account.wishes.services - 1)
    change_path(account, account.wishes.groups - 2 if account.wishes.groups > 1 else 0)
    wait_for(lambda: not {"DeregisterTargets", "DeleteRule"} - account.calls().keys(), "the changes", 3600, 0.05)
    late = account.calls()["DescribeTargetHealth"]
    figure("elb: a changed endpoint right after a restart", since(account, began, lambda call: call["action"] == "DeregisterTargets"), " s")
    figure("elb: a changed path right after a restart", since(account, began, lambda call: call["action"] in ("CreateRule", "DeleteRule")), " s")
    budget("  groups that were read meanwhile", late - swept, SWEPT_MEANWHILE_MAX, "", f"{swept} had been before")
    account.rest()
    calls = account.calls()
    budget("elb: writes of both", writes_of(calls), 6, "", shown(calls))


def measure_rollout(account: Account) -> None:
    wishes = account.wishes
    account.aws.forget()
    used, began = cpu_s(account.provider.pid), time.time()
    for step in range(STEPS):
        for service in range(wishes.services):
            for n in range(step * ENDPOINTS // STEPS, (step + 1) * ENDPOINTS // STEPS):
                wishes.generation[service][n] += 1
        account.translator.put(*(wishes.pool(service) for service in range(wishes.services)))
        if step + 1 < STEPS:
            time.sleep(max(0.0, began + (step + 1) * STEP_S / SPEED - time.time()))
    account.rest()
    calls = account.calls()
    budget(f"elb: calls to replace {wishes.targets():,} endpoints in {STEPS} steps of {STEP_S:.0f} s", calls.total(), wishes.services * 2 * STEPS, "", shown(calls))
    say_throttled(account)
    budget("  endpoints that are wrong afterwards", count_wrong(account), 0, "")
    figure("  until the last call", since(account, began, lambda call: is_write(call["action"])), " s")
    figure("  processor time", cpu_s(account.provider.pid) - used, " s")


def measure_changes(account: Account) -> None:
    for name, change, limit in (("endpoint", lambda: change_endpoint(account, 0), 2), ("path", lambda: change_path(account, 0), 4)):
        account.aws.forget()
        change()
        wait_for(lambda: writes_of(account.calls()), f"the changed {name}", 60)
        account.rest()
        calls = Counter({action: count for action, count in account.calls().items() if is_write(action)})
        budget(f"elb: writes for one changed {name}", writes_of(calls), limit, "", shown(calls))


def measure(count: int) -> None:
    wishes = Wishes(count)
    say(f"  {wishes.services:,} Ingresses in {wishes.groups} groups, {wishes.targets():,} endpoints; the account's rates, ours, and our intervals are {SPEED:.0f} times "
        f"as fast, and times are told as {SPEED:.0f} times what they took")
    with Account(wishes) as account:
        measure_creation(account)
        figure("  processor time", cpu_s(account.provider.pid), " s")
        measure_changes(account)
        measure_rollout(account)
        measure_restart(account)
        figure("  processor time", cpu_s(account.provider.pid), " s")
        figure("elb: proportional memory", pss_mb(account.provider.pid), " MB")
        measure_change_in_restart(account)
    say("\n" + PEER + "\n")
