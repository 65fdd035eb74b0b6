# SPDX-License-Identifier: Apache-2.0
"""Everything about the server that a test may want to turn: delays, limits, intervals.

The values are read at the moment they are needed, so a change by the control command `configure` holds at
once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Behaviour:
    step_delay: float = 0.05            # seconds spent in every transitional state
    # "activating" or "service.activating": seconds
    step_delays: dict[str, float] = field(default_factory=dict)
    retry_wait: float = 0.5             # first wait after a failed process; a real server begins at 2 s
    retry_max: float = 5.0              # longest such wait; a real server ends at 120 s
    health_checks: bool = True          # containers become healthy; those of simulated hosts of a real server never do
    host_failure_delay: float = 0.3     # until the containers of a failed host are replaced
    event_interval: float = 1.0         # change messages are published in batches, one a resource
    metadata_poll: float = 0.2          # LB containers look for changes this often; the real image every 5 s
    shared_ports: bool = False          # a host's ports are never taken: more load balancers than hosts, in benchmarks
    lose_overlapping_updates: bool = False  # an update asked for while one runs is stored but not carried out

    def delay_of(self, kind: str, state: str) -> float:
        """Seconds to stay in a transitional state; the most specific setting wins."""
        for key in (f"{kind}.{state}", state):
            if key in self.step_delays:
                return self.step_delays[key]
        return self.step_delay

    def configure(self, changes: dict[str, Any]) -> None:
        if unknown := changes.keys() - vars(self).keys():
            raise ValueError(f"no such settings: {unknown}")
        vars(self).update(changes)
