# SPDX-License-Identifier: Apache-2.0
"""Pages of this repository as what they are made of: headings, links, words quoted as code, fenced blocks."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: what it is said to hold, its text, and the line its text begins at."""

    language: str
    text: str
    line: int


@dataclasses.dataclass(frozen=True)
class Quote:
    """Something on a line: a target of a link, a span of code."""

    text: str
    line: int


class Page:
    """One page. `blocks` are taken out of it before anything else is looked for."""

    def __init__(self, path: pathlib.Path, text: str | None = None):
        self.path = path
        self.text = path.read_text() if text is None else text
        self.blocks: list[Block] = []
        self.prose = self._take_blocks()
        self.anchors = self._find_anchors()
        without_code = [re.sub(r"`[^`]*`", "``", line) for line in self.prose]
        self.links = self._found(r"\]\(<?([^)\s>]+)>?[^)]*\)", without_code)
        self.links += self._found(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", without_code)
        self.spans = self._found(r"`([^`]+)`", self.prose)

    @staticmethod
    def _found(pattern: str, lines: list[str]) -> list[Quote]:
        return [Quote(match[1], number) for number, line in enumerate(lines, 1) for match in re.finditer(pattern, line)]

    def _take_blocks(self) -> list[str]:
        """The lines, with those of fenced blocks empty."""
        prose: list[str] = []
        fence = None
        inside: list[str] = []
        for number, line in enumerate(self.text.splitlines(), 1):
            match = re.match(r"\s*(`{3,})\s*(\S*)", line)
            if fence is None and match:
                fence, language, begin, inside = match[1], match[2], number + 1, []
            elif fence is not None and line.strip() == fence:
                self.blocks.append(Block(language, "".join(one + "\n" for one in inside), begin))
                fence = None
            elif fence is not None:
                inside.append(line)
            prose.append("" if fence is not None or match else line)
        if fence is not None:
            raise ValueError(f"{self.path}: a fenced block has no end")
        return prose

    def _find_anchors(self) -> set[str]:
        """Names of headings as GitHub makes them."""
        found: set[str] = set()
        for line in self.prose:
            match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
            if not match:
                continue
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            name, count = slug, 0
            while name in found:
                count += 1
                name = f"{slug}-{count}"
            found.add(name)
        return found

    def where(self, line: int) -> str:
        """For messages."""
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{line}"


def repository_files(*patterns: str) -> list[str]:
    """Names of the files of the repository, those that are not added yet too."""
    command = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [name for name in out.splitlines() if (ROOT / name).exists()]


def pages() -> list[Page]:
    return [Page(ROOT / name) for name in repository_files("*.md")]
