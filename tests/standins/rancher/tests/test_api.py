# SPDX-License-Identifier: Apache-2.0
"""The base of the API: URLs, authentication, projects, collections, errors, discovery."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from .conftest import Pair, Rancher, rule


def names(rancher: Rancher, path: str) -> list[str]:
    answer = rancher.api("GET", path)
    assert answer.status == 200, answer.text
    return [r["name"] for r in answer.json["data"]]


def code(answer) -> tuple:
    return (answer.status, answer.json["code"], answer.json.get("fieldName"))


# URLs


@pytest.mark.parametrize("path", ["/v2-beta/stacks", "/v2-beta/stack", "/v2-beta/STACKS", "/v2-beta/Stacks/",
                                  "/v2-beta/projects/1a5/stacks", "/v1/environments",
                                  "/v1/projects/1a5/environment"])
def test_collection_spellings(rancher: Rancher, path: str) -> None:
    rancher.stack()
    assert names(rancher, path) == ["kubernetes-ingress-lbs"]


@pytest.mark.parametrize("path", ["/v2-beta/loadBalancerServices", "/v2-beta/loadbalancerservices",
                                  "/v2-beta/loadBalancerService", "/v2-beta/services"])
def test_camel_case_and_base_type(rancher: Rancher, path: str) -> None:
    made = rancher.make("web").json
    found = rancher.api("GET", path).json["data"]
    assert [(r["id"], r["type"]) for r in found] == [(made["id"], "loadBalancerService")]
    assert found[0]["links"]["self"] == f"{rancher.base}/v2-beta/loadbalancerservices/{made['id']}"


def test_project_part_is_echoed_and_headers_select(rancher: Rancher) -> None:
    rancher.stack()
    scoped = rancher.api("GET", "stacks").json["data"][0]
    plain = rancher.api("GET", "/v2-beta/stacks").json["data"][0]
    assert "/projects/1a5/" in scoped["links"]["self"] and "/projects/" not in plain["links"]["self"]
    for path, headers in (("/v2-beta/stacks", {"X-API-Project-Id": "1a99"}),
                          ("/v2-beta/stacks?projectId=1a99", {}),
                          ("/v2-beta/projects/1a99/stacks", {})):
        assert code(rancher.api("GET", path, headers=headers)) == (403, "Forbidden", None)


def test_forwarded_headers_shape_links(rancher: Rancher) -> None:
    headers = {"X-Forwarded-Host": "rancher.example.com", "X-Forwarded-Proto": "https",
               "X-Forwarded-Port": "8443"}
    assert rancher.api("GET", "stacks", headers=headers).json["links"]["self"] == \
        "https://rancher.example.com:8443/v2-beta/projects/1a5/stacks"


def test_foreign_rows_are_not_found(rancher: Rancher) -> None:
    foreign = rancher.control("add-project", name="other")["id"]
    key = rancher.control("add-key", role="environment", project=foreign)
    pair = base64.b64encode(f"{key['access_key']}:{key['secret_key']}".encode()).decode()
    stack = rancher.stack()
    own = {"Authorization": f"Basic {pair}"}
    assert rancher.api("GET", f"/v2-beta/stacks/{stack}", headers=own).status == 404
    assert rancher.api("GET", f"/v2-beta/projects/1a5/stacks/{stack}", headers=own).status == 403
    assert rancher.api("GET", "/v2-beta/stacks", headers=own).json["data"] == []
    body = {"name": "a", "stackId": stack, "launchConfig": {"imageUuid": "docker:x"}, "lbConfig": {}}
    assert code(rancher.api("POST", "/v2-beta/loadbalancerservices", body, headers=own)) == \
        (422, "InvalidReference", "stackId")


def test_admin_key_sees_all_projects(rancher: Rancher) -> None:
    foreign = rancher.control("add-project", name="other")["id"]
    key = rancher.control("add-key", role="admin", project=None, agent=False)
    pair = base64.b64encode(f"{key['access_key']}:{key['secret_key']}".encode()).decode()
    headers = {"Authorization": f"Basic {pair}"}
    assert len(rancher.api("GET", "/v2-beta/projects", headers=headers).json["data"]) == 2
    assert rancher.api("GET", f"/v2-beta/projects/{foreign}/stacks", headers=headers).status == 200
    assert [p["id"] for p in rancher.api("GET", "/v2-beta/projects").json["data"]] == ["1a5"]


def test_version_one_names(rancher: Rancher) -> None:
    stack = rancher.stack()
    listed = rancher.api("GET", "/v1/environments").json
    old = listed["data"][0]
    assert listed["resourceType"] == "environment"
    assert (old["type"], old["id"], old["kind"]) == ("environment", "1e" + stack[3:], "environment")
    assert old["links"]["self"].endswith(f"/v1/environments/{old['id']}")
    assert rancher.api("GET", f"/v1/environments/{old['id']}").json["name"] == "kubernetes-ingress-lbs"
    body = {"name": "web", "environmentId": old["id"], "launchConfig": {"imageUuid": "docker:x/y:1"},
            "lbConfig": {}}
    made = rancher.api("POST", "/v1/loadbalancerservices", body)
    assert made.status == 201 and made.json["environmentId"] == old["id"]
    assert "environment" in made.json["links"] and "stack" not in made.json["links"]
    assert names(rancher, f"/v1/loadbalancerservices?environmentId={old['id']}") == ["web"]
    assert names(rancher, "/v1/loadbalancerservices?environmentId=1e999") == []


# Discovery


@pytest.mark.parametrize("start", ["/v2-beta", "/v2-beta/projects/1a5", "/v2-beta/schemas", "/v1"])
def test_discovery(rancher: Rancher, start: str) -> None:
    first = rancher.api("GET", start)
    assert first.status == 200
    schemas = rancher.api("GET", first.headers["X-API-Schemas"].removeprefix(rancher.base)).json
    assert schemas["type"] == "collection" and schemas["resourceType"] == "schema"
    by_id = {s["id"]: s for s in schemas["data"]}
    collection = by_id["loadBalancerService"]["links"]["collection"]
    listed = rancher.api("GET", collection.removeprefix(rancher.base)).json
    assert listed["resourceType"] == "loadBalancerService"
    if start.endswith("1a5"):
        assert "/projects/1a5/" in collection
    stack = by_id["environment" if start == "/v1" else "stack"]
    assert "POST" in stack["collectionMethods"] and stack["resourceFields"]["name"]["required"]
    assert by_id["kubernetesService"]["collectionMethods"] == ["GET"]


def test_one_schema_and_roots(rancher: Rancher) -> None:
    assert rancher.api("GET", "schemas/loadbalancerservice").json["id"] == "loadBalancerService"
    assert rancher.api("GET", "schemas/nonsense").status == 404
    assert [v["id"] for v in rancher.api("GET", "/").json["data"]] == ["v1", "v2-beta"]
    project = rancher.api("GET", "/v2-beta/projects/1a5").json
    assert project["links"]["stacks"] == f"{rancher.base}/v2-beta/projects/1a5/stacks"


# Authentication


def test_wrong_keys(rancher: Rancher) -> None:
    for value in ("Basic !!!", "Basic " + base64.b64encode(b"a:b").decode(), "Bearer x",
                  "Basic " + base64.b64encode(f"{rancher.access_key}:wrong".encode()).decode()):
        answer = rancher.api("GET", "stacks", headers={"Authorization": value})
        assert answer.status == 401 and "WWW-Authenticate" in answer.headers
    answer = rancher.api("GET", "stacks", headers={"X-API-No-Challenge": "true"}, auth=False)
    assert answer.status == 401 and "WWW-Authenticate" not in answer.headers


def test_account_headers(rancher: Rancher) -> None:
    headers = rancher.api("GET", "stacks").headers
    assert headers["X-API-ACCOUNT-ID"] == "1a5" and headers["X-API-ACCOUNT-KIND"] == "environment"


def test_rotated_key(rancher: Rancher) -> None:
    old = (rancher.access_key, rancher.secret_key)
    rancher.control("rotate-key")
    assert rancher.api("GET", "stacks").status == 200
    pair = base64.b64encode(":".join(old).encode()).decode()
    assert rancher.api("GET", "stacks", headers={"Authorization": f"Basic {pair}"}).status == 401


def test_inactive_project_refuses_agents(rancher: Rancher) -> None:
    rancher.control("set-fields", id="1a5", fields={"state": "inactive"})
    assert rancher.api("GET", "stacks").status == 401


def test_no_security() -> None:
    with Rancher(dataplane=False, security=False) as open_server:
        answer = open_server.api("GET", "stacks", auth=False)
        assert answer.status == 200 and answer.headers["X-API-ACCOUNT-KIND"] == "admin"


# Collections


@pytest.fixture
def three(rancher: Rancher) -> Rancher:
    target = rancher.target()
    for name, port in (("alpha", 81), ("Beta", 82), ("gamma", 83)):
        rancher.make(name, [rule(target)], [f"{port}:{port}"],
                     externalId=f"x://{name}" if name != "gamma" else None)
    return rancher


FILTERS = [
    ("name=alpha", ["alpha"]), ("name=ALPHA", ["alpha"]), ("name=beta", ["Beta"]),
    ("name=alpha&name=gamma", []), ("name=alpha&name=alpha", ["alpha"]),
    ("name_ne=alpha", ["Beta", "gamma"]), ("name_prefix=al", ["alpha"]),
    ("name_like=%25a%25a", ["alpha", "gamma"]),
   
    ("name_like=_eta", ["Beta"]), ("name_notlike=%25ph%25", ["Beta", "gamma"]),
    ("name_gt=b", ["Beta", "gamma"]),
    ("externalId_null=", ["gamma"]), ("externalId_notnull=1", ["alpha", "Beta"]),
    ("externalId=x%3A%2F%2Falpha", ["alpha"]),
    ("state=active", ["alpha", "Beta", "gamma"]), ("state=inactive", []),
    ("removed_null=1", ["alpha", "Beta", "gamma"]), ("removed_null=false", ["alpha", "Beta", "gamma"]),
    ("removed_notnull=1", []), ("stackId=1st999", []), ("stackId=nonsense", []),
    ("scale=7", ["alpha", "Beta", "gamma"]), ("nonsense=1", ["alpha", "Beta", "gamma"]),
    ("fqdn=x", ["alpha", "Beta", "gamma"]), ("stackId_prefix=zz", ["alpha", "Beta", "gamma"]),
    ("sort=name", ["alpha", "Beta", "gamma"]), ("sort=name&order=desc", ["gamma", "Beta", "alpha"]),
    ("sort=scale&order=desc", ["alpha", "Beta", "gamma"]),
    ("limit=2", ["alpha", "Beta"]), ("limit=2&marker=m2", ["gamma"]),
    ("limit=nonsense", ["alpha", "Beta", "gamma"]),
    ("limit=0", ["alpha", "Beta", "gamma"]), ("limit=2&marker=m9", []),
]


def test_filters_order_and_limits(three: Rancher) -> None:
    for query, wanted in FILTERS:
        assert names(three, "loadbalancerservices?" + query) == wanted, query


def test_limits(rancher: Rancher) -> None:
    for query, limit in (("", 100), ("limit=5", 5), ("limit=9999", 3000), ("limit=-1", 3000),
                         ("limit=x", 100)):
        assert rancher.api("GET", "stacks?" + query).json["pagination"]["limit"] == limit
    rancher.control("configure", max_limit=100)
    assert rancher.api("GET", "stacks?limit=1000").json["pagination"]["limit"] == 100


def test_default_limit_hides_the_rest(rancher: Rancher) -> None:
    rancher.control("seed", count=101)
    body = rancher.api("GET", "loadbalancerservices").json
    assert len(body["data"]) == 100 and body["pagination"]["partial"] is True


def test_kind_by_plural(three: Rancher) -> None:
    target = three.rows("kubernetesService")[0]
    assert three.api("GET", f"loadbalancerservices/{target['id']}").status == 404
    assert three.api("GET", f"services/{target['id']}").json["type"] == "kubernetesService"
    assert {r["type"] for r in three.api("GET", "services").json["data"]} == \
        {"loadBalancerService", "kubernetesService"}


def test_links_can_be_followed(three: Rancher) -> None:
    row = three.api("GET", "loadbalancerservices?name=alpha").json["data"][0]
    local = {name: url.removeprefix(three.base) for name, url in row["links"].items()}
    assert three.api("GET", local["stack"]).json["id"] == row["stackId"]
    assert three.api("GET", local["account"]).json["id"] == "1a5"
    assert [i["id"] for i in three.api("GET", local["instances"]).json["data"]] == row["instanceIds"]
    target = three.api("GET", local["consumedservices"]).json["data"][0]
    users = three.api("GET", target["links"]["consumedbyservices"].removeprefix(three.base)).json["data"]
    assert len(users) == 3
    stack = three.get(row["stackId"], "stacks")
    assert len(three.api("GET", stack["links"]["services"].removeprefix(three.base)).json["data"]) == 3
    assert len(stack["serviceIds"]) == 3
    assert three.api("GET", local["self"] + "/nonsense").status == 404


def test_hosts_and_instances(three: Rancher) -> None:
    host = three.api("GET", "hosts/1h1").json
    assert host["agentIpAddress"] == f"{three.info['network']}.1.1" and host["type"] == "host"
    assert host["publicEndpoints"] and host["instanceIds"]
    instance = three.api("GET", f"instances/{host['instanceIds'][0]}").json
    assert (instance["type"], instance["baseType"], instance["state"]) == ("container", "instance", "running")
    assert instance["hostId"] == "1h1" and instance["ports"]


# Errors


def test_bad_bodies(rancher: Rancher) -> None:
    for body in ("{", "nonsense"):
        assert code(rancher.api("POST", "stacks", body)) == (400, "InvalidBodyContent", None)
    for body in ("[]", '"x"', "5", "null", '[{"name":"a"}]'):
        assert code(rancher.api("POST", "stacks", body)) == (422, "MissingRequired", "name"), "as good as {}"


@pytest.mark.parametrize("path", ["/v3/stacks", "/v2-beta/nonsense", "/v2-beta/stacks/1st99",
                                  "/v2-beta/stacks/x",
                                  "/v2-beta/stacks/1s1", "/v2-beta/services/%31st1/a/b", "/nonsense"])
def test_not_found(rancher: Rancher, path: str) -> None:
    assert code(rancher.api("GET", path)) == (404, "Not Found", None)


def test_not_allowed(rancher: Rancher) -> None:
    target = rancher.target()
    for method, path in (("POST", "kubernetesservices"), ("PUT", f"kubernetesservices/{target}"),
                         ("DELETE", f"kubernetesservices/{target}"), ("POST", "settings"), ("PUT", "stacks"),
                         ("DELETE", "stacks"), ("PATCH", "stacks"), ("PUT", "hosts/1h1")):
        assert rancher.api(method, path, {}).status == 405, (method, path)


def test_body_fields_stand_over_the_query(rancher: Rancher) -> None:
    assert rancher.api("POST", "stacks?name=from-query&externalId=q",
                       {"externalId": "b"}).json["externalId"] == "b"
    assert names(rancher, "stacks") == ["from-query"]


def test_head(rancher: Rancher) -> None:
    answer = rancher.api("HEAD", "stacks")
    assert answer.status == 200 and answer.text == ""


def test_export_and_outputs(rancher: Rancher) -> None:
    made = rancher.make("web").json
    stack = made["stackId"]
    exported = rancher.api("POST", f"stacks/{stack}?action=exportconfig").json
    assert "web:" in exported["dockerComposeConfig"] and "scale: 1" in exported["rancherComposeConfig"]
    assert rancher.api("POST", f"stacks/{stack}?action=addoutputs",
                       {"outputs": {"a": "b"}}).json["outputs"] == \
        {"a": "b"}


def test_https(tmp_path: Path, foo_pair: Pair) -> None:
    for name, text in (("cert", foo_pair.cert), ("key", foo_pair.key)):
        (tmp_path / name).write_text(text)
    with Rancher(dataplane=False, tls_certificate=tmp_path / "cert", tls_key=tmp_path / "key") as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert server.api("GET", "stacks").json["links"]["self"].startswith(server.base)


def test_control_by_port_and_given_keys() -> None:
    with Rancher(dataplane=False, control_port=0, access_key="a", secret_key="b", hosts=1,
                 image="x/y:1") as server:
        assert server.info["control"].startswith("http://127.0.0.1:")
        assert (server.access_key, len(server.rows("host"))) == ("a", 1)
        assert server.api("GET", "settings/lb.instance.image").json["value"] == "x/y:1"
