# SPDX-License-Identifier: Apache-2.0
"""What the pages say is what the programs do: generated parts, commands, their output, options, metrics, events, manifests.

```console   `$ COMMAND` and what it prints: run here, and compared; `...` on a line of its own stands for any lines
```sh        checked word by word, see lib/commands.py
```yaml      read; kustomizations are built, Ingresses pass `sluicectl lint`
```text      shown as it is
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
import yaml

from lib import commands
from lib.definitions import tables
from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.markdown import ROOT, Block, Page, pages, repository_files
from lib.proxy_line import ProxyLine
from lib.reference import program, renewed
from lib.wait import wait_for

PAGES = pages()
TOOLS = ("kubectl ", "systemctl ", "journalctl ", "podman ", "docker ", "sluicectl ", "sluice-", "scripts/")
# Stand-ins are programs of the tests, with pages of their own.
OF_OPERATORS = [page for page in PAGES if "standins" not in page.path.parts]
LANGUAGES = {"", "console", "sh", "text", "yaml", "c", "python"}


def name_of(page: Page) -> str:
    return str(page.path.relative_to(ROOT))


def blocks(language: str) -> list:
    return [
        pytest.param(page, block, id=f"{name_of(page)}:{block.line}")
        for page in PAGES
        for block in page.blocks
        if block.language == language
    ]


def test_generated_parts_are_what_the_programs_say():
    done = subprocess.run(
        [ROOT / "scripts/reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SLUICE_BUILD": str(build_folder())},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_say_what_they_are(page):
    for number, line in enumerate(page.prose, 1):
        assert not line.startswith(tuple("    " + tool for tool in TOOLS)), f"{page.where(number)}: a command belongs in ```sh"
    for block in page.blocks:
        assert (
            block.language in LANGUAGES
        ), f"{page.where(block.line)}: ```{block.language} is checked by nobody"
        assert block.language == "console" or not re.search(
            r"^\$ ", block.text, re.MULTILINE
        ), f"{page.where(block.line)}: a command with its output belongs in ```console, one without in ```sh"


@pytest.mark.parametrize("page,block", blocks("sh"))
def test_commands_name_what_exists(page: Page, block: Block):
    problems = commands.check_script_text(block.text)
    assert not problems, f"{page.where(block.line)}: " + "; ".join(problems)


def shell_path() -> str:
    folders = [
        str(program(name).parent)
        for name in ("sluicectl", *("sluice-" + daemon for daemon in commands.DAEMONS))
    ]
    return ":".join([*folders, os.environ["PATH"]])


def exchanges(block: Block) -> list[tuple[str, str]]:
    """Commands and what each is said to print."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
    assert sum(output.count("\n") + 1 for _, output in found) == block.text.count(
        "\n"
    ), "the block does not begin with a command"
    return found


def is_runnable(command: str) -> bool:
    """It asks no running line, and changes nothing."""
    for words in commands.simple_commands(command):
        if words[0] in {"head", "grep"}:
            continue
        offline = words[0] == "sluicectl" and (
            words[1] in {"lint", "render", "completion"}
            or (words[1] == "migrate" and "--manifests" not in words)
            or (words[1] == "explain" and "-f" in words)
            or (words[1] == "diff" and "--against" in words)
        )
        if "--to" in words or not (
            offline or (words[0].startswith("sluice") and words[-1] in {"--help", "--version"})
        ):
            return False
    return True


@pytest.mark.parametrize("page,block", blocks("console"))
def test_commands_print_what_the_page_shows(page: Page, block: Block):
    for command, expected in exchanges(block):
        assert is_runnable(
            command
        ), f"{page.where(block.line)}: `{command}` cannot be run here; write it as ```sh"
        problems = commands.check_script_text(command)
        assert not problems, f"{page.where(block.line)}: " + "; ".join(problems)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "CATTLE_"))
        }
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env={**environment, "PATH": shell_path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        pattern = "".join(
            r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected.splitlines()
        )
        assert re.fullmatch(
            pattern, done.stdout
        ), f"{page.where(block.line)}: `{command}` prints\n{done.stdout}"


def kustomization_problems(text: str, folder: pathlib.Path) -> list[str]:
    """It is built with the real kustomize, with this repository in the place of the one it names; what comes out is looked at."""
    local = re.sub(r"https://example\.com/sluice//", os.path.relpath(ROOT, folder) + "/", text)
    (folder / "kustomization.yaml").write_text(local)
    done = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        return [done.stderr]
    made = [content for content in yaml.safe_load_all(done.stdout) if content]
    problems = [
        problem
        for content in made
        if content["kind"] == "Deployment"
        for problem in deployment_problems(content)
    ]
    stages = re.findall(r"^FROM \S+ AS (\S+)", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    wanted = yaml.safe_load(text)
    for image in wanted.get("images", []):
        if image["name"].removeprefix("sluice-") not in stages:
            problems.append(f"docker/Dockerfile makes no {image['name']}")
        if f"image: {image['newName']}:" not in done.stdout:
            problems.append(f"nothing uses the image {image['name']}")
    return problems + [
        problem
        for generator in wanted.get("configMapGenerator", [])
        for literal in generator.get("literals", [])
        for problem in commands.check_assignment(literal, None)
    ]


def deployment_problems(content: dict) -> list[str]:
    """Its containers are ours, and read the variables and options that they are given."""
    problems = []
    for container in content["spec"]["template"]["spec"]["containers"]:
        names = {
            "watcher": ["sluice-watcher"],
            "translator": ["sluice-translator"],
            "proxy": ["sluice-proxy"],
            "provider": ["sluice-" + daemon for daemon in commands.DAEMONS if daemon.startswith("provider")],
        }.get(container["name"])
        if names is None:
            problems += (
                commands.check_script_text(shlex.join(["sluicectl", *container["args"]]))
                if container["name"] == "metrics"
                else []
                if container["name"] == "sluicectl"
                else [f"there is no container {container['name']}"]
            )
            continue
        problems += [
            f"{container['name']} does not read {one['name']}"
            for one in container.get("env", [])
            if not any(one["name"] in commands.variables_of(name) for name in names)
        ]
        problems += [
            f"{container['name']} has no option {word}"
            for word in container.get("args", [])
            if word.startswith("--")
            and not any(word.split("=")[0] in commands.options_of(name) for name in names)
        ]
    return problems


@pytest.mark.parametrize("page,block", blocks("yaml"))
def test_manifests_are_good(page: Page, block: Block, tmp_path):
    problems = []
    documents = [content for content in yaml.safe_load_all(block.text) if content]
    if any(
        content.get("kind", "Kustomization") == "Kustomization" and "resources" in content
        for content in documents
    ):
        problems += kustomization_problems(block.text, tmp_path)
    if any(content.get("kind") == "Ingress" for content in documents):
        done = subprocess.run(
            [program("sluicectl"), "lint", "-f", "-"],
            input=block.text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        problems += [] if done.returncode == 0 else [done.stdout + done.stderr]
    assert not problems, f"{page.where(block.line)}: " + "; ".join(problems)


def test_every_refusal_of_a_path_is_on_the_page():
    source = (ROOT / "translator/paths.c").read_text()
    told = {text.replace('\\"', '"') for text in re.findall(r'"((?:holds|must|more|longer|empty)(?:[^"\\]|\\.)*)"', source)}
    text = (ROOT / "doc/configuration.md").read_text()
    shown = {row.strip() for row in re.findall(r"^\| ([^|]+) \|", text[text.index("## Paths of an Ingress"):text.index("## Annotations")], re.MULTILINE)}
    assert told == shown - {"---"}


# Those that AWS makes itself, of what it is asked for: tags of what is created, and what a load balancer needs of its network.
IMPLIED = {"ec2:CreateTags", "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways", "iam:CreateServiceLinkedRole"}
ACTION = re.compile(r'"((?:Add|Authorize|Change|Create|Delete|Deregister|Describe|Get|Import|List|Modify|Register|Remove|Revoke|Set(?!Identifier"))[A-Z][A-Za-z]+)"')


def policy_statements() -> list[dict]:
    return json.loads((ROOT / "examples/aws/iam-policy.json").read_text())["Statement"]


def actions_of(statement: dict) -> list[str]:
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def test_the_policy_allows_what_is_called():
    allowed = {action for statement in policy_statements() for action in actions_of(statement)} - IMPLIED
    called = {match for path in (ROOT / "provider-elb").glob("*.c") for match in ACTION.findall(path.read_text())}
    assert {action.split(":")[1] for action in allowed} == called


def test_the_policy_lets_nothing_be_changed_that_is_not_ours():
    for statement in policy_statements():
        conditions = {key for clause in statement.get("Condition", {}).values() for key in clause}
        is_tagged = bool(conditions & {"aws:ResourceTag/sluice.io/cluster", "aws:RequestTag/sluice.io/cluster"})
        for action in actions_of(statement):
            # A group is created in a VPC, which is nobody's; the group itself has the tag.
            is_bare = statement["Sid"] == "CreateSecurityGroupIn" or action == "iam:CreateServiceLinkedRole"
            # Records have no tags: a zone is named, and what is in it is marked by other records.
            is_bare = is_bare or statement["Resource"] == "arn:aws:route53:::hostedzone/ZONE"
            assert is_tagged or is_bare or action.split(":")[1].startswith(("Describe", "Get", "List")), action


def metric_names() -> set[str]:
    found = set()
    for rows in (*tables("metrics.def", "METRIC").values(), *tables("traffic.def", "TRAFFIC_METRIC").values()):
        for _, kind, name, *_ in rows:
            found |= {name} | {
                name + suffix
                for suffix in {"COUNTER": ("_total",), "HISTOGRAM": ("_bucket", "_count", "_sum")}.get(
                    kind, ()
                )
            }
    return found


def span_problems(text: str, is_of_tests: bool = False) -> list[str]:
    """Pages of the tests speak of options and variables of the tests, too."""
    if text.startswith(TOOLS) and len(text.split()) > 1 and "<" not in text:
        return commands.check_script_text(text)
    if re.match(r"--[a-z]", text):
        return (
            []
            if commands.is_option(text) or (is_of_tests and commands.elsewhere(text.split("=")[0]))
            else [f"no program has the option {text}"]
        )
    if re.fullmatch(r"(SLUICE|CATTLE|RANCHER|KUBERNETES)_[A-Z0-9_]+", text):
        return (
            []
            if commands.is_variable(text)
            or text in variables_read()
            or (is_of_tests and commands.elsewhere(text))
            else [f"nobody reads {text}"]
        )
    if re.fullmatch(r"sluice_[a-z0-9_]+", text):
        return [] if text in metric_names() else [f"there is no figure {text}"]
    if text.startswith("event=") and text != "event=":
        known = {row[2] for rows in tables("log_events.def", "LOG_EVENT").values() for row in rows}
        return [] if text.removeprefix("event=") in known else [f"no line of a log has {text}"]
    return []


@pytest.mark.parametrize("page", OF_OPERATORS, ids=name_of)
def test_words_quoted_as_code_exist(page):
    problems = [
        f"{page.where(span.line)}: {problem}"
        for span in page.spans
        for problem in span_problems(span.text, "tests" in page.path.parts)
    ]
    assert not problems, "\n".join(problems)


def variables_read() -> set[str]:
    """By getenv() in the programs, under whatever name they have for it."""
    found = set()
    for path in (ROOT / name for name in repository_files("*.c", ":!tests", ":!examples")):
        found |= set(re.findall(r'(?:getenv\(|get_env\(\w+, |environ_get\()"([A-Z_]+)"', path.read_text()))
    return found


def test_every_variable_is_on_the_page():
    quoted = {span.text for page in PAGES if page.path.name == "configuration.md" for span in page.spans}
    assert variables_read() <= quoted, "doc/configuration.md names no " + ", ".join(
        sorted(variables_read() - quoted)
    )


def shape(text: str) -> str:
    """A picture of the line without what is of the moment: ages and numbers."""
    return re.sub(r"\d+(\.\d+)*", "N", re.sub(r"\b\d+[smhd]\b", "AGE", text)).strip("\n")


def pictures() -> list[tuple[str, str]]:
    """Where a page shows what `sluicectl status` draws, and what it shows."""
    found = []
    for page in PAGES:
        for at, line in enumerate(page.text.splitlines(), 1):
            if line == "<!-- status -->":
                shown = next(block for block in page.blocks if block.line > at)
                found.append((page.where(shown.line), shown.text))
    return found


def test_the_picture_of_the_line_is_what_status_draws():
    shown = pictures()
    assert {where.split(":")[0] for where, _ in shown} == {"README.md", "doc/troubleshooting.md"}
    with ProxyLine("haproxy") as line:

        def status() -> str:
            return subprocess.run(
                [program("sluicectl"), "status", "--runtime-dir", str(line.runtime)],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            ).stdout

        for where, text in shown:
            wait_for(lambda: shape(status()) == shape(text), f"`sluicectl status` to draw what is at {where}", PATIENCE)  # pylint: disable=cell-var-from-loop


# What a page that has drifted would hold: none of it may pass.
DRIFTED = """
sluice-watcher --no-such-option
sluicectl expalin default/web
sluicectl lint --against FILE --nothing
SLUICE_NOTHING=1 sluice-translator
CATTLE_URL=http://x build/watcher/sluice-watcher
kubectl apply -k docker/kubernetes/traefik
kubectl -n sluice rollout status deployment/sluice
kubectl -n sluice-system logs deployment/controller
kubectl -n sluice-system exec deployment/sluice -c gateway -- sluicectl status
kubectl -n sluice-system exec deployment/sluice -c translator -- sluicectl stat
kubectl aply -k .
kubectl apply --kustomise .
systemctl restart sluice-provider-traefik.service
systemctl enabel --now sluice.target
journalctl -u 'traefik-*'
docker build -f docker/Dockerfile --target traefik .
podman kube play docker/pods.yaml
scripts/demo --forever
scripts/no-such-script
curl -s http://127.0.0.1:10241/health
curl -s http://127.0.0.1:10299/healthz
echo SLUICE_DNS_SERVER=192.0.2.1 > /etc/sluice/watcher.env
apt-get install ./sluice-provider-traefik_1.deb
frobnicate now
cat examples/no-such.yaml
sudo mkdir -p /run/sluice/traefik.sock/x
echo 'unclosed
"""


@pytest.mark.parametrize("command", DRIFTED.strip().splitlines())
def test_a_command_that_has_drifted_is_found(command: str):
    assert commands.check_script_text(command)


@pytest.mark.parametrize(
    "text",
    [
        "--no-such-option",
        "SLUICE_NOTHING",
        "sluice_no_such_figure",
        "event=no-such-event",
        "sluicectl expalin NAME",
    ],
)
def test_a_word_that_has_drifted_is_found(text: str):
    assert span_problems(text)


def test_a_generated_part_that_has_drifted_is_found():
    text = (ROOT / "doc/configuration.md").read_text()
    assert renewed(text) == text
    for old, new in (
        ("| `--http-port PORT` |", "| `--http-ports PORT` |"),
        ("| `sluice.io/scale` |", "| `sluice.io/scales` |"),
        ("`sluice_link_up`", "`sluice_link_ups`"),
    ):
        assert old in text and renewed(text.replace(old, new)) == text


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "scripts").iterdir() if os.access(path, os.X_OK)))
def test_each_script_says_how_it_is_used(script, option):
    """And does nothing else: most take minutes."""
    done = subprocess.run([str(ROOT / "scripts" / script), option], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{script}" in done.stdout
