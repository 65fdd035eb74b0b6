# SPDX-License-Identifier: Apache-2.0
"""What all tests in Python share: which of them `scripts/test` leaves out, and in which order files are handed to its workers."""
from __future__ import annotations

from typing import Any

MARKS = {
    "quick": "run by scripts/test --quick, too: a story of each promise",
    "long": "left out of scripts/test without --long: another case of what the rest shows",
    "plain": "left out under sanitizers without --long: what the programs do here, they do elsewhere under sanitizers, too",
}
# A worker runs a file at a time. These take longest and come first, so that none is left to one worker while the others have ended.
LONGEST = ("e2e/test_check_provider.py", "watcher/test_sync.py", "e2e/test_faults.py", "e2e/test_matrix.py", "watcher/test_status.py", "e2e/test_sockets.py",
           "watcher/test_watch.py", "e2e/test_proxy_killed.py", "e2e/test_line.py", "e2e/test_sluicectl_offline.py", "e2e/test_proxy_damage.py",
           "e2e/test_proxy_backend_tls.py", "e2e/test_haproxy_changes.py", "e2e/test_demo.py", "e2e/test_sluicectl_web_page.py", "e2e/test_provider_faults.py", "watcher/test_services.py",
           "e2e/test_stop.py", "watcher/test_access.py", "e2e/test_proxy_changes.py", "e2e/test_proxy_classes.py", "e2e/test_clock.py", "e2e/test_elb_line.py",
           "e2e/test_provider_elb.py", "e2e/test_elb_dns.py", "e2e/test_elb_worlds.py", "e2e/test_elb_traffic.py")


def pytest_configure(config: Any) -> None:
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(places)))
