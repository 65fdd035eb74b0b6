# SPDX-License-Identifier: Apache-2.0
"""Everything that one running stand-in holds, and the knobs that can be turned while it runs."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .auth import Authenticator, Authorizer
from .defaults import ServiceAllocator
from .faults import Faults
from .journal import Journal
from .profiles import Profile
from .resources import Served
from .store import Store
from .wire import Split, WireSettings

if TYPE_CHECKING:
    from .watches import Stream


@dataclass
class Settings:
    """Knobs."""

    bookmark_period_s: float = 60.0
    end_marker: bool = True
    strict_namespaces: bool = False


class BadSetting(ValueError):
    """An unknown knob or a value it cannot take."""


@dataclass
class State:
    """One stand-in."""

    profile: Profile
    store: Store
    authenticator: Authenticator
    settings: Settings = field(default_factory=Settings)
    wire: WireSettings = field(default_factory=WireSettings)
    authorizer: Authorizer = field(default_factory=Authorizer)
    faults: Faults = field(default_factory=Faults)
    journal: Journal = field(default_factory=Journal)
    allocator: ServiceAllocator = field(default_factory=ServiceAllocator)
    streams: dict[int, Stream] = field(default_factory=dict)
    dice: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.index: dict[tuple[str, str], dict[str, Served]] = {}
        for served in self.profile.served():
            self.index.setdefault((served.group, served.version), {})[served.resource.plural] = served
        self.groups = {group for group, _ in self.index}

    def describe_settings(self) -> dict[str, Any]:
        """All knobs."""
        split = self.wire.split
        return dataclasses.asdict(self.settings) | {
            "split": dataclasses.asdict(split) if split else None,
        }

    def set(self, changes: dict[str, Any]) -> None:
        """Turns knobs. Raises BadSetting before anything is changed."""
        known = self.describe_settings()
        unknown = changes.keys() - known.keys()
        if unknown:
            raise BadSetting(f"unknown settings {sorted(unknown)}; there are {sorted(known)}")
        for key, value in changes.items():
            _check(key, value, known[key])
        for key, value in changes.items():
            if key == "split":
                self.wire.split = Split(**value) if value else None
            else:
                setattr(self.settings, key, value)


def _check(key: str, value: Any, current: Any) -> None:
    if key == "split":
        names = {entry.name for entry in dataclasses.fields(Split)}
        if value is not None and (not isinstance(value, dict) or value.keys() - names):
            raise BadSetting(f"split is null or an object of {sorted(names)}")
    elif isinstance(current, bool) is not isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise BadSetting(f"{key} is {'true or false' if isinstance(current, bool) else 'a number that is not negative'}")
