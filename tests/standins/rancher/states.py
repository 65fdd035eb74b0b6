# SPDX-License-Identifier: Apache-2.0
"""The life cycles of the rows as tables: which process leads from which state through which to which, and
which actions a row shows in which state. Pure data and look-ups."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    process: str
    via: str
    end: str


def _table(text: str) -> dict[tuple[str, str], Step]:
    """Lines `process | start states | via | end`."""
    steps: dict[tuple[str, str], Step] = {}
    for line in text.strip().splitlines():
        process, starts, via, end = (cell.strip() for cell in line.split("|"))
        for start in starts.split():
            steps[(process, start)] = Step(process, via, end)
    return steps


# A process may also start from its own transitional state: that is how interrupted work is taken up again.
_STACK = _table("""
create  | requested activating | activating | active
update  | active updating-active | updating-active | active
remove  | requested active activating updating-active removing | removing | removed
""")

_SERVICE = _table("""
create     | requested registering | registering | inactive
activate   | inactive activating | activating | active
update     | inactive updating-inactive | updating-inactive | inactive
update     | active updating-active | updating-active | active
update     | activating | activating | active
deactivate | active activating deactivating | deactivating | inactive
deactivate | updating-inactive updating-active | deactivating | inactive
remove     | requested registering inactive activating active deactivating removing | removing | removed
remove     | updating-inactive updating-active | removing | removed
""")

_CERTIFICATE = _table("""
create | requested activating | activating | active
update | active updating-active | updating-active | active
remove | requested active activating removing | removing | removed
""")

LIFE = {"stack": _STACK, "service": _SERVICE, "certificate": _CERTIFICATE}

# What goes on in a transitional state, of several processes the first: used to take up interrupted work when the server comes back.
RESUME = {table: {step.via: step.process for step in reversed(steps.values())} for table, steps in LIFE.items()}

# An LB container does not use a target service in one of these.
NOT_SERVING = frozenset(("inactive", "deactivating", "removing", "removed"))

_LINK_ACTIONS = ("addservicelink", "removeservicelink", "setservicelinks")
_SERVICE_ACTIONS = {
    "requested": ("create", "remove"),
    "registering": ("remove",),
    "inactive": ("activate", "update", "remove", "upgrade"),
    "activating": ("update", "deactivate", "remove", "upgrade"),
    "active": ("update", "deactivate", "remove", "upgrade", "restart"),
    "updating-inactive": ("deactivate", "remove"),
    "updating-active": ("update", "deactivate", "remove", "upgrade"),
    "deactivating": ("remove",),
}
_STACK_ALWAYS = ("addoutputs", "exportconfig", "activateservices", "deactivateservices")
_STACK_ACTIONS = {
    "requested": ("create", "remove"), "activating": ("remove", "error"),
    "active": ("update", "remove", "upgrade"),
    "updating-active": ("remove",),
}
_CERTIFICATE_ACTIONS = {
    "requested": ("create", "remove"), "activating": ("remove",), "active": ("update", "remove"),
}


def step(table: str, process: str, state: str) -> Step | None:
    """The step that `process` takes from `state`, or None where it cannot start."""
    return LIFE.get(table, {}).get((process, state))


def actions(type_: str, state: str) -> tuple[str, ...]:
    """The actions a row of that type shows in that state."""
    if type_ == "stack":
        return _STACK_ACTIONS.get(state, ()) + _STACK_ALWAYS
    if type_ == "certificate":
        return _CERTIFICATE_ACTIONS.get(state, ())
    # Those of a kubernetesService are shown like those of any service, and all are refused.
    if type_ in ("loadBalancerService", "service", "kubernetesService"):
        return _SERVICE_ACTIONS.get(state, ()) + _LINK_ACTIONS
    return ()
