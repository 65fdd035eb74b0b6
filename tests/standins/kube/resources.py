# SPDX-License-Identifier: Apache-2.0
"""The table of resources: what they are called, in which group versions they are served, and by which releases."""

from __future__ import annotations

from dataclasses import dataclass

ALL_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")
CURRENT, BETA, BEFORE_18 = "current", "beta", "before 1.18"


@dataclass(eq=False)
class Served:
    """One resource as seen through one group version, with the minor releases that serve it."""

    group: str
    version: str
    form: str = CURRENT  # of objects in it; the newest is the one in which they are stored
    since: int = 1
    until: int | None = None
    resource: Resource = None  # type: ignore[assignment]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        return f"{self.resource.plural}.{self.group}" if self.group else self.resource.plural

    def served_by(self, minor: int) -> bool:
        return self.since <= minor and (self.until is None or minor < self.until)


@dataclass(eq=False)
class Resource:
    """One kind of stored object. The first entry of `served` is the form in which objects are stored."""

    plural: str
    kind: str
    served: tuple[Served, ...]
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = False
    generation: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    verbs: tuple[str, ...] = ALL_VERBS

    def __post_init__(self) -> None:
        for served in self.served:
            served.resource = self

    @property
    def hub(self) -> Served:
        """The group version in whose form objects are stored."""
        return self.served[0]


def _core(plural: str, kind: str, **more: bool | tuple[str, ...]) -> Resource:
    return Resource(plural, kind, (Served("", "v1"),), **more)  # type: ignore[arg-type]


NETWORKING, DISCOVERY = "networking.k8s.io", "discovery.k8s.io"
BETA_INGRESSES = [
    Served(group, "v1beta1", form, since, until)
    for group, first in ((NETWORKING, 14), ("extensions", 1))
    for form, since, until in ((BEFORE_18, first, 18), (BETA, 18, 22))
]
INGRESSES = Resource(
    "ingresses", "Ingress", (Served(NETWORKING, "v1", since=19), *BETA_INGRESSES), short=("ing",), status=True, generation=True
)
INGRESS_CLASSES = Resource(
    "ingressclasses",
    "IngressClass",
    (Served(NETWORKING, "v1", since=19), Served(NETWORKING, "v1beta1", since=18, until=22)),
    namespaced=False,
    generation=True,
)
SERVICES = _core("services", "Service", short=("svc",), status=True, create_on_update=True)
ENDPOINTS = _core("endpoints", "Endpoints", short=("ep",), create_on_update=True)
ENDPOINT_SLICES = Resource(
    "endpointslices",
    "EndpointSlice",
    (Served(DISCOVERY, "v1", since=21), Served(DISCOVERY, "v1beta1", BETA, since=16, until=25)),
    generation=True,
)
SECRETS = _core("secrets", "Secret")
CONFIG_MAPS = _core("configmaps", "ConfigMap", short=("cm",))
PODS = _core("pods", "Pod", short=("po",), status=True)
NODES = _core("nodes", "Node", namespaced=False, short=("no",), status=True)
NAMESPACES = _core("namespaces", "Namespace", namespaced=False, short=("ns",), status=True)
EVENTS = _core("events", "Event", short=("ev",), create_on_update=True)
LEASES = Resource(
    "leases", "Lease", (Served("coordination.k8s.io", "v1", since=14),), create_on_update=True, unconditional_update=False
)
ACCESS_REVIEWS = Resource(
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    (Served("authorization.k8s.io", "v1"),),
    namespaced=False,
    verbs=("create",),
)

# What is applied beside those that are watched: kept, and nothing comes of it.
APPLIED = (
    _core("serviceaccounts", "ServiceAccount", short=("sa",)),
    Resource("daemonsets", "DaemonSet", (Served("apps", "v1"),), short=("ds",), generation=True),
    Resource("deployments", "Deployment", (Served("apps", "v1"),), short=("deploy",), generation=True),
    Resource("poddisruptionbudgets", "PodDisruptionBudget", (Served("policy", "v1", since=21),), short=("pdb",), generation=True),
    Resource("clusterroles", "ClusterRole", (Served("rbac.authorization.k8s.io", "v1"),), namespaced=False),
    Resource("roles", "Role", (Served("rbac.authorization.k8s.io", "v1"),)),
    Resource("rolebindings", "RoleBinding", (Served("rbac.authorization.k8s.io", "v1"),)),
    Resource("clusterrolebindings", "ClusterRoleBinding", (Served("rbac.authorization.k8s.io", "v1"),), namespaced=False),
)

RESOURCES = (
    *APPLIED, CONFIG_MAPS, ENDPOINTS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, SERVICES, LEASES, ENDPOINT_SLICES, INGRESS_CLASSES, INGRESSES, ACCESS_REVIEWS
)
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}
