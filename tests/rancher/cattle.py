# SPDX-License-Identifier: Apache-2.0
"""Builds cattle, the server of Rancher 1.6, from a git directory that the user names.

    /usr/bin/python3 tests/rancher/cattle.py GITDIR FOLDER

FOLDER then holds `server`, an unpacked web application, and `database.sql`, an empty database; Maven's own files are beside it. The source is of 2017: on
JDK 17 two plugins of the build have to be newer, and three libraries are named that the JDK had then. Of the code one line is changed, in
the simulator that plays the hosts: it makes up a host's address from two names, where a host tells one that is an address.
"""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

COMMIT = "82d154a53f4089fecfb9f320caad826bb4f6055f"  # release 0.183.83 of the branch v1.6

PARENT = "code/meta-parent/pom.xml"
APPLICATION = "code/packaging/app/pom.xml"
SIMULATOR = "code/implementation/simulator/agent-connection/src/main/java/io/cattle/platform/agent/connection/simulator/impl/SimulatorPingProcessor.java"
LIBRARIES = [("javax.xml.bind", "jaxb-api", "2.3.1"), ("org.glassfish.jaxb", "jaxb-runtime", "2.3.3"), ("javax.annotation", "javax.annotation-api", "1.3.2")]


def dependencies() -> str:
    return "".join(f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>\n"
                   for group, name, version in LIBRARIES)


def changes() -> list[tuple[str, str, str]]:
    """(file, text that stands there once, text in its place)."""
    end, next_part = "    </dependencies>\n", "    <dependencyManagement>"
    plugin = "<artifactId>maven-war-plugin</artifactId>\n                <version>"
    return [
        (PARENT, end + next_part, dependencies() + end + next_part),
        (PARENT, "<version>2.5.1</version>", "<version>3.8.1</version>"),
        (APPLICATION, plugin + "2.1.1<", plugin + "3.3.2<"),
        (SIMULATOR, 'String ipUuid = agent.getUuid() + "-" + ipAddress;', "String ipUuid = ipAddress;"),
    ]


def unpack(source: str, tree: pathlib.Path) -> None:
    """The tree of COMMIT, changed."""
    tree.mkdir(parents=True)
    with subprocess.Popen(["git", "-C", source, "archive", COMMIT], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "x", "-C", str(tree)], stdin=archive.stdout, check=True)
    if archive.returncode != 0:
        sys.exit(f"{source} does not hold commit {COMMIT} of rancher/cattle")
    for name, old, new in changes():
        path = tree / name
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{name}: what is to be changed stands there {text.count(old)} times, not once")
        path.write_text(text.replace(old, new))


def build(source: str, folder: pathlib.Path) -> None:
    """Takes a few minutes; `server` is there only when it is whole."""
    tree, log = folder / "source", folder / "build.log"
    shutil.rmtree(tree, ignore_errors=True)
    unpack(source, tree)
    with open(log, "wb") as out:
        made = subprocess.run(["mvn", "--batch-mode", "--quiet", "-Dmaven.test.skip=true", f"-Dmaven.repo.local={folder / 'maven'}", "install"],
                              cwd=tree, stdout=out, stderr=out, check=False)
    if made.returncode != 0:
        sys.exit(f"Maven has failed: read {log}")
    archive = next((tree / "code/packaging/app/target").glob("cattle-app-*.war"))
    shutil.copy(tree / "resources/content/db/mysql/mysql-dump.sql", folder / "database.sql")
    archive.with_suffix("").rename(folder / "server")
    shutil.rmtree(tree)


if __name__ == "__main__":
    build(sys.argv[1], pathlib.Path(sys.argv[2]))
