# SPDX-License-Identifier: Apache-2.0
"""A provider alone on this machine: a stand-in of what it drives before it, a translator of the tests behind it."""
from __future__ import annotations

from typing import Any, Protocol, Sequence

from .daemon import Daemon, Room
from .provider_link import Translator
from .wait import stays


class Standin(Protocol):
    def stop(self) -> None: ...


class ProviderRoom(Room):
    """Use it as a context manager. Who derives from it makes the provider, and says what it has written."""

    provider: Daemon
    standin: Standin

    def __init__(self) -> None:
        super().__init__("provider")
        self.translator = Translator(self.runtime)

    def writes(self) -> Sequence[Any]:
        """All writes that the provider has sent, in order."""
        raise NotImplementedError

    def start(self) -> None:
        self.provider.start()

    def stop(self) -> list[str]:
        complaints = self.provider.end() + self.translator.problems
        self.translator.stop()
        self.standin.stop()
        return self.leave(complaints)

    def restart(self) -> None:
        """Kills it, and waits until its next life has found the translator."""
        connections = self.translator.connections
        self.provider.restart()
        self.translator.wait_connection(connections + 1)

    def quiet(self, seconds: float = 1.0) -> None:
        """Nothing more is written, for a while."""
        before = len(self.writes())
        stays(lambda: len(self.writes()) == before, f"silence after {self.writes()}", seconds)
