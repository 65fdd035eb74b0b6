# SPDX-License-Identifier: Apache-2.0
"""Parts of pages that are made from the programs and their tables. In a page they stand between two comments:

    <!-- generated: NAME ARGUMENT... -->
    <!-- end -->

`scripts/reference` writes what belongs there, `scripts/reference --check` says where something else stands.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

from lib.definitions import table, tables
from lib.markdown import ROOT, repository_files

DAEMONS = ("watcher", "translator", "provider-rancher", "provider-elb", "provider-haproxy", "provider-nginx", "proxy")
# Where a program is not in the folder of its name.
FOLDERS = {"sluice-proxy": "provider-supervisor", "proto-describe": "proto"}
REGION = re.compile(r"(<!-- generated: ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)

VALUES = {
    "COUNT": "a whole number, {least} to {greatest}",
    "SWITCH": "`true` or `false`",
    "TEXT": "text, up to {greatest} bytes",
    "NAME": "a DNS label",
    "OBJECT": "the name of an object in the same namespace",
    "HOST": "a host name without wildcard",
    "PROTOCOL": "`http`, `https`, `h2c`, `grpc` or `grpcs`",
    "NAMESPACES": "names of namespaces, separated by commas",
    "STICKINESS": "lines `key: value`",
    "PROBES": "JSON",
    "LABELS": "text",
}


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def build_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("SLUICE_BUILD") or ROOT / "build")


def program(name: str) -> pathlib.Path:
    path = build_folder() / FOLDERS.get(name, name.removeprefix("sluice-")) / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not built: ninja -C {build_folder()}, or set SLUICE_BUILD")
    return path


def printed(name: str, *arguments: str) -> str:
    return subprocess.run(
        [program(name), *arguments], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def options_of(name: str) -> str:
    """What the program says of itself. Folders that the build was told are shown as what they are under."""
    text = printed(name, "--help=markdown")
    settings = json.loads((build_folder() / "meson-info/intro-buildoptions.json").read_text())
    prefix = next(one["value"] for one in settings if one["name"] == "prefix")
    return text.replace(f"{prefix}/share/", "PREFIX/share/")


def environment() -> str:
    """Every variable that stands for an option, and whose."""
    found: dict[str, tuple[str, list[str]]] = {}
    for name in DAEMONS:
        for option, variable in re.findall(
            r"^\| `([^`]+)` \| `(\w+)` \|", printed("sluice-" + name, "--help=markdown"), re.MULTILINE
        ):
            found.setdefault(variable, (option.split()[0], []))[1].append(name)
    lines = ["| variable | option | of |", "| --- | --- | --- |"]
    for variable, (option, names) in sorted(found.items()):
        lines.append(
            f"| `{variable}` | `{option}` | {'all' if len(names) == len(DAEMONS) else ', '.join(names)} |"
        )
    return "\n".join(lines) + "\n"


def annotations() -> str:
    lines = ["| annotation | in the Go original | value | meaning |", "| --- | --- | --- | --- |"]
    for _, _, kind, _, canonical, original, least, greatest, meaning in table(
        "translator/annotations.def", "ANNOTATION"
    ):
        family = "NAME" if kind == "LABELS" else ""
        names = [f"`{name}{family}`" if name else "" for name in (canonical, original)]
        lines.append(
            f"| {names[0]} | {names[1]} | {VALUES[kind].format(least=least, greatest=greatest)} | {cell(meaning)} |"
        )
    return "\n".join(lines) + "\n"


def request_annotations() -> str:
    """Of the sluice dialect: what is done with requests."""
    lines = ["| annotation | value | meaning | example | when it is wrong |", "| --- | --- | --- | --- | --- |"]
    scopes = {word: scope for word, scope, _, _ in table("translator/annotations.def", "POLICY")}
    for _, name, policy, value, meaning, example in table("translator/dialects/sluice.def", "ROUTE_ANNOTATION"):
        wrong = "left out" if scopes[policy] == "COMFORT" else "no requests" if name.startswith("sluice.io/canary") else "503"
        lines.append(f"| `{name}` | {cell(value)} | {cell(meaning)} | `{cell(example)}` | {wrong} |")
    return "\n".join(lines) + "\n"


NGINX_VALUES = {
    "BOOL": "`true` or `false`",
    "NUMBER": "whole number",
    "SIZE": "number, with `k`, `m` or `g`",
    "SECONDS": "seconds",
    "NETWORKS": "addresses and networks",
    "SERVICE": "name of a Service",
    "RAW": "text of nginx's configuration",
}
NGINX_VERDICTS = {"SAME": "same", "DECIDED": "decided", "NEAR": "near", "NOTHING": "not needed", "LATER": "not yet", "REFUSED": "refused"}


def nginx_annotations() -> str:
    """All annotations of ingress-nginx, and how many there are of each verdict."""
    rows = table("translator/dialects/ingress_nginx.def", "NGINX_ANNOTATION")
    text = "| annotation | value | on nginx | on HAProxy | a wrong value | word of `policies` | what differs, or what to do |\n"
    text += "| --- | --- | --- | --- | --- | --- | --- |\n"
    for _, name, alias, kind, bad, word, on_nginx, on_haproxy, words, note in rows:
        names = f"`{name}`" + (f", `{alias}`" if alias else "")
        value = NGINX_VALUES.get(kind, "text")
        if kind in ("WORDS", "WORD_LIST"):
            value = ", ".join(f"`{one.removeprefix('=')}`" for one in words.split())
        text += (f"| {names} | {value} | {NGINX_VERDICTS[on_nginx]} | {NGINX_VERDICTS[on_haproxy]} | "
                 f"{'' if kind == 'RAW' else 'closes' if bad == 'CLOSES' else 'left out'} | {f'`{word}`' if word else ''} | {cell(note or '')} |\n")
    text += "\n| verdict | on nginx | on HAProxy |\n| --- | --- | --- |\n"
    for verdict, shown in NGINX_VERDICTS.items():
        text += f"| {shown} | {sum(row[6] == verdict for row in rows)} | {sum(row[7] == verdict for row in rows)} |\n"
    return text + f"| all | {len(rows)} | {len(rows)} |\n"


def nginx_options() -> str:
    """All global options of ingress-nginx, in the order of their table."""
    path = "translator/dialects/ingress_nginx_options.def"
    rows = {row[1]: row[2:3] + row[-3:] for macro in ("NGINX_DEFAULT", "NGINX_AUTH", "NGINX_OWN") for row in table(path, macro)}
    rows |= {row[0]: row[1:2] + row[-3:] for row in table(path, "NGINX_UNHEEDED")}
    text = "| option | value by itself | on nginx | on HAProxy | what differs, or what to do |\n| --- | --- | --- | --- | --- |\n"
    for key, (usual, on_nginx, on_haproxy, note) in sorted(rows.items()):
        text += f"| `{key}` | {f'`{cell(usual)}`' if usual else ''} | {NGINX_VERDICTS[on_nginx]} | {NGINX_VERDICTS[on_haproxy]} | {cell(note or '')} |\n"
    return text


def nginx_snippets() -> str:
    rows = table("translator/dialects/ingress_nginx_snippets.def", "SNIPPET")
    return "| directive | instead |\n| --- | --- |\n" + "".join(f"| `{directive}` | {cell(instead)} |\n" for directive, instead in rows)


def said(row: dict) -> str:
    """What the Ingresses of a row, and its options, say."""
    settings = [f"{key}: {value}" for key, value in row.get("options", {}).items()]
    settings += [f"{key}: {value}" for wish in row.get("ingresses", []) for key, value in wish.get("annotations", {}).items()]
    return ", ".join(f"`` {cell(text.encode('unicode_escape').decode())} ``" for text in dict.fromkeys(settings))


def shown_by(row: dict) -> str:
    """What is to be known of a row that is not the same everywhere, or has no requests of its own."""
    words = [f"{name}: {why}" for name, why in (("nginx", row.get("differs", {}).get("nginx")), ("HAProxy", row.get("differs", {}).get("haproxy"))) if why]
    if len(words) == 2 and len(set(row["differs"].values())) == 1:
        words = [row["differs"]["nginx"]]
    words += [f"{head}{row[key]}" for key, head in (("original", "in the original "), ("within", "as "), ("no_row", "")) if key in row]
    return cell("; ".join(words + ([f"shown by `tests/{row['elsewhere']}`"] if "elsewhere" in row else [])))


def nginx_cases() -> str:
    """The tables of tests/cases/ingress-nginx, group by group."""
    folder = ROOT / "tests/cases/ingress-nginx"
    groups = json.loads((folder / "groups.json").read_text())
    files = [json.loads((folder / f"{name}.json").read_text()) for name in groups["tables"]]
    rows = sorted((row for file in files for row in file.get("rows", []) + file.get("options", [])), key=lambda row: row["id"])
    text = ""
    for group, about in groups["groups"].items():
        text += f"## {group}: {about['about']}\n\n| case | what it is about | annotations and options | nginx | HAProxy | what differs |\n| --- | --- | --- | --- | --- | --- |\n"
        for row in (row for row in rows if row["id"].split("-")[0] == group):
            verdicts = ["" if "asks" not in row else "differs" if name in row.get("differs", {}) else "safer" if "original" in row else "same"
                        for name in ("nginx", "haproxy")]
            text += f"| {row['id']} | {cell(row['about'])} | {said(row)} | {' | '.join(verdicts)} | {shown_by(row)} |\n"
        text += "\n"
    return text


def policies() -> str:
    rows = table("translator/annotations.def", "POLICY")
    text = "| word of `policies` | what it can honour |\n| --- | --- |\n"
    return text + "".join(f"| `{word}` | {cell(meaning)} |\n" for _, _, word, meaning in rows)


def labels() -> str:
    rows = table("provider-rancher/labels.def", "SAFE_LABEL")
    return "".join(
        f"- `{key}`{' and what begins with it' if family == 'true' else ''}\n" for key, family in rows
    )


def metrics() -> str:
    text = ""
    owners = {
        "common": "Every process",
        "proto": "The links, of every process",
        "watcher": "The watcher",
        "translator": "The translator",
        "provider-common": "Every provider in C",
        "provider-proxy": "The providers for HAProxy and nginx",
        "provider-rancher": "The provider for Rancher",
        "provider-elb": "The provider for AWS",
    }
    found = tables("metrics.def", "METRIC")
    for folder in sorted(found, key=list(owners).index):
        text += f"### {owners[folder]}\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n"
        for _, kind, name, _, choices, meaning in found[folder]:
            shown = name + {"COUNTER": "_total", "HISTOGRAM": "_bucket"}.get(kind, "")
            names = re.findall(r"(\w+)=", choices.replace("SLUICE_VERSION", "")) + (
                ["le"] if kind == "HISTOGRAM" else []
            )
            text += f"| `{shown}` | {kind.lower()} | {', '.join(f'`{one}`' for one in names)} | {cell(meaning)} |\n"
        text += "\n"
    return text


def reasons() -> str:
    """In the groups that the table has."""
    text = ""
    for group in (ROOT / "sluicectl/reasons.def").read_text().split("\n/* ")[1:]:
        title, _, rows = group.partition("*/")
        found = re.findall(r'^REASON\("(\w+)", "(.*)"\)$', rows, re.MULTILINE)
        if found:
            text += f"### Reasons: {title.strip()}\n\n| reason | what to do |\n| --- | --- |\n"
            text += "".join(f"| `{word}` | {cell(remedy) or 'nothing'} |\n" for word, remedy in found) + "\n"
    return text


def sent(raw: str) -> str:
    """The bytes of a request as code in a cell, without the Host that most have."""
    text = raw.replace("Host: a.test\r\n", "", 1) if raw.count("Host:") == 1 else raw
    return f"`` {cell(text.removesuffix(chr(10)).removesuffix(chr(13)).encode('unicode_escape').decode())} ``"


def reached(outcome: dict) -> str:
    """What the client gets, and each request that a backend got."""
    words = [] if outcome["status"] == 200 else [str(outcome["status"] or "no answer of HTTP/1")]
    for got in outcome.get("backends", []):
        more = [f"`{name}: {value}`" for name, value in sorted(got["headers"].items()) if name != "x-forwarded-host"]
        text = f"`` {got['line']} `` to `{got['host']}`"
        words.append(", ".join([text, *more, *([f"body `{got['body']}`"] if "body" in got else [])]))
    return cell("; then ".join(words).encode("ascii", "backslashreplace").decode())


def requests(which: str) -> str:
    """Of tests/cases/requests.json: what is the `same` on both proxies, or their `differences`."""
    rows = json.loads((ROOT / "tests/cases/requests.json").read_text())["rows"]
    if which == "differences":
        text = "| request | sent | HAProxy | nginx | why |\n| --- | --- | --- | --- | --- |\n"
        for row in rows:
            if "why" in row:
                text += (f"| {row['section']}: {row['about']} | {sent(row['raw'])} | {reached(row['haproxy'])} "
                         f"| {reached(row['nginx'])} | {cell(row['why'])} |\n")
        return text
    text = ""
    for section in dict.fromkeys(row["section"] for row in rows):
        text += f"### {section}\n\n| request | sent | what comes of it |\n| --- | --- | --- |\n"
        text += "".join(f"| {row['about']} | {sent(row['raw'])} | {reached(row['both'])} |\n"
                        for row in rows if row["section"] == section and "both" in row)
        text += "\n"
    return text


MAKERS = {
    "options": options_of,
    "environment": environment,
    "annotations": annotations,
    "nginx-annotations": nginx_annotations,
    "nginx-cases": nginx_cases,
    "nginx-options": nginx_options,
    "nginx-snippets": nginx_snippets,
    "policies": policies,
    "request-annotations": request_annotations,
    "labels": labels,
    "metrics": metrics,
    "reasons": reasons,
    "requests": requests,
}


def renewed(text: str) -> str:
    """The text of a page with every part as the programs have it now."""

    def made(match: re.Match[str]) -> str:
        name, *arguments = match[2].split()
        if name not in MAKERS:
            raise ValueError(f"nobody makes the part {match[2]!r}")
        return match[1] + MAKERS[name](*arguments).strip("\n") + "\n" + match[3]

    return REGION.sub(made, text)


def pages_with_parts() -> list[pathlib.Path]:
    return [
        ROOT / name for name in repository_files("*.md") if "<!-- generated: " in (ROOT / name).read_text()
    ]
