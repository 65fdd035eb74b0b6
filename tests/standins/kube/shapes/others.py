# SPDX-License-Identifier: Apache-2.0
"""discovery.k8s.io, coordination.k8s.io, apps, rbac and authorization types."""

from __future__ import annotations

from ..schema import ANY, BOOL, INT, MICRO_TIME, STRING, STRING_MAP, ListOf, always, ptr, struct
from .core import OBJECT_REFERENCE
from .meta import open_part, open_top, top

CONDITIONS = struct("EndpointConditions", ready=ptr(BOOL), serving=ptr(BOOL), terminating=ptr(BOOL))
SLICE_PORT = struct(
    "EndpointPort",
    atomic=True,
    name=ptr(STRING),
    protocol=ptr(STRING),
    port=ptr(INT),
    appProtocol=ptr(STRING),
)
HINTS = struct(
    "EndpointHints",
    forZones=ListOf(struct("ForZone", name=always(STRING))),
    forNodes=ListOf(struct("ForNode", name=always(STRING))),
)
ENDPOINT = struct(
    "Endpoint",
    addresses=always(ListOf(STRING)),
    conditions=always(CONDITIONS),
    hostname=ptr(STRING),
    targetRef=OBJECT_REFERENCE,
    deprecatedTopology=STRING_MAP,
    nodeName=ptr(STRING),
    zone=ptr(STRING),
    hints=HINTS,
)
ENDPOINT_V1BETA1 = struct(
    "Endpoint",
    addresses=always(ListOf(STRING)),
    conditions=always(CONDITIONS),
    hostname=ptr(STRING),
    targetRef=OBJECT_REFERENCE,
    topology=STRING_MAP,
    nodeName=ptr(STRING),
    hints=HINTS,
)

ENDPOINT_SLICE = top(
    "EndpointSlice",
    addressType=always(STRING),
    endpoints=always(ListOf(ENDPOINT)),
    ports=always(ListOf(SLICE_PORT)),
)
ENDPOINT_SLICE_V1BETA1 = top(
    "EndpointSlice",
    addressType=always(STRING),
    endpoints=always(ListOf(ENDPOINT_V1BETA1)),
    ports=always(ListOf(SLICE_PORT)),
)

LEASE = top(
    "Lease",
    spec=always(
        struct(
            "LeaseSpec",
            holderIdentity=ptr(STRING),
            leaseDurationSeconds=ptr(INT),
            acquireTime=ptr(MICRO_TIME),
            renewTime=ptr(MICRO_TIME),
            leaseTransitions=ptr(INT),
            strategy=ptr(STRING),
            preferredHolder=ptr(STRING),
        )
    ),
)

DEPLOYMENT = open_top("Deployment", spec=open_part("DeploymentSpec"), status=open_part("DeploymentStatus"))

POLICY_RULES = ListOf(
    struct(
        "PolicyRule",
        verbs=always(ListOf(STRING)),
        apiGroups=ListOf(STRING),
        resources=ListOf(STRING),
        resourceNames=ListOf(STRING),
        nonResourceURLs=ListOf(STRING),
    )
)
ROLE_REFERENCE = struct(
    "RoleRef", atomic=True, apiGroup=always(STRING), kind=always(STRING), name=always(STRING)
)
SUBJECTS = ListOf(
    struct(
        "Subject", atomic=True, kind=always(STRING), apiGroup=STRING, name=always(STRING), namespace=STRING
    )
)
ROLE = top("Role", rules=always(POLICY_RULES))
CLUSTER_ROLE = top("ClusterRole", rules=always(POLICY_RULES), aggregationRule=ANY)
ROLE_BINDING = top("RoleBinding", subjects=SUBJECTS, roleRef=always(ROLE_REFERENCE))
CLUSTER_ROLE_BINDING = top("ClusterRoleBinding", subjects=SUBJECTS, roleRef=always(ROLE_REFERENCE))

ACCESS_ATTRIBUTES = struct(
    "ResourceAttributes",
    namespace=STRING,
    verb=STRING,
    group=STRING,
    version=STRING,
    resource=STRING,
    subresource=STRING,
    name=STRING,
)
SELF_ACCESS_REVIEW = top(
    "SelfSubjectAccessReview",
    spec=always(
        struct(
            "SelfSubjectAccessReviewSpec",
            resourceAttributes=ACCESS_ATTRIBUTES,
            nonResourceAttributes=struct("NonResourceAttributes", path=STRING, verb=STRING),
        )
    ),
    status=struct("SubjectAccessReviewStatus", allowed=always(BOOL), reason=STRING),
)
