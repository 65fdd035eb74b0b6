# SPDX-License-Identifier: Apache-2.0
"""Annotations of ingress-nginx that name other servers, through the whole line: who says what may pass, who gets copies, who answers for others; and how
answers come back. All change while the line runs."""
from __future__ import annotations

from typing import Any, Callable, Iterator

import pytest

from lib.answer import Answer
from lib.backend import Backend
from lib.local_proxy import PATIENCE
from lib.others import Other
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.traffic_table import claimed_words
from lib.wait import wait_for

PREFIX = "nginx.ingress.kubernetes.io/"
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
AUTH = "http://auth.security.svc.cluster.local:4180/check"


@pytest.fixture(scope="module", params=PROXIES)
def line(request: pytest.FixtureRequest) -> Iterator[ProxyLine]:
    with ProxyLine(request.param, translator=["--ingress-nginx"]) as running:
        running.name = request.param
        running.cluster.apply(CLASS)
        yield running


@pytest.fixture
def web(line: ProxyLine, pods) -> Backend:
    return serve(line, "web", pods("web"))


def need(line: ProxyLine, *words: str) -> None:
    missing = sorted(set(words) - claimed_words(line.name))
    if missing:
        pytest.skip(f"{line.name} does not claim {', '.join(missing)}")


def serve(line: ProxyLine, name: str, pod: Any, namespace: str = "default", port: int = 80) -> Any:
    """The pod is what the Service leads to."""
    cluster = line.cluster.within(namespace)
    line.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    cluster.apply(cluster.service(name, port), cluster.slice(name, [pod.ip]))
    return pod


def put(line: ProxyLine, name: str, annotations: dict[str, str], service: str = "web", path: str = "/") -> None:
    line.cluster.apply(line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [(path, "Prefix", service, 80)]}],
                                            {PREFIX + key: value for key, value in annotations.items()}, ingressClassName="nginx"))


def ask(line: ProxyLine, name: str, wanted: Callable[[Answer], bool], path: str = "/", **more: Any) -> Answer:
    """The first answer that is as wanted."""
    def answer() -> Answer | None:
        try:
            got = line.proxy.request(f"{name}.test", path, **more)
        except OSError:
            return None
        return got if wanted(got) else None
    return wait_for(answer, f"{path} of {name}.test to be answered as wanted", PATIENCE)


def has(status: int) -> Callable[[Answer], bool]:
    return lambda answer: answer.status == status


def test_another_server_says_what_may_pass(line: ProxyLine, web: Backend, pods) -> None:
    auth = serve(line, "auth", pods("auth", Other, status=200, lines=["X-Auth-User: bob"]), "security", 4180)
    put(line, "asked", {"auth-url": AUTH, "auth-response-headers": "X-Auth-User", "auth-signin": "https://login.test/start"})
    got = ask(line, "asked", has(200), "/x?a=b", headers={"X-Auth-User": "evil"})
    assert [value for name, value in got.json["headers"] if name.lower() == "x-auth-user"] == ["bob"]
    question = auth.questions[-1]
    assert (question.method, question.target, question.one("host")) == ("GET", "/check", "auth.security.svc.cluster.local")
    assert question.one("x-original-url") == "http://asked.test/x?a=b" and question.one("x-sent-from") == "nginx-ingress-controller"
    assert question.one("x-auth-request-redirect") == "/x?a=b" and question.one("x-original-method") == "GET"
    auth.status = 401
    got = ask(line, "asked", has(302), "/x?a=b")
    assert got.headers["location"] == "https://login.test/start?rd=http://asked.test%2Fx%3Fa%3Db"
    auth.status = 403
    assert ask(line, "asked", has(403)).status == 403
    served = web.count
    line.cluster.within("security").delete("service", "auth")
    ask(line, "asked", has(500))
    assert web.count == served
    line.cluster.annotate("ingress", "asked", **{PREFIX + "auth-url": "https://example.com/auth"})
    ask(line, "asked", has(503))
    assert "name of a Service is expected" in line.cluster.wait_event("asked", "InvalidAnnotation")["message"]
    assert web.count == served


def test_a_path_of_the_own_host_says_what_may_pass(line: ProxyLine, web: Backend, pods) -> None:
    auth = serve(line, "oauth", pods("oauth", Other, status=202))
    put(line, "own", {"auth-url": "https://$host/oauth2/auth"})
    line.cluster.apply(line.cluster.ingress("own-oauth", [{"host": "own.test", "paths": [("/oauth2", "Prefix", "oauth", 80)]}], ingressClassName="nginx"))
    ask(line, "own", lambda answer: answer.status == 200 and answer.headers.get("x-backend") != "oauth" and bool(auth.questions))
    assert auth.questions[-1].target == "/oauth2/auth"
    auth.status = 401
    ask(line, "own", has(401))


def test_another_service_answers_for_errors_and_without_endpoints(line: ProxyLine, pods) -> None:
    need(line, "error-pages", "fallback-pool")
    app = serve(line, "app", pods("app", Other, status=404))
    pages = serve(line, "pages", pods("pages", Other, status=200, text=b"sorry"), port=8081)
    put(line, "errors", {"default-backend": "pages", "custom-http-errors": "404"}, service="app")
    got = ask(line, "errors", lambda answer: answer.body == b"sorry", "/x?y")
    assert got.status == 200
    told = pages.questions[-1]
    assert (told.target, told.one("x-code"), told.one("x-original-uri"), told.one("x-service-name")) == ("/?y", "404", "/x?y", "app")
    app.status = 500
    ask(line, "errors", has(500))
    line.cluster.apply(line.cluster.slice("app", [app.ip], conditions={"ready": False, "serving": False}))
    ask(line, "errors", lambda answer: answer.status == 200 and answer.body == b"sorry", "/y")
    told = pages.questions[-1]
    assert (told.target, told.one("x-code")) == ("/y", "503")


def test_copies(line: ProxyLine, web: Backend, pods) -> None:
    need(line, "mirror")
    sink = serve(line, "sink", pods("sink", Other), "monitoring")
    put(line, "copied", {"mirror-target": "http://sink.monitoring.svc$request_uri", "mirror-host": "copies.test"})
    ask(line, "copied", lambda answer: answer.status == 200 and any(one.target == "/z?y=1" for one in sink.questions), "/z?y=1", method="POST", body=b"abc")
    copy = next(one for one in sink.questions if one.target == "/z?y=1")
    assert (copy.method, copy.body, copy.one("host")) == ("POST", b"abc", "copies.test")


def test_how_answers_come_back(line: ProxyLine, pods) -> None:
    serve(line, "told", pods("told", Other, lines=["Location: http://up/x", "Set-Cookie: a=1; Domain=localhost; Path=/y"]))
    put(line, "back", {"proxy-redirect-from": "http://up/", "proxy-redirect-to": "https://back.test/", "proxy-cookie-domain": "localhost example.org",
                       "proxy-cookie-path": "/ /x/", "affinity": "cookie", "session-cookie-name": "S", "session-cookie-path": "/app",
                       "session-cookie-max-age": "60", "session-cookie-samesite": "Lax"}, service="told")
    got = ask(line, "back", lambda answer: answer.headers.get("location") == "https://back.test/x")
    cookies = got.headers["set-cookie"].split(", ")
    assert "a=1; Domain=example.org; Path=/x/y" in cookies
    own = next(cookie for cookie in cookies if cookie.startswith("S="))
    assert "Path=/app" in own and "Max-Age=60" in own and "SameSite=Lax" in own and "Secure" not in own


def test_another_endpoint_is_asked(line: ProxyLine, pods) -> None:
    need(line, "retries")
    bad, good = pods("bad", Other, status=503), pods("good", Other)
    line.cluster.apply(line.cluster.service("both"), line.cluster.slice("both", [bad.ip, good.ip]))
    put(line, "again", {"proxy-next-upstream": "error timeout http_503"}, service="both")
    # Statuses that nobody has wanted before come with a reload.
    wait_for(lambda: {line.proxy.request("again.test", "/").status for _ in range(20)} == {200}, "a 503 to be no answer any more", PATIENCE)
    assert bad.questions and good.questions
    put(line, "again", {"proxy-next-upstream": "off"}, service="both")
    ask(line, "again", has(503))
