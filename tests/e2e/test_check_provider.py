# SPDX-License-Identifier: Apache-2.0
"""scripts/check-provider: the providers hold all its checks, and each check finds a fault when there is one."""
from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
from typing import Callable

import pytest

from lib.elb_bench import CLUSTER, FAST as FAST_AWS
from lib.line import build_folder, is_sanitized
from lib.provider_bench import FAST
from lib.proxies import PROXIES, proxy_class
from standins.elb.client import Aws
from standins.rancher.client import RancherStandin

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts/check-provider"

ENDED = "has ended|closed the link"  # the link is seen to close before the program is seen to end, or the other way round

# Checks, the faults of tests/conformance/broken.py that make them fail, and what is then said.
FAULTS = [
    ("waits-for-the-socket", "never-waits", ENDED),
    ("says-hello-at-once", "hello-late", "in vain for its hello"),
    ("refuses-a-version-it-does-not-speak", "any-version", "keeps the link open"),
    ("takes-the-greatest-common-version", "only-version-1", "closed the link"),
    ("refuses-a-role-that-is-no-translator", "any-role", "keeps the link open"),
    ("understands-nothing-before-our-hello", "no-manners", "keeps the link open"),
    ("answers-ping", "no-pong", "in vain for pong"),
    ("answers-ping", "wrong-pong", "in vain for pong"),
    ("reads-frames-in-any-pieces", "one-frame-at-a-time", ENDED),
    ("skips-what-it-does-not-know", "knows-all", ENDED),
    ("skips-what-it-does-not-know", "knows-all-kinds", ENDED),
    ("skips-what-it-does-not-know", "knows-all-kinds-to-remove", ENDED),
    ("skips-what-it-does-not-know", "knows-all-keys", ENDED),
    ("takes-a-frame-of-the-greatest-size", "small-frames", "closed the link"),
    ("survives-garbage", "trusting", ENDED),
    ("survives-malformed-objects", "no-forms", ENDED),
    ("survives-half-a-frame", "whole-frames-only", ENDED),
    ("does-not-believe-lengths", "generous", "has grown"),
    ("comes-back-after-bye", "takes-bye-for-good", ENDED),
    ("pauses-before-it-comes-back", "hasty", "came back after"),
    ("pings-when-it-hears-nothing", "no-ping", "(instead of|in vain for) a ping"),
    ("cuts-a-hung-peer-off", "patient", "stays with a peer"),
    ("cuts-off-a-peer-without-hello", "patient", "stays with a peer"),
    ("says-nothing-before-the-commit", "eager", "lb-status before the first commit"),
    ("says-nothing-before-the-commit", "remembers-what-it-said", "lb-status before the first commit"),
    ("applies-a-snapshot", "mute", "in vain for lb-status"),
    ("tells-where-traffic-enters", "no-addresses", "in vain for addresses"),
    ("tells-addresses-in-one-order", "shuffles", "the same in another order"),
    ("speaks-only-of-what-it-was-asked-for", "ghosts", "nobody has asked"),
    ("applies-a-change", "only-snapshots", "in vain for lb-status"),
    ("takes-an-object-that-has-not-changed", "changes-only", ENDED),
    ("forgets-what-was-not-committed", "long-memory", "never committed"),
    ("repeats-statuses-after-a-snapshot", "says-it-once", "in vain for lb-status"),
    ("repeats-addresses-after-a-snapshot", "addresses-once", "in vain for addresses"),
    ("survives-its-own-death", "stale-lock", ENDED),
    ("survives-its-own-death", "crashes", "ended by signal 11"),
    ("survives-death-while-it-works", "stale-lock", ENDED),
    ("survives-a-lost-link", "whole-snapshots-only", ENDED),
    ("removes-what-is-removed", "never-again", "in vain for lb-status"),
    ("removes-what-is-removed", "ignores-remove", "whose removal was committed"),
    ("removes-what-a-snapshot-lacks", "snapshots-only-add", "does not exist"),
    ("ignores-the-removal-of-the-unknown", "sure-of-itself", ENDED),
    ("answers-absent", "nothing-is-absent", "in vain for lb-status"),
    ("leaves-alone-what-is-kept", "cannot-keep", "says failed"),
    ("survives-dangling-references", "no-loose-ends", ENDED),
    ("refuses-what-it-cannot-do-and-goes-on", "only-good-certificates", ENDED),
    ("holds-many-objects", "small-state", ENDED),
    ("coalesces-many-changes", "few-commits", ENDED),
    ("goes-on-without-a-translator", "gives-up", ENDED),
    ("sends-only-valid-messages", "careless", "lb-event: reason is missing"),
    ("ends-when-it-is-asked-to", "deaf-to-signals", "runs on"),
    ("takes-what-is-within-the-limits", "few-values", "after 524288 values: it closed the link"),
    ("refuses-what-is-beyond-the-limits", "counts-nothing", "open after 524289 values$"),
    ("refuses-what-is-beyond-the-limits", "looks-at-no-text", "open after 17 levels; NUL in a text that is skipped; a skipped key that holds NUL$"),
    ("refuses-what-is-beyond-the-limits", "obeys-everybody", "open after a status; the settings of a watcher$"),
    ("serves-what-it-calls-applied", "applied-too-soon", "says applied.*ConnectionRefusedError"),
    ("serves-a-change", "serves-the-first-for-good", "in vain for a change of rules or endpoints"),
    ("serves-no-more-what-is-removed", "serves-what-is-removed", "still served .* after the removal of its virtual host"),
    ("serves-nothing-of-what-is-absent", "serves-what-is-absent", "says applied of what is absent"),
    ("serves-only-what-was-committed", "serves-at-once", "serves what was not committed"),
    ("goes-on-serving-without-a-link", "serves-only-with-a-link", "serves no more when the link is lost"),
    ("does-what-its-words-say", "lists-what-it-does-not-do", "request-[a-z-]+: "),
    ("forgets-what-the-next-snapshot-lacks", "serves-what-snapshots-lack", "still served .* after a snapshot without it"),
    ("says-the-hello-of-the-link", "another-hello", "capabilities is .*merged.*, and on the link .*per-ingress"),
    ("renders-a-state", "renders-for-all-to-read", "has mode 0644"),
    ("renders-a-state", "archives-something-else", "the archive and the folder differ"),
    ("renders-a-state", "renders-nothing", "nothing is written"),
    ("renders-only-what-is-whole", "renders-what-is-cut-off", "no commit: exit code 0"),
    ("reports-without-applying", "reports-what-is-not", "it reports hello, lb-status default/web applied"),
]

# What tests/conformance/broken.py says instead of its status, and how check-provider names the field and the reason.
INVALID = {
    "status-without-id": r"lb-status: id is missing",
    "status-with-an-empty-id": r"lb-status: id is empty",
    "status-with-a-rev-of-text": r"lb-status: rev is '7', not a number up to 18446744073709551615",
    "status-with-a-rev-below-zero": r"lb-status: rev is -7, not a number",
    "status-of-an-unknown-state": r"lb-status: state is 'done', none of pending, applied, failed",
    "failed-without-a-message": r"lb-status: message is missing, although state is failed",
    "message-of-5000-bytes": r"lb-status: message has 5000 bytes, more than 4096",
    "message-with-nul": r"lb-status: message holds NUL",
    "message-that-is-no-utf8": r"lb-status: message is no UTF-8: .* at byte 1",
    "key-that-stands-twice": r"lb-status: id stands twice",
    "key-that-is-a-number": r"lb-status: body has a key that is no text",
    "key-that-is-a-list": r"lb-status: body has a key that is no text",
    "address-that-is-none": r"lb-status: addresses\[1\]\.ip is '192\.0\.2\.300', no IP address",
    "address-without-ip-and-name": r"lb-status: addresses\[1\] has neither ip nor hostname",
    "address-with-ip-and-name": r"lb-status: addresses\[1\] has both ip and hostname",
    "name-that-is-none": r"lb-status: addresses\[1\]\.hostname is 'http://lb\.example\.com', no host name",
    "port-of-70000": r"lb-status: addresses\[1\]\.ports\[1\]\.port is 70000, not a number up to 65535",
    "addresses-that-are-a-text": r"lb-status: addresses is no list",
    "notice-without-a-word": r"lb-status: notices\[0\]\.reason is 'it broke', no CamelCase word",
    "message-of-the-translator": r"commit is not for a provider to send",
    "body-that-is-a-list": r"lb-status: body is no map",
    "type-that-is-a-list": r"no array of a type and a map: \[\[\], \{\}\]",
    "type-that-is-a-map": r"no array of a type and a map",
    "message-that-is-a-number": r"no array of a type and a map: 7",
    "no-msgpack": r"is no msgpack",
    "bytes-behind-the-message": r"is no msgpack",
    "nested-20-times": r"maps and arrays within each other more than 16 times",
    "nested-100000-times": r"is no msgpack",
    "four-billion-items": r"is no msgpack",
    "a-million-values": r"more than 524288 values",
    "empty-frame": r"a frame of 0 bytes",
    "frame-of-four-gigabytes": r"a frame of 4294967295 bytes",
    "control-characters": r"\\x1b\[2J\\x1b\]0;title\\x07\\r\\n\\u202e",
    "endless": r"more than 200000 messages on one connection",
    "stops-reading": r"has not read what was sent within 10 s",
    "crashes": r"ended by signal 11 \(Segmentation fault\)",
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(CHECK), *arguments], capture_output=True, text=True, timeout=600, check=False, cwd=ROOT,
                          env={**os.environ, **environment})


def holds(*arguments: str, **environment: str) -> None:
    done = run("--timeout", "90", *arguments, **environment)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if not line.startswith("ok")) + done.stderr


def names() -> list[str]:
    sys.path.insert(0, str(ROOT / "tests"))
    from conformance.__main__ import CHECKS  # pylint: disable=import-outside-toplevel
    return [item.name for item in CHECKS]


def example_in_python(grouping: str) -> None:
    holds(*(["--quick"] if grouping == "merged" else []), "examples/provider.py", "--grouping", grouping, "192.0.2.7")


def example_that_serves(grouping: str) -> None:
    checks = [check for check, _, _ in FAULTS if check.startswith(("serves-", "goes-on-serving-", "forgets-what-the-next-"))]
    only = [word for check in checks for word in ("--only", check)]
    holds("--traffic", *only, "tests/conformance/broken.py", "serves", "--grouping", grouping, "{address}")


def example_in_c(grouping: str) -> None:
    holds(*(["--quick"] if grouping == "merged" else []), str(build_folder() / "examples/example-provider"), "--grouping", grouping,
          "--address", "192.0.2.7")


def provider_rancher() -> None:
    rancher = RancherStandin(settings=FAST, hosts=3)
    try:
        rancher.control("set-service", uid="uid-web", name="web", at_once=True)
        holds("--quick", "--service-uid", "uid-web", str(build_folder() / "provider-rancher/sluice-provider-rancher"), "--poll-interval", "0.3",
              "--idle-poll-interval", "0.3", "--endpoint-grace", "1",
              CATTLE_URL=rancher.url, CATTLE_ACCESS_KEY=rancher.access_key, CATTLE_SECRET_KEY=rancher.secret_key)
    finally:
        rancher.stop()


def provider_elb() -> None:
    with Aws() as aws:
        holds("--quick", str(build_folder() / "provider-elb/sluice-provider-elb"), "--cluster-name", CLUSTER, "--vpc-id", aws.vpc, *FAST_AWS,
              **aws.environment())


def local_proxy(name: str) -> None:
    one = proxy_class(name)
    holds("--quick", "--traffic", str(one.program()), "--state-dir", "{folder}/state", "--bind-address", "{address}", *one.own_arguments)


# Providers of which all checks hold; the longest first. Programs of ours take part in those of `OURS`.
OURS: dict[str, Callable[[], None]] = {
    "c": lambda: example_in_c("per-ingress"),
    **{name: functools.partial(local_proxy, name) for name in PROXIES},
    "rancher": provider_rancher,
    "elb": provider_elb,
    "c-merged": lambda: example_in_c("merged"),
}
PROVIDERS = OURS if is_sanitized() else {
    "python": lambda: example_in_python("per-ingress"),
    **OURS,
    "python-merged": lambda: example_in_python("merged"),
    "serves": lambda: example_that_serves("per-ingress"),
    "serves-merged": lambda: example_that_serves("merged"),
}


@pytest.fixture(scope="module")
def runs(request):
    """The runs of check-provider that the tests of this file look at: several at a time, because most of them wait."""
    asked = [item.callspec.params for item in request.session.items if item.module is request.module and hasattr(item, "callspec")]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        of_providers = {params["provider"]: pool.submit(PROVIDERS[params["provider"]]) for params in asked if "provider" in params}
        of_faults = {f"{params['check']}: {params['fault']}": pool.submit(run, "--timeout", "20", "--only", params["check"], "tests/conformance/broken.py",
                                                  params["fault"], "{address}") for params in asked if "fault" in params}
        yield of_providers | of_faults


@pytest.mark.parametrize("provider", PROVIDERS)
def test_all_checks_hold(provider, runs):
    runs[provider].result()


@pytest.mark.skipif(is_sanitized(), reason="no program of ours takes part: once is enough")
@pytest.mark.parametrize("check, fault, said", FAULTS, ids=[fault for _, fault, _ in FAULTS])
def test_each_fault_is_found(check, fault, said, runs):
    done = runs[f"{check}: {fault}"].result()
    assert done.returncode == 1, f"{done.stdout}{done.stderr}"
    assert re.search(said, done.stdout, re.MULTILINE), done.stdout


def test_each_check_finds_a_fault():
    assert {check for check, _, _ in FAULTS} == set(names())


@pytest.mark.skipif(is_sanitized(), reason="no program of ours takes part: once is enough")
@pytest.mark.parametrize("name", INVALID)
def test_what_is_invalid_is_named_and_harms_nobody(name):
    only = "takes-a-frame-of-the-greatest-size" if name == "stops-reading" else "applies-a-snapshot"
    done = run("--timeout", "10" if name == "stops-reading" else "90", "--only", only, "tests/conformance/broken.py", name, "192.0.2.7")
    assert done.returncode == 1 and not done.stderr, f"{done.stdout}{done.stderr}"
    assert re.search(INVALID[name], done.stdout), done.stdout
    assert all(c.isprintable() or c == "\n" for c in done.stdout)


def test_usage():
    assert run().returncode == 2
    assert run("--only", "nonsense", "x").returncode == 2
    assert run("/no/such/program").returncode == 2
    assert run("--help").returncode == 0
    listed = run("--list")
    assert listed.returncode == 0 and [line.split()[0] for line in listed.stdout.splitlines()] == names()
