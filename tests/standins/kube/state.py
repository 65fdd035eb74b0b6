# SPDX-License-Identifier: Apache-2.0
"""Everything that one running stand-in holds, and the knobs that can be turned while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .auth import Authenticator, Authorizer
from .defaults import ServiceAllocator
from .faults import Faults
from .journal import Journal
from .profiles import Profile
from .resources import Served
from .store import Store
from .wire import Split

if TYPE_CHECKING:
    from .watches import Stream


@dataclass
class Settings:
    bookmark_period_s: float = 60.0
    end_marker: bool = True
    split: Split | None = None

    def set(self, changes: dict[str, Any]) -> None:
        if unknown := changes.keys() - vars(self).keys():
            raise ValueError(f"there are no settings {sorted(unknown)}")
        vars(self).update(changes)
        if changes.get("split"):
            self.split = Split(**changes["split"])


@dataclass
class State:
    profile: Profile
    store: Store
    authenticator: Authenticator
    settings: Settings = field(default_factory=Settings)
    authorizer: Authorizer = field(default_factory=Authorizer)
    faults: Faults = field(default_factory=Faults)
    journal: Journal = field(default_factory=Journal)
    allocator: ServiceAllocator = field(default_factory=ServiceAllocator)
    streams: dict[int, Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index: dict[tuple[str, str], dict[str, Served]] = {}
        for served in self.profile.served():
            self.index.setdefault((served.group, served.version), {})[served.resource.plural] = served
        self.groups = {group for group, _ in self.index}
