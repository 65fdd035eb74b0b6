# SPDX-License-Identifier: Apache-2.0
"""docker/kubernetes: what the folders render to is complete, confined, and has no more rights than are used."""
from __future__ import annotations

import pytest

from .manifests import KINDS, rendered, rendered_with, rights

STOP_TIMEOUT_S = 20  # what --stop-timeout is without being set


def one(objects: list[dict], kind: str) -> dict:
    found = [each for each in objects if each["kind"] == kind]
    assert len(found) == 1, (kind, found)
    return found[0]


@pytest.fixture(name="objects", params=KINDS)
def rendered_objects(request):
    return rendered(request.param)


def test_everything_is_there(objects):
    assert {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment", "IngressClass",
            "PodDisruptionBudget"} <= {each["kind"] for each in objects}
    binding, account = one(objects, "ClusterRoleBinding"), one(objects, "ServiceAccount")
    assert binding["roleRef"]["name"] == one(objects, "ClusterRole")["metadata"]["name"]
    assert [(row["name"], row["namespace"]) for row in binding["subjects"]] == [
        (account["metadata"]["name"], one(objects, "Namespace")["metadata"]["name"])]
    cluster_wide = {"Namespace", "ClusterRole", "ClusterRoleBinding", "IngressClass"}
    assert all(each["metadata"].get("namespace") == "sluice-system" for each in objects if each["kind"] not in cluster_wide)


def test_the_class_is_the_watchers(objects):
    watcher = containers(objects)["watcher"]
    assert {row["name"]: row["value"] for row in watcher["env"]}["SLUICE_INGRESS_CLASS"] == one(objects, "IngressClass")["metadata"]["name"]


def test_selectors_find_the_pod(objects):
    deployment = one(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    budget = one(objects, "PodDisruptionBudget")["spec"]
    selectors = [deployment["spec"]["selector"]["matchLabels"], budget["selector"]["matchLabels"]]
    selectors += [each["spec"]["selector"] for each in objects if each["kind"] == "Service"]
    for selector in selectors:
        assert selector and selector.items() <= labels.items()
    # With 0 no node could ever be drained.
    assert budget["maxUnavailable"] >= 1


def containers(objects: list[dict]) -> dict[str, dict]:
    spec = one(objects, "Deployment")["spec"]["template"]["spec"]
    return {each["name"]: each for each in spec["containers"]}


def ours(objects: list[dict]) -> dict[str, dict]:
    """All containers but the proxy and the one that shows the translator's admin server."""
    return {name: each for name, each in containers(objects).items() if name not in ("proxy", "metrics")}


def test_nothing_but_its_own_end_stops_a_proxy(objects):
    """No probe restarts it, and no other container starts its program."""
    all_of = containers(objects)
    if "proxy" not in all_of:
        return
    assert not {"livenessProbe", "readinessProbe", "startupProbe"} & all_of["proxy"].keys()
    assert all_of["proxy"]["lifecycle"].keys() == {"preStop"}
    variables = {name: {row["name"]: row["value"] for row in all_of[name]["env"]} for name in ("proxy", "provider")}
    assert variables["provider"]["SLUICE_START_SUPERVISOR"] == "false"
    assert variables["provider"]["SLUICE_PROXY_DIR"] == variables["proxy"]["SLUICE_PROXY_DIR"]
    shared = {mount["mountPath"]: mount["name"] for mount in all_of["provider"]["volumeMounts"]}
    assert {mount["mountPath"]: mount["name"] for mount in all_of["proxy"]["volumeMounts"]}.items() <= shared.items()


@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_a_pod_that_ends_accepts_connections_until_nobody_sends_any(kind):
    """The provider too: nodes lead traffic to a pod that ends only while it is ready."""
    objects = rendered(kind)
    delays = {name: each["lifecycle"]["preStop"]["exec"]["command"] for name, each in containers(objects).items() if "lifecycle" in each}
    assert delays.keys() == {"provider", "proxy"} and delays["provider"] == delays["proxy"]
    program, seconds = delays["proxy"]
    grace = one(objects, "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert program == "sleep" and int(seconds) >= 10 and grace >= int(seconds) + STOP_TIMEOUT_S + 5


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_are_on_nodes_of_their_own(kind):
    pods = one(rendered_with(kind, "election"), "Deployment")["spec"]["template"]
    (spread,) = pods["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    assert spread["labelSelector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()


def test_containers_are_confined(objects):
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
    all_of = containers(objects)
    assert {"translator", "watcher", "provider", "metrics"} == all_of.keys() - {"proxy"}
    users = {name: each["securityContext"]["runAsUser"] for name, each in all_of.items()}
    # They share the proxy's files and its socket.
    assert users.pop("proxy", users["provider"]) == users["provider"]
    assert len(set(users.values())) == len(users)
    for each in all_of.values():
        context = each["securityContext"]
        assert context["readOnlyRootFilesystem"] and context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert each["resources"]["limits"]["memory"]


def test_probes_ask_the_admin_server_at_its_port(objects):
    for name, each in ours(objects).items():
        if name == "translator":
            continue
        variables = {row["name"]: row["value"] for row in each["env"]}
        assert [(port["name"], f"0.0.0.0:{port['containerPort']}") for port in each["ports"]] == [(name, variables["SLUICE_ADMIN_ADDRESS"])]
        assert each["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": name}
        # Clients are not to be led away from a proxy that serves because another container is not ready.
        assert ("readinessProbe" in each) == (name == "provider")
    assert containers(objects)["provider"]["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "provider"}


def test_the_translator_has_no_network_and_another_shows_its_admin_server(objects):
    """Liveness is checked inside the container, so that the end of the other one cannot be taken for its own."""
    translator, metrics = (containers(objects)[name] for name in ("translator", "metrics"))
    variables = {row["name"]: row["value"] for row in translator["env"]}
    assert "ports" not in translator and "SLUICE_ADMIN_ADDRESS" not in variables
    assert all(each["livenessProbe"]["exec"] == {"command": ["/usr/bin/sluice-alive"]} and "readinessProbe" not in each for each in (translator, metrics))
    (port,) = metrics["ports"]
    assert metrics["args"] == ["serve", "translator", "--listen", f"0.0.0.0:{port['containerPort']}"] and port["name"] == "translator"
    assert variables["SLUICE_ADMIN_ALLOW_UID"] == str(metrics["securityContext"]["runAsUser"])
    assert metrics["volumeMounts"] == [{"name": "admin", "mountPath": variables["SLUICE_ADMIN_DIR"], "readOnly": True}]
    assert metrics["env"] == [{"name": "SLUICE_RUNTIME_DIR", "value": variables["SLUICE_ADMIN_DIR"]}]


def test_the_translators_user_may_look_into_all(objects):
    all_of = ours(objects)
    for name, each in all_of.items():
        variables = {row["name"]: row["value"] for row in each["env"]}
        folders = {mount["mountPath"]: mount.get("readOnly", False) for mount in each["volumeMounts"]}
        assert folders[variables["SLUICE_ADMIN_DIR"]] is False
        if name != "translator":
            assert variables["SLUICE_ADMIN_ALLOW_UID"] == str(all_of["translator"]["securityContext"]["runAsUser"])


def test_the_translator_lets_each_in_at_its_own_socket(objects):
    all_of = containers(objects)
    users = {name: str(all_of[name]["securityContext"]["runAsUser"]) for name in ("watcher", "provider")}
    assert all_of["translator"]["args"] == ["--allow-watcher-uid", users["watcher"], "--allow-provider-uid", users["provider"]]


def test_credentials_are_mounted_once(objects):
    mounted = {name: {mount["name"] for mount in each["volumeMounts"]} for name, each in containers(objects).items()}
    assert [name for name, volumes in mounted.items() if "token" in volumes] == ["watcher"]
    assert [name for name, volumes in mounted.items() if "keys" in volumes] in ([], ["provider"])
    for name, each in ours(objects).items():
        sockets = [mount for mount in each["volumeMounts"] if mount["name"] == "sockets"]
        assert [mount.get("readOnly", False) for mount in sockets] == [name != "translator"]


def test_rights_are_the_same_everywhere():
    assert all(rights(rendered(kind)) == rights(rendered(KINDS[0])) for kind in KINDS)


@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_a_proxy_on_every_node(kind):
    objects = rendered_with(kind, "daemonset")
    assert not [each for each in objects if each["kind"] in ("Deployment", "PodDisruptionBudget", "Service")]
    daemons = one(objects, "DaemonSet")
    assert "topologySpreadConstraints" not in daemons["spec"]["template"]["spec"]
    assert not {"replicas", "strategy"} & daemons["spec"].keys() and daemons["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    plain = {each["name"]: each for each in one(rendered(kind), "Deployment")["spec"]["template"]["spec"]["containers"]}
    pods = daemons["spec"]["template"]
    changed = {each["name"]: each for each in pods["spec"]["containers"]}
    assert [port["hostPort"] for port in changed["proxy"]["ports"]] == [80, 443]
    assert all("hostPort" not in port for name, each in changed.items() if name != "proxy" for port in each.get("ports", []))
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pods["spec"].keys()
    given = {row["name"]: row["value"] for row in changed["watcher"]["env"]}
    namespace, _, selector = given["SLUICE_PUBLISH_PODS"].partition("/")
    assert given["SLUICE_LEADER_ELECT"] == "true" and namespace == daemons["metadata"]["namespace"]
    assert dict([selector.split("=")]).items() <= pods["metadata"]["labels"].items()
    assert "SLUICE_PUBLISH_SERVICE" not in {row["name"] for row in changed["translator"]["env"]}
    assert changed["provider"] == plain["provider"]
    asked = [rule for each in objects if each["kind"] == "Role" for rule in each["rules"] if rule["resources"] == ["pods"]]
    asked += [rule for each in objects if each["kind"] == "ClusterRole" for rule in each["rules"] if rule["resources"] == ["nodes"]]
    assert [rule["verbs"] for rule in asked] == [["list", "watch"], ["list", "watch"]]
