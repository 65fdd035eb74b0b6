# SPDX-License-Identifier: Apache-2.0
"""Commands that pages show, checked word by word against what they name: options against what the programs say
of themselves, files, units, containers, stages and kustomizations against those that exist. A program that is not
known here is a problem: nothing passes unread.

Words in capitals (NAME, NAMESPACE) and `...` stand for what a reader puts there.
"""

from __future__ import annotations

import functools
import pathlib
import re
import shlex
import subprocess

import yaml

from lib.markdown import ROOT, repository_files
from lib.reference import DAEMONS, printed

PLACEHOLDER = re.compile(r"^[A-Z][A-Z0-9_.-]*$|^\.\.\.$|^$")
PROGRAMS = (*("sluice-" + daemon for daemon in DAEMONS), "sluicectl")
ADMIN_PORTS = {"10241", "10242", "10243", "10244", "10245", "10247"}
FOREIGN_UNITS = {"haproxy.service", "nginx.service"}
# Programs of the system, with the options that pages use of them.
SYSTEM = {
    **dict.fromkeys(("cat", "cd", "chmod", "echo", "editor", "export", "git", "printf", "sed"), ""),
    "aws": "--assume-role-policy-document --cluster-name --description --group-id --group-name --name --namespace --policy-arn --policy-document --policy-name"
           " --port --protocol --query --role-arn --role-name --service-account --source-group --vpc-id",
    "cp": "-r",
    "curl": "-s -f -H --unix-socket -o",
    "dpkg-buildpackage": "-b -us -uc",
    "grep": "-c -F -n -o -r",
    "head": "-n",
    "install": "-m -d -o -g",
    "meson": "--buildtype --prefix -C",
    "mkdir": "-p -m",
    "ninja": "-C",
    "rm": "-f -r",
    "sort": "-k2,2nr -rn -t:",
    "tail": "",
    "tee": "",
    "uniq": "-c",
}
SYSTEMCTL = set("daemon-reload disable edit enable is-active list-units mask reload restart start status stop".split())


def simple_commands(text: str) -> list[list[str]]:
    """The commands of a script, without redirections; an arrow into a file stays as the two words `>` and the file."""
    found: list[list[str]] = [[]]
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        for word in lexer:
            if set(word) <= set(";|&"):
                found.append([])
            else:
                found[-1].append(word)
        found.append([])
    return [words for words in found if words]


@functools.cache
def options_of(program: str) -> frozenset[str]:
    """Of one of ours, as it prints them; switches with their --no- form."""
    text = printed(program, "--help=markdown")
    found = {"--help", "--version", "-h"} | ({"--config"} if program != "sluicectl" else set())
    for no, name in re.findall(r"^\| `--(\[no-\])?([\w-]+)", text, re.MULTILINE):
        found |= {f"--{name}"} | ({f"--no-{name}"} if no else set())
    if program == "sluicectl":
        letters = re.findall(r"CTL_OPTION\(\w+, '(\w)'", (ROOT / "sluicectl/commands.def").read_text())
        found |= {f"-{letter}" for letter in letters}
    return frozenset(found)


@functools.cache
def variables_of(program: str) -> frozenset[str]:
    text = printed(program, "--help=markdown")
    return frozenset(re.findall(r"^\| `[^`]+` \| `(\w+)` \|", text, re.MULTILINE))


# Where scripts and containers have options and variables of their own.
BESIDE = ("scripts/*", "docker/*", "tests/demo.py", "tests/conformance/*", "tests/bench/*.py", "meson.build")


@functools.cache
def stands_in(text: str, *places: str) -> bool:
    """Whether it stands in these files; pages do not count."""
    command = ["git", "-C", ROOT, "grep", "-q", "-w", "-F", "--untracked", "-e", text, "--", *places, ":!*.md"]
    return subprocess.run(command, check=False).returncode == 0


def elsewhere(text: str) -> bool:
    """Anywhere in the repository, but for where words are made up to see whether they are found."""
    return stands_in(text, ":!tests/e2e/test_documents.py")


def is_option(word: str) -> bool:
    """Some program of ours, or a script, knows it."""
    name = word.split("=")[0].split()[0]
    return any(name in options_of(program) for program in PROGRAMS) or stands_in(name, *BESIDE)


def is_variable(name: str) -> bool:
    """Some program of ours, or a script, reads it."""
    return any(name in variables_of(program) for program in PROGRAMS) or stands_in(name, *BESIDE)


@functools.cache
def units() -> frozenset[str]:
    suffixes = {".service", ".socket", ".target"}
    return frozenset(path.name for path in (ROOT / "systemd").iterdir() if path.suffix in suffixes)


def told(*command: str | pathlib.Path, check: bool = True) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=120).stdout


@functools.cache
def kustomized(folder: str) -> list[dict]:
    """The objects of a kustomization, or of a component on top of one."""
    return [one for one in yaml.safe_load_all(told("kubectl", "kustomize", ROOT / folder)) if one]


@functools.cache
def objects() -> frozenset[str]:
    """KIND/NAME of everything that the kustomizations and examples make, in lower case."""
    made: list[dict] = []
    for folder in ("haproxy", "nginx", "rancher", "elb"):
        made += kustomized(f"docker/kubernetes/{folder}")
    for name in repository_files("examples/*.yaml"):
        made += filter(None, yaml.safe_load_all((ROOT / name).read_text()))
    return frozenset(f"{one['kind'].lower()}/{one['metadata']['name']}" for one in made)


@functools.cache
def known_places() -> str:
    """Everything that says where something stands on a machine."""
    tables = ("systemd/*", "docker/*", "*/config.def", "*/local.def", "doc/man/*", "common/*.def", ":!*.md")
    return "\n".join((ROOT / name).read_text() for name in repository_files(*tables))


def bad_path(word: str) -> str | None:
    """Why a word that names a file of ours does not; None: it does, or names something else."""
    word = word.strip("\"'").rstrip(":,")
    if re.match(r"/(etc|run|var/lib)/sluice", word):
        path = word.rstrip("/")
        is_open = "*" in path or any(PLACEHOLDER.match(part) for part in path.split("/")[1:])
        is_known = is_open or path in known_places() or path.rsplit("/", 1)[0] in known_places()
        return None if is_known else f"{word} is no place of ours"
    first = word.removeprefix("./").split("/")[0]
    if "/" not in word or first in {"", ".."} or first.startswith("build") or not (ROOT / first).is_dir():
        return None
    if re.search(r"(^|/)\.\.\.|[<>{}$]", word):
        return None
    path = re.sub(r"(::.*|:\d+)$", "", word.removeprefix("./"))
    if any(PLACEHOLDER.match(part) and part not in {"LICENSE"} for part in path.rstrip("/").split("/")):
        path = "/".join("*" if PLACEHOLDER.match(part) else part for part in path.rstrip("/").split("/"))
    return None if list(ROOT.glob(path.rstrip("/"))) else f"there is no {word}"


def check_url(word: str) -> list[str]:
    match = re.match(r"http://127\.0\.0\.1:(\d+)(/\w*)", word)
    if match and (match[1] not in ADMIN_PORTS or match[2] not in {"/healthz", "/readyz", "/metrics"}):
        return [f"no admin server answers {word}"]
    return []


def check_options(name: str, words: list[str], known: frozenset[str] | set[str]) -> list[str]:
    return [
        f"{name} has no option {word.split('=')[0]}"
        for word in words
        if re.match(r"--?[a-zA-Z]", word) and word.split("=")[0] not in known
    ]


def check_ours(name: str, words: list[str]) -> list[str]:
    problems = check_options(name, words, options_of(name))
    if name == "sluicectl":
        table = (ROOT / "sluicectl/commands.def").read_text()
        known = re.findall(r'^COMMAND\(\w+, "(\w+)"', table, re.MULTILINE)
        command = next((word for word in words if not word.startswith("-")), None)
        if command is not None and command not in known:
            problems.append(f"sluicectl has no command {command}")
    elif any(not word.startswith("-") and words[at - 1][:1] != "-" for at, word in enumerate(words)):
        problems.append(f"{name} takes only options")
    return problems


def check_long_options(name: str, words: list[str], text: str | None = None) -> list[str]:
    """They have to stand in the text, or anywhere but in pages."""
    options = [word.split("=")[0] for word in words if word.startswith("--") and word != "--help"]
    return [f"{name} has no option {word}" for word in options if not (elsewhere(word) if text is None else word in text)]


def check_script(name: str, words: list[str]) -> list[str]:
    path = ROOT / name
    if not path.is_file() or not path.stat().st_mode & 0o100:
        return [f"{name} is no program"]
    if name == "scripts/check-provider":
        return check_long_options(name, words)
    texts = [one.read_text() for one in (path, ROOT / "tests" / f"{path.name}.py") if one.exists()]
    return check_long_options(name, words, "".join(texts))


@functools.cache
def kubectl_help(verb: str) -> str:
    return told("kubectl", *verb.split(), "--help", check=False) + told("kubectl", "options")


@functools.cache
def kubectl_verbs() -> frozenset[str]:
    return frozenset(re.findall(r"^  ([a-z-]+) ", told("kubectl", "--help"), re.MULTILINE))


# What stands in a cluster that ran ingress-nginx, and what `sluicectl migrate --manifests` has written; tests/e2e/test_move.py has both.
OF_INGRESS_NGINX = {"namespace/ingress-nginx", "deployment/ingress-nginx-controller"}
MADE_FOLDERS = {".", "move"}


def is_kustomization(folder: str) -> bool:
    return folder in MADE_FOLDERS or ((ROOT / folder / "kustomization.yaml").is_file() and bool(kustomized(folder)))


CONTAINERS = {"watcher", "translator", "provider", "proxy", "metrics", "sluicectl"}
# What may stand behind an option of kubectl, and what is said of anything else.
KUBECTL_VALUES = {
    "-n": (lambda value: value == "default" or f"namespace/{value}" in objects() | OF_INGRESS_NGINX, "there is no namespace {}"),
    "-c": (lambda value: value in CONTAINERS, "there is no container {}"),
    "-k": (is_kustomization, "{} is no kustomization"),
}
KUBECTL_VALUES["--namespace"] = KUBECTL_VALUES["-n"]
KUBECTL_TAKE_VALUES = {*KUBECTL_VALUES, "-f", "-l", "-p", "-o", "--context"}


def check_kubectl(words: list[str]) -> list[str]:
    problems: list[str] = []
    if "--" in words:
        at = words.index("--")
        problems += check_words(words[at + 1 :])
        words = words[:at]
    bare = [
        word
        for before, word in zip(["", *words], words)
        if not word.startswith("-") and before not in KUBECTL_TAKE_VALUES
    ]
    if not bare or bare[0] not in kubectl_verbs():
        return problems + [f"kubectl has no verb {bare[0] if bare else ''}"]
    depth = 3 if bare[:2] == ["create", "secret"] else 2 if bare[0] in {"rollout", "create", "config", "set"} else 1
    text = kubectl_help(" ".join(bare[:depth]))
    for word, following in zip(words, [*words[1:], ""]):
        option = word.split("=")[0]
        if re.match(r"--?[a-z]", option) and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
            problems.append(f"kubectl {bare[0]} has no option {option}")
        if word in KUBECTL_VALUES and not PLACEHOLDER.match(following):
            is_right, complaint = KUBECTL_VALUES[word]
            problems += [] if is_right(following) else [complaint.format(following)]
        match = re.match(r"^(deployment|service|configmap|secret|ingressclass|ingress)/([\w.-]+)$", word)
        if match and not PLACEHOLDER.match(match[2]) and word not in objects() | OF_INGRESS_NGINX:
            problems.append(f"nothing makes {word}")
    return problems


def check_units(words: list[str]) -> list[str]:
    problems = []
    for word in words:
        if "." not in word and "*" not in word:
            word += ".service"
        is_known = any(pathlib.PurePath(name).match(word) for name in units() | FOREIGN_UNITS)
        if not is_known and not PLACEHOLDER.match(word.removesuffix(".service")):
            problems.append(f"there is no unit {word}")
    return problems


def check_systemctl(words: list[str]) -> list[str]:
    bare = [word for word in words if not word.startswith("-")]
    problems = check_options("systemctl", words, {"--now", "--no-pager", "--no-block"})
    if not bare or bare[0] not in SYSTEMCTL:
        return problems + [f"systemctl has no verb {bare[0]}"]
    return problems + check_units(bare[1:])


def check_journalctl(words: list[str]) -> list[str]:
    problems = check_options("journalctl", words, {"-u", "-f", "-n", "-b", "-o", "-p", "--since", "--no-pager"})
    return problems + check_units([word for before, word in zip(words, words[1:]) if before == "-u"])


def check_containers(name: str, words: list[str]) -> list[str]:
    if words[:1] == ["build"]:
        problems = check_options(name, words, {"-f", "-t", "--target"})
        stages = re.findall(r"^FROM \S+ AS (\S+)", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
        named = [word for before, word in zip(words, words[1:]) if before == "--target" and not word.startswith("$")]
        unknown = [word for word in named if word not in stages and not PLACEHOLDER.match(word)]
        return problems + [f"docker/Dockerfile has no stage {word}" for word in unknown]
    if words[:2] in (["kube", "play"], ["kube", "down"], ["healthcheck", "run"]):
        return []
    if words[:1] == ["compose"] and (len(words) == 1 or words[1] in {"up", "down", "ps", "logs", "config"}):
        return []
    if words[:1] in (["push"], ["ps"], ["logs"], ["exec"], ["run"], ["stop"], ["start"], ["kill"]):
        return []
    return [f"{name} has no command {' '.join(words[:2])}"]


def check_apt(words: list[str]) -> list[str]:
    packages = re.findall(r"^Package: (\S+)", (ROOT / "debian/control").read_text(), re.MULTILINE)
    if words[:1] not in (["install"], ["update"], ["remove"], ["purge"]):
        return [f"apt has no command {' '.join(words[:1])}"]
    names = [re.sub(r"_.*", "", pathlib.PurePath(word).name) for word in words[1:] if not word.startswith("-")]
    unknown = [name for name in names if name.startswith("sluice") and name not in packages]
    return [f"there is no package {name}" for name in unknown]


def check_python(words: list[str]) -> list[str]:
    """A module of the tests, or pytest."""
    module = words[1] if words[:1] == ["-m"] and len(words) > 1 else ""
    path = ROOT / "tests" / module.replace(".", "/")
    if module != "pytest" and not (path / "__main__.py").is_file() and not path.with_suffix(".py").is_file():
        return [f"tests/ has no program {module}"]
    return [] if module == "pytest" else check_long_options(module, words)


def check_assignment(word: str, program: str | None) -> list[str]:
    """NAME=value before a program of ours, or in a file of its settings, has to be a variable of that program."""
    name = word.split("=")[0]
    if program is not None:
        return [] if name in variables_of(program) else [f"{program} does not read {name}"]
    if name.startswith(("SLUICE_", "CATTLE_", "RANCHER_")) and not elsewhere(name):
        return [f"nobody reads {name}"]
    return []


SPECIAL = {
    "kubectl": check_kubectl, "systemctl": check_systemctl, "journalctl": check_journalctl, "apt": check_apt, "apt-get": check_apt,
}


def check_words(words: list[str]) -> list[str]:
    """One simple command."""
    assignments = []
    if words[:1] == ["for"] or words == ["done"] or words == ["fi"]:
        return []
    while words and (words[0] in {"sudo", "nice", "do", "then", "else"} or re.match(r"^\w+=", words[0])):
        if "=" in words[0]:
            assignments.append(words[0])
        words = words[1:]
    if not words:
        return [problem for word in assignments for problem in check_assignment(word, None)]
    first, rest = words[0], words[1:]
    redirections = {">", ">>", "<"}
    arguments = [word for before, word in zip(words, rest) if not {before, word} & redirections]
    name = pathlib.PurePath(first).name if re.match(r"^(build[\w-]*|/usr/bin)/", first) else first
    ours = name if name == "sluicectl" or name.removeprefix("sluice-") in DAEMONS else None
    problems = [problem for word in assignments for problem in check_assignment(word, ours)]
    problems += filter(None, map(bad_path, words))
    problems += [problem for word in words for problem in check_url(word)]
    if ours:
        return problems + check_ours(name, arguments)
    if first.startswith(("scripts/", "examples/")):
        return problems + check_script(first, arguments)
    if first == "build/examples/example-provider":
        return problems
    if first in SPECIAL:
        return problems + SPECIAL[first](arguments)
    if first == "tests/pod-network":
        return problems + check_words(rest)
    if first == "/usr/bin/python3":
        return problems + check_python(arguments)
    if first in {"podman", "docker"}:
        return problems + check_containers(first, arguments)
    if first == "echo" and ">" in "".join(rest):
        file = re.match(r"^/etc/sluice/([\w-]+)\.env$", rest[-1])
        if file:
            return problems + check_assignment(rest[0], "sluice-" + file[1])
    if first in SYSTEM:
        allowed = set(SYSTEM[first].split())
        options = [word for word in arguments if re.match(r"^--?[a-zA-Z]", word) and not re.match(r"^-[DX]", word)]
        unknown = [word for word in options if word.split("=")[0] not in allowed]
        return problems + [f"{first}: {word} is not among the options that pages use" for word in unknown]
    return problems + [f"nobody here knows the program {first}"]


def check_script_text(text: str) -> list[str]:
    """A whole `sh` block."""
    syntax = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False, timeout=20)
    if syntax.returncode != 0:
        return [syntax.stderr.strip()]
    commands = simple_commands(text)
    return [f"{problem}: {shlex.join(words)}" for words in commands for problem in check_words(words)]
