# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the tests of the stand-in, and what is put into them."""

from __future__ import annotations

from typing import Callable, Iterator

import pytest

from standins.kube.client import KubeStandin


@pytest.fixture
def start() -> Iterator[Callable[..., KubeStandin]]:
    """Starts stand-ins, which end with the test."""
    running: list[KubeStandin] = []

    def begin(profile: str = "1.34") -> KubeStandin:
        running.append(KubeStandin(profile).start())
        return running[-1]

    yield begin
    for standin in running:
        standin.stop()
