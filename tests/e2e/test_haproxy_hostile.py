# SPDX-License-Identifier: Apache-2.0
"""Nothing that a tenant writes reaches HAProxy's configuration as anything but data: hostile texts in every field, then a walk of all files."""
from __future__ import annotations

import base64
import pathlib
import re
import shutil
import subprocess

from lib.backend import Backend
from lib.certs import Authority, self_signed
from lib.haproxy import HAProxy
from lib.local_proxy import LB, certificate, host, pool, rule_of


AUTHORITY = Authority("good")
HOSTILE = [
    'quote"', "apostrophe'", "back\\slash", "back\\", "semi;colon", "brace{", "brace}", "#comment", "$HOME", "${HOME}", "per%cent", "%[src]",
    "%[env(HOME)]", "||", "&&", "|sh", "`id`", "$(id)", "a b", "tab\there", "line\nbackend evil", "line\r\nglobal", "\rlone", "\x1b[31m",
    "\x7f", "\u2028", "\u2029", "\ufeff", "f\u00fc", "{ req.hdr(a) }", "<<", "x <<\n\nshow info", "@1 show info", "-f /etc/passwd", "--", "!",
    "unix@/tmp/x", "ssl crt /etc/shadow", "../../etc/passwd", "*", "*.*", "a,b", "a:b", "a/b", "]", "[::1]", "0", "-1", "x" * 5000, "y" * 15000,
]

# Every directive of ours: what stands outside of our quotes. A line that fits none of these is not ours.
WORD = r'"(?:[^"\\\n]|\\.)*"'
NAME = r"[A-Za-z0-9_.:/@\[\]-]+"
LINES = [re.compile(text) for text in (
    r"", r"#.*",
    r"global", r"defaults(?: slots)?", r"frontend (?:port|tls)\d{5}", r"frontend (?:idle|questions|inner)", r"backend (?:again|pages|s\d{6}(?: from slots)?|loop\d{5}|none|closed|probe|limits|rates|rest)",
    r"\tdescription \"sluice [0-9a-f]{16} \d+\"",
    rf"\tbind {NAME}(?: v6only| mode 600| accept-proxy| ssl crt-list {NAME}| alpn h2,http/1\.1| (?:crt|ca)-ignore-err all| strict-sni| ca-file {NAME} verify none)*",
    r"\tmode (?:http|tcp)", r"\tbalance (?:roundrobin|leastconn|source)", r"\thash-type consistent",
    rf"\tcookie {WORD} (?:insert indirect|rewrite|prefix)(?: nocache)?(?: postonly)?(?: httponly)? dynamic(?: domain {WORD})?",
    rf"\tdynamic-cookie-key {WORD}", r"\toption httpchk", rf"\thttp-check send meth GET uri {WORD} ver HTTP/1\.1 hdr Host localhost",
    r"\ttimeout [a-z-]+ \d+(?:ms|s|h|d)", r"\toption [a-z-]+(?: 1| delete)?", r"\tretries (?:3|10)", r"\tretry-on (?:conn-failure empty-response|425)", r"\thttp-reuse never", r"\tstats (?:socket|timeout) .*", r"\thard-stop-after \d+s",
    r"\ttune\.pool-(?:low|high)-fd-ratio \d+", r"\tdefault-server weight 100 pool-purge-delay \d+s pool-low-conn \d+",
    r"\.(?:if|elif) feature\(LUA\)(?: && !version_atleast\(2\.8\))?", r"\.else", r"\.endif",
    rf"\tlua-load(?:-per-thread)? {NAME}/haproxy\.d/lua-off\.lua(?: policies)?",
    r"\ttune\.http\.maxhdr 256", r"\thttpclient\.ssl\.verify none", rf"\tsetenv SLUICE_(?:QUESTIONS|CHECKS) unix@{NAME}", r"\ttune\.maxrewrite 3072", r"\ttune\.pattern\.cache-size 0", r"\ttune\.ssl\.default-dh-param 2048", r"\tssl-default-bind-options ssl-min-ver TLSv1\.2",
    r"\tserver (?:inner|idle) unix@[a-zA-Z0-9/._-]+",
    r"\tserver loop unix@[a-zA-Z0-9/._-]+ send-proxy-v2",
    r"\tserver [0-9a-f._-]+ \[?[0-9a-f.:]+\]?:\d+(?: weight 0)?(?: proto h2| ssl verify none alpn http/1\.1 sni var\(txn\.n\),host_only)?"
    r"(?: check inter \d+ms rise \d+ fall \d+(?: port \d+)?)?",
    rf"\tserver [0-9a-f._-]+_t[a-z2-7]{{16}} \[?[0-9a-f.:]+\]?:\d+(?: weight 0)? ssl verify required ca-file {NAME}/a[a-z2-7]{{16}}\.pem "
    rf"verifyhost [a-z0-9.-]+ crt {NAME}/i[a-z2-7]{{16}}\.pem sni str\([a-z0-9.-]+\) alpn http/1\.1",
    rf"\tserver [0-9a-f._-]+_t[a-z2-7]{{16}} \[?[0-9a-f.:]+\]?:\d+(?: weight 0)? ssl verify none ssl-min-ver TLSv1\.2 ssl-max-ver TLSv1\.3 ciphers [A-Z0-9:-]+ alpn http/1\.1",
    r"\tdefault_backend (?:none|closed|loop\d{5})", r"\tuse_backend (?:%\[var\((?:txn|sess)\.b\)\]|closed)(?: if \{ .* \})?",
    r"\tacl is_allowed src(?: [0-9a-f.:]+/\d+)+", r"\tacl (?!is_allowed )[a-z_]+ .*", r"\ttcp-request connection reject(?: if !is_allowed)?",
    r"\ttcp-request (?:content|inspect-delay|session) .*", r"\thttp-(?:request|response|after-response) .*", r"\tstick-table .*", r"\tunique-id-format %\[uuid,regsub\(-,,g\)\]",
)]


def check_files(proxy: HAProxy) -> None:
    """Every line of the configuration is a directive of ours, every row has a key and a value of ours, and HAProxy takes all of it."""
    folder = proxy.state_dir / "haproxy.d"
    for path in sorted(folder.glob("*.cfg")):
        for line in path.read_text().split("\n"):
            assert any(form.fullmatch(line) for form in LINES), f"{path.name}: {line!r}"
    for path in (proxy.state_dir / "maps").iterdir():
        for line in path.read_bytes().split(b"\n"):
            value = rb"[A-Za-z0-9._~/:?=,*@()|%&;!-]{1,13312}" if path.name == "rules.map" else rb"(?:s\d{6}|probe|[hpr][a-z2-7]{16})"
            assert re.fullmatch(rb"|#.*|[\x21-\x7e]{1,5000} " + value, line), f"{path.name}: {line!r}"
    for line in (proxy.state_dir / "certs/list.txt").read_text().split("\n"):
        assert re.fullmatch(r"|# checksum [0-9a-f]+|[a-zA-Z0-9/._-]+\.pem(?: \[verify optional ca-file [a-zA-Z0-9/._-]+ no-ca-names\])?(?: (?:\*\.)?[a-z0-9.-]+)+", line), line
    checked = subprocess.run([shutil.which("haproxy"), "-c", "-f", str(folder)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    # What is the same whatever tenants write is the only part that rules of the forms above leave open.
    rules = {line for path in folder.iterdir() for line in path.read_text().split("\n") if line.startswith(("\thttp-request", "\ttcp-request", "\tacl"))}
    assert not [line for line in rules if re.search(r"evil|HOME|passwd|quote|5000|xxxx|yyyy", line)]


def stanzas(text: str, number: int) -> list[dict]:
    """Objects with the text wherever the protocol lets one stand."""
    path, pool_id = text, f"pool {text}"
    text = text[:1000]
    odd = [{"ip": text[:64], "port": 80, "active": True}, {"ip": "10.0.0.1", "port": 80, "active": True, "node": text[:253], "zone": text[:253]}]
    pem = text.encode("utf-8", "replace")
    pair = self_signed("s.internal")
    tls = {"verify": "ca", "ca": pair.pem + pem, "server_name": "s.internal", "client_chain": pem + b"\n" + pair.pem, "client_key": pair.key}
    return [
        pool(f"ca {text}"[:1000], *odd, protocol="https", tls=tls),
        pool(f"name {text}"[:1000], *odd, protocol="https", tls={**tls, "server_name": text[:253]}),
        pool(f"key {text}"[:1000], *odd, protocol="https", tls={**tls, "client_key": pem}),
        pool(f"ciphers {text}"[:1000], *odd, protocol="https", tls={"verify": "off", "nameless": True, "ciphers": ["AES128-SHA", text[:253]], "max_depth": 7}),
        pool(f"terms {text}"[:1000], *odd, protocol="https", tls={"verify": "off", "nameless": True, "min_version": 12, "max_version": 13, "ciphers": ["AES128-SHA", "AES256-SHA"]}),
        pool(pool_id[:1000], *odd, service={"namespace": text[:63], "name": text[:253], "uid": text[:128]}, port_name=text[:253],
             external_name=text[:255], stickiness={"name": text[:253], "cookie": text[:253], "domain": text[:255]},
             health_check={"service": text[:253], "type": "http", "path": "/" + path, "interval_ms": 4294967295}),
        host(text[:255], rule_of("/" + path, pool_id[:1000], ingress=f"default/{number}"), rule_of(text, "web", ingress=f"default/{number}"),
             rule_of("/fine", "web"), id=f"{LB}/{text}"[:1000]),
        host(f"h{number}.test", rule_of("/" + path, "web", "exact", ingress=f"default/{number}"), rule_of("/ok", "web")),
        {"kind": "users", "id": f"users {text}"[:1000], "users": [{"name": text[:256], "hash": "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}, {"name": "~", "hash": text[:256]}]},
        {"kind": "policy", "id": f"guarded {text}"[:1000], "ingress": f"default/{number}", "basic_auth": {"realm": text[:256], "users": f"users {text}"[:1000]}},
        {"kind": "policy", "id": f"listed {text}"[:1000], "ingress": f"default/{number}", "basic_auth": {"realm": "r", "users": f"users {text}"[:1000]}},
        host(f"c{number}.test", rule_of("/", "web"), client_tls={"ca": AUTHORITY.pem, "subject": text, "error_location": [{"text": text}]}),
        host(f"e{number}.test", rule_of("/", "web"), client_tls={"ca": AUTHORITY.pem, "verify": "asked", "unasked": True, "error_path": "/" + path},
             handshake={"ciphers": [text[:253]], "order": "client"}),
        host(f"d{number}.test", rule_of("/", "web"), client_tls={"ca": text.encode("utf-8", "replace"), "crl": text.encode("utf-8", "replace")}),
        host(f"g{number}.test", rule_of("/listed", "web", policy=f"listed {text}"[:1000]), rule_of("/", "web", policy=f"guarded {text}"[:1000])),
        {**certificate("x", self_signed(f"h{number}.test"), text[:255], f"h{number}.test"), "id": f"cert {text}"[:1000], "name": text[:253],
         "namespace": text[:63]},
    ]


def test_hostile_texts_in_every_field():
    """They are refused by name or stand as data; everything else is served, and no line of the configuration is theirs."""
    with Backend("web") as web, HAProxy() as proxy:
        proxy.send(certificate("default", self_signed("default.test")), pool("web", web), host("good.test", ("/", "web")),
                   proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.wait_applied()
        for number, text in enumerate(HOSTILE):
            proxy.send(*stanzas(text, number))
        proxy.apply()
        assert proxy.reached("good.test") == "web"
        for number in range(len(HOSTILE)):
            assert proxy.reached(f"h{number}.test", "/ok") == "web"
            name = HOSTILE[number][:256]
            pair = base64.b64encode(f"{name}:password".encode("utf-8", "replace")).decode()
            good = {401} if ":" in name else {"web"}
            assert proxy.reached(f"g{number}.test", "/listed") == 401
            assert proxy.reached(f"g{number}.test", "/listed", headers={"Authorization": f"Basic {pair}"}) in good
            assert proxy.reached(f"g{number}.test") in (401, 503)
            assert proxy.reached(f"c{number}.test", tls=True) in (302, 400, 503) and proxy.reached(f"d{number}.test", tls=True) in (400, 503)
        check_files(proxy)
        for path in (proxy.state_dir / "maps").iterdir():
            running = {line.split(" ", 2)[1] for line in proxy.cli(f"show map {path}").splitlines() if line.startswith("0x")}
            filed = {line.split(" ")[0] for line in path.read_text().splitlines() if not line.startswith("#")}
            assert running == filed
        assert proxy.provider.events("proxy-answer") == [] and proxy.provider.events("check-failed") == []
        refused = {notice["ingress"] for notice in proxy.translator.status(LB)["notices"] if notice["reason"] in ("PathRefused", "HostRefused")}
        assert {f"default/{HOSTILE.index(text)}" for text in ("a b", "line\nbackend evil", "\u2028", "\x7f", "y" * 15000)} <= refused
        # All of it goes again, and HAProxy starts from what is left.
        for (kind, name) in [key for key in proxy.translator.objects if key[1] not in (LB, "web", f"{LB}/good.test", "default")]:
            proxy.remove((kind, name))
        proxy.apply()
        check_files(proxy)
        proxy.kill_proxy()
        proxy.wait_answers("good.test")


def test_hostile_paths_of_cookies():
    """They stand in a rule that writes the cookie, and say nothing but the path."""
    with Backend("web") as web, HAProxy() as proxy:
        paths = ["/" + text[:1000] for text in HOSTILE]
        pools = [pool(f"p{number}", web, service={"namespace": f"n{number}", "name": "web", "uid": f"u{number}"},
                      stickiness={"cookie": "C", "affinity": {"path": path, "secure": "never", "expires_s": 60}}) for number, path in enumerate(paths)]
        proxy.apply(*pools, *(host(f"h{number}.test", ("/", f"p{number}")) for number in range(len(paths))), proxy.balancer())
        for number, path in enumerate(paths):
            cookie = proxy.request(f"h{number}.test").headers["set-cookie"]
            is_kept = all(" " <= c <= "~" and c != ";" for c in path)
            assert re.fullmatch(r"C=[0-9a-f]{16}; Expires=[A-Za-z0-9,: ]+ GMT; Path=" + re.escape(path if is_kept else "/") + "; HttpOnly", cookie), path
        check_files(proxy)
        assert proxy.provider.events("check-failed") == []


def test_hostile_pem():
    """What stands around and between PEM blocks does not reach HAProxy's socket, where an empty line would end a payload."""
    good = self_signed("a.test")
    poison = b"\n\nset map x y z\nshutdown sessions server a/b\n\n"
    with Backend("web") as web, HAProxy() as proxy:
        pairs = [self_signed(f"p{i}.test") for i in range(4)]
        pairs[0].pem = poison + pairs[0].pem.replace(b"-----BEGIN", poison + b"-----BEGIN") + poison
        pairs[1].pem = pairs[1].pem.replace(b"\n", b"\r\n") + pairs[1].pem.replace(b"\n", b"\n\n")
        pairs[2].pem = pairs[2].pem.replace(b"\nMII", b"\n; del map all\nMII")
        pairs[3].key = b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 100 + b"\n-----END PRIVATE KEY-----\n"
        proxy.send(certificate("default", good), pool("web", web), host("", ("/", "web")), proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.wait_applied()
        proxy.apply(*(certificate(f"p{i}", pair, f"p{i}.test") for i, pair in enumerate(pairs)))
        assert proxy.request("p0.test", tls=True).certificate == pairs[0].der
        assert proxy.request("p1.test", tls=True).certificate == pairs[1].der
        assert proxy.request("p2.test", tls=True).certificate == good.der
        assert proxy.request("p3.test", tls=True).certificate == good.der
        for path in (proxy.state_dir / "certs").glob("*.pem"):
            assert pathlib.Path(path).stat().st_mode & 0o777 == 0o600
            assert re.fullmatch(rb"(-----BEGIN [A-Z ]+-----\n([A-Za-z0-9+/=]+\n)+-----END [A-Z ]+-----\n)+(# checksum [0-9a-f]+\n)?", path.read_bytes())


def test_hostile_fronts():
    """Networks and the header of proxies in front, of a load balancer: what is neither is nobody's."""
    everything = {key: True for key in ("believes_scheme", "believes_port", "believes_host", "appends", "keeps_claims", "request_id")}
    with Backend("web") as web, HAProxy() as proxy:
        proxy.send(certificate("default", self_signed("default.test")), pool("web", web), host("good.test", ("/", "web")))
        for text in ["CF-Connecting-IP", *(each[:253] for each in HOSTILE if re.search(r"[^a-zA-Z0-9-]", each))]:
            forwarding = {"trusted": [*(each[:253] for each in HOSTILE), "127.0.0.77/32"], "client_header": text, "https_port": 443, **everything}
            proxy.apply(proxy.balancer(https=True, default_certificate="default", forwarding=forwarding))
            check_files(proxy)
        assert proxy.reached("good.test") == "web"
        assert proxy.provider.events("check-failed") == []
