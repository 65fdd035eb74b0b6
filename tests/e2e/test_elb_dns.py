# SPDX-License-Identifier: Apache-2.0
"""Records in Route 53 that lead hosts to their load balancers, beside those of others."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import pytest

from lib.elb_bench import ElbBench
from lib.provider_link import Object, load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

pytestmark = pytest.mark.plain

ZONE = "example.com"
WRITE = "ChangeResourceRecordSets"


class DnsBench(ElbBench):
    """With a hosted zone, which the provider keeps."""

    def __init__(self, *arguments: str, start: bool = True, zones: tuple[str, ...] = (ZONE,), **more: Any):
        super().__init__(start=False, **more)
        self.zones = [self.aws.zone(name) for name in zones]
        self.provider.arguments += [word for zone in self.zones for word in ("--route53-zone", zone)] + ["--dns-rate", "500", *arguments]
        if start:
            self.start()

    def records(self, zone: int = 0) -> dict[tuple[str, str], Any]:
        """(name, type) to the name of the target, or to the text; without the zone's own."""
        found = {}
        for record in self.aws.records(self.zones[zone]):
            value = record["AliasTarget"]["DNSName"] if "AliasTarget" in record else record["ResourceRecords"][0]["Value"]
            if record["Type"] not in ("SOA", "NS"):
                found[record["Name"].rstrip(".").replace("\\052", "*"), record["Type"]] = value.rstrip(".")
        return found

    def change(self, action: str, record: Object, zone: int = 0) -> None:
        """What somebody else does."""
        self.aws.call("route53", WRITE, HostedZoneId=self.zones[zone], ChangeBatch={"Changes": [{"Action": action, "ResourceRecordSet": record}]})

    def target(self, owner: str = "default/web", kind: str = "application") -> str:
        balancer = self.balancer(owner, kind)
        assert balancer is not None
        return balancer["dns_name"].lower()

    def wait_records(self, wanted: dict[tuple[str, str], Any], zone: int = 0) -> None:
        with contextlib.suppress(AssertionError):
            wait_for(lambda: self.records(zone) == wanted, "the records")
        assert self.records(zone) == wanted

    def notices(self, owner: str = "default/web") -> dict[str, str]:
        return self.translator.notices(owner)


@pytest.fixture
def bench() -> Iterator[DnsBench]:
    with DnsBench() as running:
        yield running


def mark(ingress: str = "default/web", owner: str = "sluice-demo") -> str:
    return f'"heritage=external-dns,external-dns/owner={owner},external-dns/resource=ingress/{ingress}"'


def records_of(host: str, target: str, ingress: str = "default/web") -> dict[tuple[str, str], str]:
    return {(host, "A"): target, ("a-" + host, "TXT"): mark(ingress), (host, "TXT"): mark(ingress)}


def text(name: str, value: str) -> Object:
    return {"Name": name, "Type": "TXT", "TTL": 300, "ResourceRecords": [{"Value": value}]}


def address(name: str, ip: str = "192.0.2.1") -> Object:
    return {"Name": name, "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": ip}]}


def ingress(name: str, *hosts: str) -> list[Object]:
    return [load_balancer(name), *(virtual_host(f"default/{name}", host, ("/", f"default/{name}")) for host in hosts),
            pool(name, endpoints=["172.31.0.10"])]


def test_hosts_lead_to_their_load_balancers(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "shop.example.com", "*.shop.example.com", "elsewhere.org", ""), *ingress("api", "api.example.com"))
    bench.settle("default/web")
    bench.settle("default/api")
    web = records_of("shop.example.com", bench.target()) | records_of("*.shop.example.com", bench.target())
    bench.wait_records(web | records_of("api.example.com", bench.target("default/api"), "default/api"))
    assert not bench.aws.control("failures") and not bench.notices()


def test_without_a_zone_nothing_is_called() -> None:
    with ElbBench() as bench:
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.remembered()
        assert not [call for call in bench.aws.calls() if call["service"] == "route53"]


def test_there_are_no_records_before_the_load_balancer_is_active(bench: DnsBench) -> None:
    bench.aws.configure(provisioning_told=True)
    bench.translator.put(*ingress("web", "shop.example.com"))
    wait_for(bench.rules, "a rule")
    stays(lambda: not bench.records(), "no records", 1.5)
    bench.aws.control("set-state", name=bench.balancer()["name"], state="active")
    bench.wait_records(records_of("shop.example.com", bench.target()))


def test_a_host_that_goes_takes_its_records_along(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "a.example.com", "b.example.com"))
    bench.settle()
    target = bench.target()
    bench.wait_records(records_of("a.example.com", target) | records_of("b.example.com", target))
    bench.aws.forget()
    bench.translator.remove(("virtual-host", "default/web/b.example.com"))
    bench.wait_records(records_of("a.example.com", target))
    bench.translator.remove_ingress("default/web")
    bench.wait_records({})
    assert bench.writes().count(WRITE) == 2


def test_a_host_that_moves_is_never_without_a_record(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "a.example.com"), *ingress("api", "b.example.com"))
    bench.settle("default/web")
    bench.settle("default/api")
    bench.wait_records(records_of("a.example.com", bench.target()) | records_of("b.example.com", bench.target("default/api"), "default/api"))
    bench.aws.forget()
    bench.translator.put(virtual_host("default/api", "a.example.com", ("/", "default/api")), commit=False)
    bench.translator.remove(("virtual-host", "default/web/a.example.com"))
    moved = records_of("a.example.com", bench.target("default/api"), "default/api")
    bench.wait_records(moved | records_of("b.example.com", bench.target("default/api"), "default/api"))
    assert bench.writes().count(WRITE) == 1


def test_of_two_who_have_a_host_one_gets_the_records(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "shop.example.com"))
    bench.settle()
    bench.wait_records(records_of("shop.example.com", bench.target()))
    bench.translator.put(*ingress("api", "shop.example.com"))
    wait_for(lambda: "shop.example.com" in bench.notices("default/api").get("HostServedElsewhere", ""), "the notice")
    bench.wait_records(records_of("shop.example.com", bench.target()))
    bench.translator.remove_ingress("default/web")
    bench.wait_records(records_of("shop.example.com", bench.target("default/api"), "default/api"))
    wait_for(lambda: not bench.notices("default/api"), "no notice")


# Others


def test_records_of_others_are_left_alone_and_told(bench: DnsBench) -> None:
    foreign = [address("hand.example.com"), address("dns.example.com"), text("dns.example.com", mark("other/web", "other")),
               text("a-dns.example.com", mark("other/web", "other")), text("a-taken.example.com", '"v=spf1"'),
               {"Name": "name.example.com", "Type": "CNAME", "TTL": 60, "ResourceRecords": [{"Value": "x.example.org."}]}]
    for record in foreign:
        bench.change("CREATE", record)
    before = bench.records()
    hosts = ["dns.example.com", "hand.example.com", "name.example.com", "taken.example.com"]
    bench.translator.put(*ingress("web", "shop.example.com", *hosts))
    bench.settle()
    bench.wait_records(before | records_of("shop.example.com", bench.target()))
    wait_for(lambda: bench.notices().get("HostNotOurs", "").endswith(": " + ", ".join(hosts)), "the notice")
    bench.translator.remove_ingress("default/web")
    bench.wait_records(before)


def test_a_text_record_of_others_costs_only_the_mark_in_the_old_form(bench: DnsBench) -> None:
    bench.change("CREATE", text("shop.example.com", '"v=spf1"'))
    bench.translator.put(*ingress("web", "shop.example.com"))
    bench.settle()
    bench.wait_records(records_of("shop.example.com", bench.target()) | {("shop.example.com", "TXT"): '"v=spf1"'})
    bench.translator.remove_ingress("default/web")
    bench.wait_records({("shop.example.com", "TXT"): '"v=spf1"'})


def test_a_name_that_others_give_up_is_taken() -> None:
    with DnsBench("--list-interval", "1") as bench:
        bench.change("CREATE", address("shop.example.com"))
        bench.translator.put(*ingress("web", "shop.example.com"))
        wait_for(lambda: bench.notices(), "the notice")
        bench.change("DELETE", address("shop.example.com"))
        bench.wait_records(records_of("shop.example.com", bench.target()))
        wait_for(lambda: not bench.notices(), "no notice")
        bench.change("UPSERT", address("shop.example.com"))
        bench.wait_records(records_of("shop.example.com", bench.target()))


def test_what_others_make_meanwhile_is_not_overwritten(bench: DnsBench) -> None:
    bench.aws.fault("hold", action="ListResourceRecordSets", count=1, when="after")
    hosts = [f"h{n}.example.com" for n in range(6)]
    bench.translator.put(*ingress("web", *hosts))
    wait_for(lambda: bench.aws.calls("ListResourceRecordSets"), "the list")
    bench.change("CREATE", address("h3.example.com", "192.0.2.3"))
    bench.aws.clear()
    bench.settle()
    wait_for(lambda: "h3.example.com" in bench.notices().get("HostNotOurs", ""), "the notice")
    wanted: dict[tuple[str, str], str] = {("h3.example.com", "A"): ""}
    for host in hosts[:3] + hosts[4:]:
        wanted |= records_of(host, bench.target())
    assert bench.records().keys() == wanted.keys()


# Zones


def test_a_host_is_in_the_zone_with_the_longest_name() -> None:
    with DnsBench(zones=(ZONE, "sub.example.com")) as bench:
        bench.translator.put(*ingress("web", "a.example.com", "a.sub.example.com", "sub.example.com"))
        bench.settle()
        target = bench.target()
        bench.wait_records(records_of("a.example.com", target))
        apex = {("sub.example.com", "A"): target, ("sub.example.com", "TXT"): mark()}
        bench.wait_records(records_of("a.sub.example.com", target) | apex, zone=1)
        bench.translator.remove_ingress("default/web")
        bench.wait_records({})
        bench.wait_records({}, zone=1)


def test_an_unknown_zone_does_not_stop_another() -> None:
    with DnsBench("--route53-zone", "Z0UNKNOWN") as bench:
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.settle()
        bench.wait_records(records_of("shop.example.com", bench.target()))
        assert any("event=dns-failed" in line and "NoSuchHostedZone" in line for line in bench.provider.lines)


def test_many_hosts_are_few_calls() -> None:
    with DnsBench(settings={"page_max": 50, "quotas": {"rules-per-application-load-balancer": 200}}) as bench:
        hosts = [f"h{n:03d}.example.com" for n in range(110)] + ["*.w.example.com"]
        bench.translator.put(*ingress("web", *hosts))
        wait_for(lambda: len(bench.records()) == 3 * len(hosts), "all records")
        bench.remembered()
        assert bench.writes().count(WRITE) == 2
        bench.provider.kill()
        bench.aws.forget()
        bench.provider.start()
        bench.translator.wait_connection(2)
        wait_for(lambda: bench.aws.counts().get("ListResourceRecordSets") == 7, "the list")
        bench.quiet()
        assert WRITE not in bench.writes()


# Restarts


def test_a_restart_writes_nothing_and_reads_once(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "shop.example.com"))
    bench.remembered()
    bench.wait_records(records_of("shop.example.com", bench.target()))
    bench.provider.kill()
    bench.aws.forget()
    bench.provider.start()
    bench.translator.wait_connection(2)
    bench.settle()
    bench.quiet(2)
    assert bench.writes() == [] and bench.aws.counts()["ListResourceRecordSets"] == 1


def test_what_went_while_it_was_away_is_removed_once_that_is_known(bench: DnsBench) -> None:
    bench.translator.put(*ingress("web", "a.example.com", "b.example.com"))
    bench.remembered()
    target = bench.target()
    both = records_of("a.example.com", target) | records_of("b.example.com", target)
    bench.wait_records(both)
    bench.provider.kill()
    bench.translator.remove(("virtual-host", "default/web/b.example.com"))
    bench.translator.hold_snapshot()
    bench.provider.start()
    bench.translator.wait_connection(2)
    stays(lambda: bench.records() == both, "the records, before it is known what is wanted", 2)
    bench.translator.hold_snapshot(False)
    bench.wait_records(records_of("a.example.com", target))


@pytest.mark.parametrize("fault, when", [pytest.param("hang", "before", marks=pytest.mark.long), ("hold", "after")])
def test_it_may_be_killed_while_it_writes(fault: str, when: str) -> None:
    """The call is lost with the process, or carried out."""
    def kill(bench: DnsBench) -> None:
        wait_for(lambda: bench.aws.calls(WRITE), "the write")
        bench.provider.kill()
        bench.aws.clear()
        bench.provider.start()

    with DnsBench(start=False) as bench:
        bench.aws.fault(fault, action=WRITE, count=1, when=when)
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.start()
        kill(bench)
        bench.translator.wait_connection(2)
        bench.settle()
        bench.wait_records(records_of("shop.example.com", bench.target()))
        bench.aws.fault(fault, action=WRITE, count=1, when=when)
        bench.aws.forget()
        bench.translator.remove_ingress("default/web")
        kill(bench)
        bench.translator.wait_connection(3)
        bench.wait_records({})


# Load balancers


def test_the_records_follow_a_replacement_once_it_is_active() -> None:
    with DnsBench("--replace-delay", "3") as bench:
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.remembered()
        old = bench.target()
        bench.wait_records(records_of("shop.example.com", old))
        bench.provider.kill()
        bench.aws.configure(provisioning_told=True)
        bench.provider.arguments += ["--scheme", "internal"]
        bench.provider.start()
        new = wait_for(lambda: next((b for b in bench.aws.balancers() if b["scheme"] == "internal"), None), "the new one")
        stays(lambda: bench.records() == records_of("shop.example.com", old), "the records of the old one", 1.5)
        bench.aws.control("set-state", name=new["name"], state="active")
        bench.wait_records(records_of("shop.example.com", new["dns_name"].lower()))
        wait_for(lambda: len(bench.aws.balancers()) == 1, "the old one to go")


def test_a_replaced_load_balancer_stays_while_records_lead_to_it() -> None:
    with DnsBench() as bench:
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.remembered()
        old = bench.target()
        bench.wait_records(records_of("shop.example.com", old))
        bench.provider.kill()
        number = bench.aws.fault("error", action=WRITE, code="AccessDenied", status=403)
        bench.provider.arguments += ["--scheme", "internal", "--replace-delay", "4"]
        bench.provider.start()
        wait_for(lambda: "DnsRecordsFailed" in bench.notices(), "the notice")
        stays(lambda: len(bench.aws.balancers()) == 2, "the old one", 6)
        bench.aws.clear(number)
        wait_for(lambda: len(bench.aws.balancers()) == 1, "the old one to go")
        bench.wait_records(records_of("shop.example.com", bench.target()))


def test_dualstack_load_balancers_have_two_records() -> None:
    with DnsBench("--ip-address-type", "dualstack") as bench:
        bench.translator.put(*ingress("web", "shop.example.com"))
        bench.settle()
        both = {("shop.example.com", "AAAA"): bench.target(), ("aaaa-shop.example.com", "TXT"): mark()}
        bench.wait_records(records_of("shop.example.com", bench.target()) | both)
        bench.translator.remove_ingress("default/web")
        bench.wait_records({})


# Trouble


@pytest.mark.parametrize("fault, more", [
    ("error", {"code": "AccessDenied", "status": 403}),
    ("close", {}),
    pytest.param("page", {}, marks=pytest.mark.long),
])
def test_trouble_with_records_stops_nothing_else(bench: DnsBench, fault: str, more: dict[str, Any]) -> None:
    number = bench.aws.fault(fault, service="route53", action=WRITE, **more)
    bench.translator.put(*ingress("web", "shop.example.com"))
    bench.settle()
    wait_for(lambda: "shop.example.com" in bench.notices().get("DnsRecordsFailed", ""), "the notice")
    assert bench.translator.status("default/web")["state"] == "applied"
    bench.translator.put(*ingress("api", "elsewhere.org"))
    bench.settle("default/api")
    assert not any("event=aws-outage" in line for line in bench.provider.lines)
    bench.aws.clear(number)
    bench.wait_records(records_of("shop.example.com", bench.target()))
    wait_for(lambda: not bench.notices(), "no notice")


def test_throttling_slows_only_records_down(bench: DnsBench) -> None:
    bench.aws.control("rates", on=True, route53=[1, 1])
    hosts = [f"h{n}.example.com" for n in range(5)]
    bench.translator.put(*ingress("web", *hosts))
    bench.settle()
    bench.wait_records({key: value for host in hosts for key, value in records_of(host, bench.target()).items()})
