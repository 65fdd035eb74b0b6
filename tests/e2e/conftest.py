# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests. One line of daemons and stand-ins serves many tests; each test has a namespace of its own."""
from __future__ import annotations

import contextlib
import inspect
import itertools

import pytest

from lib.backend import Backend
from lib.envtest import assets
from lib.line import Line
from lib.provider_bench import Bench
from lib.wait import wait_for
from lib.web import serve

_numbers = itertools.count(1)


# What makes a Kubernetes cluster for a test.
CLUSTERS = {"Line", "ElbLine", "ProxyLine", "RancherReplicas", "ElbReplicas", "kube_server"}


def has_cluster(item: pytest.Function, made_by: set[str]) -> bool:
    """The test or a fixture of it names one of CLUSTERS, itself or by a function of its file."""
    functions = [item.function, *(definitions[-1].func for definitions in item._fixtureinfo.name2fixturedefs.values())]
    return any(made_by & set(inspect.unwrap(function).__code__.co_names) for function in functions if inspect.isfunction(function))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a real API server, only what talks to one is told: the others would show what they show without it."""
    if not assets():
        return
    made_by = {}
    for module in {item.module for item in items}:
        named = {name: set(inspect.unwrap(function).__code__.co_names) for name, function in vars(module).items() if inspect.isfunction(function)}
        named |= {name: set(vars(made)["__init__"].__code__.co_names) for name, made in vars(module).items()
                  if inspect.isclass(made) and made.__module__ == module.__name__ and inspect.isfunction(vars(made).get("__init__"))}
        found = set(CLUSTERS)
        while more := {name for name, names in named.items() if names & found} - found:
            found |= more
        made_by[module] = found
    chosen = [item for item in items if "e2e" not in item.path.parts or has_cluster(item, made_by[item.module])]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(scope="module")
def line():
    """A running line, shared by the tests of a file."""
    with Line() as running:
        yield running


@pytest.fixture
def namespace(line):
    """A fresh namespace as (cluster, name); everything in it is gone afterwards, load balancers included."""
    name = f"t{next(_numbers)}"
    cluster = line.cluster.within(name)
    line.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield cluster
    for daemon in line.daemons():
        if not daemon.is_running():
            daemon.start()
    # One by one, because a bare API server has no controller that empties namespaces.
    cluster.kubectl("delete", "ingress,service,secret,endpointslice", "--all", "--timeout=60s")
    line.cluster.kubectl("delete", "namespace", name, "--wait=false")
    leftover = [lb["name"] for lb in line.rancher.rows("loadBalancerService") if lb["name"].startswith(f"{name}-")]
    for lb in leftover:
        wait_for(lambda lb=lb: line.rancher.balancer(lb) is None, f"{lb} to be gone", 60)


@pytest.fixture
def backends():
    """Starts backends by name; all are stopped afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda name, port=8080: stack.enter_context(Backend(name, port))


@pytest.fixture
def pods():
    """Starts backends of any class of lib/backend.py by name; all are stopped afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda name, kind=Backend, **more: stack.enter_context(kind(name, **more))


@pytest.fixture
def apply(proxy):
    """proxy.apply() of the proxy that the tests of a file share; takes away afterwards what was added."""
    before = dict(proxy.translator.objects)
    yield proxy.apply
    proxy.apply(gone=[key for key in proxy.translator.objects if key not in before])


@pytest.fixture
def served(line, namespace, backends):
    """A namespace in which the Ingress of lib/web.py serves."""
    serve(line, namespace, backends)
    return namespace


@pytest.fixture
def bench():
    """provider-rancher alone, before a Rancher that knows the Service `web`."""
    with Bench() as running:
        running.services("web")
        yield running
