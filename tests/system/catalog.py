# SPDX-License-Identifier: Apache-2.0
"""docker/catalog, read as Rancher 1.6 reads it; podman runs its containers with the same options."""
from __future__ import annotations

import pathlib
import re
import tempfile
import uuid
from typing import Any

import yaml
from lib.addresses import Address

from .machine import podman
from .pod import CONTAINERS, ROOT, Pod

ENTRY = ROOT / "docker/catalog/infra-templates/sluice"
TEMPLATE = ENTRY / "0"
VARIABLE = re.compile(r"\$\{(\w+)\}")
AGENT = "io.rancher.container.create_agent"
ROLE = "io.rancher.container.agent.role"
ONCE = "io.rancher.container.start_once"
SIDEKICKS = "io.rancher.sidekicks"


def text_of(name: str) -> str:
    return (TEMPLATE / name).read_text(encoding="utf-8")


def rancher_compose() -> dict:
    return yaml.safe_load(text_of("rancher-compose.yml"))


def questions() -> list[dict]:
    return rancher_compose()["catalog"]["questions"]


def services(answers: dict[str, str] | None = None) -> dict[str, dict]:
    """The services of docker-compose.yml. Questions that `answers` leaves out get their defaults."""
    defaults = {question["variable"]: str(question["default"]).lower() for question in questions()}
    given = defaults | (answers or {})
    return filled(yaml.safe_load(text_of("docker-compose.yml"))["services"], given)


def filled(part: Any, answers: dict[str, str]) -> Any:
    """Answers are put into the parsed document, so that none of them can change its structure."""
    if isinstance(part, dict):
        return {name: filled(value, answers) for name, value in part.items()}
    if isinstance(part, list):
        return [filled(value, answers) for value in part]
    return VARIABLE.sub(lambda match: answers[match[1]], part) if isinstance(part, str) else part


def security_words(service: dict[str, Any], otherwise: pathlib.Path | None = None) -> list[str]:
    """`otherwise` is the seccomp filter of containers that ask for none."""
    asked = service["security_opt"]
    words = [f"--security-opt={name}" for name in asked]
    if otherwise is not None and not [name for name in asked if name.startswith("seccomp")]:
        words.append(f"--security-opt=seccomp={otherwise}")
    return words


class Stack(Pod):
    """The containers of the template. `agents` is {role: environment}: what Rancher adds to a container with that label. Rancher gives each
    container an address of its own; here all share `address`, on loopback."""

    def __init__(self, answers: dict[str, str], agents: dict[str, dict[str, str]]) -> None:
        # pylint: disable=super-init-not-called
        self.name = f"sluice-{uuid.uuid4().hex[:8]}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-stack-"))
        self.address = Address("127.89")
        self.services = services(answers)
        self._agents = agents

    def __enter__(self) -> "Stack":
        try:
            for name in self._order():
                podman("run", "--detach", f"--name={self.name_of(name)}", "--network=host", *self._arguments(self.services[name]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def down(self) -> None:
        for name in reversed(self._order()):
            podman("rm", "--force", "--volumes", self.name_of(name), check=False)

    def names(self) -> list[str]:
        return podman("ps", "--all", "--filter", f"name={self.name}-", "--format", "{{.Names}}").split()

    def _order(self) -> list[str]:
        """A container whose volumes others use comes before them."""
        owners = {owner for service in self.services.values() for owner in service.get("volumes_from", [])}
        return sorted(self.services, key=lambda name: name not in owners)

    def _arguments(self, service: dict[str, Any]) -> list[str]:
        service = dict(service)
        labels, environment = service.pop("labels", {}), service.pop("environment", {})
        if labels.get(AGENT) == "true":
            environment |= self._agents[labels[ROLE]]
        words = ["--env={}={}".format(name, value.replace("0.0.0.0", self.address.ip)) for name, value in environment.items()]
        words += [f"--user={service.pop('user')}"] if "user" in service else []
        command = [word.replace("0.0.0.0", self.address.ip) for word in service.pop("command", [])]
        words += [f"--label={name}={value}" for name, value in labels.items()]
        words += [] if labels.get(ONCE) == "true" else ["--restart=always"]
        words += ["--read-only", "--read-only-tmpfs=false"] if service.pop("read_only", False) else []
        words += [f"--cap-drop={name}" for name in service.pop("cap_drop", [])]
        words += security_words(service)
        del service["security_opt"]
        words += [f"--memory={service.pop('mem_limit')}"]
        words += [f"--volume={path}" for path in service.pop("volumes", [])]
        words += [f"--volumes-from={self.name_of(name)}" for name in service.pop("volumes_from", [])]
        words += [service.pop("image"), *command]
        # Everything in the template has been translated.
        assert not service, service
        return words


assert set(CONTAINERS) < set(services()), "the containers of the line are among those of the template"
