# SPDX-License-Identifier: Apache-2.0
"""scripts/bench counts instructions: at so few objects that the figures mean nothing, only so that somebody notices when it no longer can."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from lib.line import build_folder, is_sanitized

TESTS = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.long
@pytest.mark.skipif(is_sanitized(), reason="callgrind cannot run programs under a sanitizer")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind to count instructions with")
def test_instructions_are_counted():
    """As scripts/bench does it, but for the release build."""
    done = subprocess.run([sys.executable, TESTS / "bench/bench.py", "instructions", "--count", "2", "--events", "5"], check=False, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "PYTHONPATH": str(TESTS), "SLUICE_BUILD": str(build_folder())})
    counts = re.findall(r"sluice-(?:watcher|translator) ([\d,]+)", done.stdout)
    assert done.returncode == 0 and len(counts) == 4, done.stdout
    assert all(int(count.replace(",", "")) > 10_000 for count in counts), done.stdout
