# SPDX-License-Identifier: Apache-2.0
"""The table of resources: what they are called, in which group versions they are served, and by which
releases."""

from __future__ import annotations

from dataclasses import dataclass, field

from .schema import Struct
from .shapes import core, networking, others

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")


@dataclass(eq=False)
class Served:
    """One resource as seen through one group version, with the minor releases that serve it."""

    group: str
    version: str
    shape: Struct
    since: int = 1
    until: int | None = None
    deprecated: int | None = None
    replacement: str = ""
    resource: Resource = None  # type: ignore[assignment]

    @property
    def api_version(self) -> str:
        """The value of apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_hub(self) -> bool:
        """Whether objects are stored in the form of this version."""
        return self.shape is self.resource.hub.shape

    @property
    def qualified(self) -> str:
        """The resource's name with its group, as error messages print it."""
        return f"{self.resource.plural}.{self.group}" if self.group else self.resource.plural

    def served_by(self, minor: int) -> bool:
        """Whether release 1.minor serves it."""
        return self.since <= minor and (self.until is None or minor < self.until)

    def warning(self, minor: int) -> str:
        """The text of the deprecation warning, or nothing."""
        if self.deprecated is None or minor < self.deprecated:
            return ""
        gone = f", unavailable in v1.{self.until}+" if self.until else ""
        name = f"{self.api_version} {self.resource.kind}"
        return f"{name} is deprecated in v1.{self.deprecated}+{gone}; use {self.replacement}"


@dataclass(eq=False)
class Resource:
    """One kind of stored object. The first entry of `served` is the form in which objects are stored."""

    plural: str
    kind: str
    served: tuple[Served, ...]
    namespaced: bool = True
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    generation: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    singular: str = field(init=False)

    def __post_init__(self) -> None:
        self.singular = self.kind.lower()
        for served in self.served:
            served.resource = self

    @property
    def hub(self) -> Served:
        """The group version in whose form objects are stored."""
        return self.served[0]


def _core(shape: Struct) -> tuple[Served, ...]:
    return (Served("", "v1", shape),)


NETWORKING, DISCOVERY, RBAC = "networking.k8s.io", "discovery.k8s.io", "rbac.authorization.k8s.io"

INGRESSES = Resource(
    "ingresses",
    "Ingress",
    (
        Served(NETWORKING, "v1", networking.INGRESS, since=19),
        Served(NETWORKING, "v1beta1", networking.INGRESS_BEFORE_18, since=14, until=18),
        Served("extensions", "v1beta1", networking.INGRESS_BEFORE_18, until=18),
        Served(
            NETWORKING,
            "v1beta1",
            networking.INGRESS_V1BETA1,
            since=18,
            until=22,
            deprecated=19,
            replacement="networking.k8s.io/v1 Ingress",
        ),
        Served(
            "extensions",
            "v1beta1",
            networking.INGRESS_V1BETA1,
            since=18,
            until=22,
            deprecated=14,
            replacement="networking.k8s.io/v1 Ingress",
        ),
    ),
    short=("ing",),
    status=True,
    generation=True,
)
INGRESS_CLASSES = Resource(
    "ingressclasses",
    "IngressClass",
    (
        Served(NETWORKING, "v1", networking.INGRESS_CLASS, since=19),
        Served(
            NETWORKING,
            "v1beta1",
            networking.INGRESS_CLASS,
            since=18,
            until=22,
            deprecated=19,
            replacement="networking.k8s.io/v1 IngressClass",
        ),
    ),
    namespaced=False,
    generation=True,
)
SERVICES = Resource(
    "services",
    "Service",
    _core(core.SERVICE),
    short=("svc",),
    categories=("all",),
    status=True,
    create_on_update=True,
)
ENDPOINTS = Resource(
    "endpoints",
    "Endpoints",
    (Served("", "v1", core.ENDPOINTS, deprecated=33, replacement="discovery.k8s.io/v1 EndpointSlice"),),
    short=("ep",),
    create_on_update=True,
)
ENDPOINT_SLICES = Resource(
    "endpointslices",
    "EndpointSlice",
    (
        Served(DISCOVERY, "v1", others.ENDPOINT_SLICE, since=21),
        Served(
            DISCOVERY,
            "v1beta1",
            others.ENDPOINT_SLICE_V1BETA1,
            since=16,
            until=25,
            deprecated=21,
            replacement="discovery.k8s.io/v1 EndpointSlice",
        ),
    ),
    generation=True,
)
SECRETS = Resource("secrets", "Secret", _core(core.SECRET))
CONFIG_MAPS = Resource("configmaps", "ConfigMap", _core(core.CONFIG_MAP), short=("cm",))
SERVICE_ACCOUNTS = Resource("serviceaccounts", "ServiceAccount", _core(core.SERVICE_ACCOUNT), short=("sa",))
NAMESPACES = Resource(
    "namespaces",
    "Namespace",
    _core(core.NAMESPACE),
    namespaced=False,
    short=("ns",),
    status=True,
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
EVENTS = Resource(
    "events",
    "Event",
    (Served("", "v1", core.EVENT), Served("events.k8s.io", "v1", core.EVENT_EVENTS_V1, since=19)),
    short=("ev",),
    create_on_update=True,
)
PODS = Resource("pods", "Pod", _core(core.POD), short=("po",), categories=("all",), status=True)
NODES = Resource("nodes", "Node", _core(core.NODE), namespaced=False, short=("no",), status=True)
LEASES = Resource(
    "leases",
    "Lease",
    (Served("coordination.k8s.io", "v1", others.LEASE, since=14),),
    create_on_update=True,
    unconditional_update=False,
)
DEPLOYMENTS = Resource(
    "deployments",
    "Deployment",
    (Served("apps", "v1", others.DEPLOYMENT),),
    short=("deploy",),
    categories=("all",),
    status=True,
    generation=True,
)
ROLES = Resource("roles", "Role", (Served(RBAC, "v1", others.ROLE),))
CLUSTER_ROLES = Resource(
    "clusterroles", "ClusterRole", (Served(RBAC, "v1", others.CLUSTER_ROLE),), namespaced=False
)
ROLE_BINDINGS = Resource("rolebindings", "RoleBinding", (Served(RBAC, "v1", others.ROLE_BINDING),))
CLUSTER_ROLE_BINDINGS = Resource(
    "clusterrolebindings",
    "ClusterRoleBinding",
    (Served(RBAC, "v1", others.CLUSTER_ROLE_BINDING),),
    namespaced=False,
)
ACCESS_REVIEWS = Resource(
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    (Served("authorization.k8s.io", "v1", others.SELF_ACCESS_REVIEW),),
    namespaced=False,
    verbs=("create",),
)

RESOURCES = (
    CONFIG_MAPS,
    ENDPOINTS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    DEPLOYMENTS,
    LEASES,
    ENDPOINT_SLICES,
    INGRESS_CLASSES,
    INGRESSES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    ACCESS_REVIEWS,
)
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}
