# SPDX-License-Identifier: Apache-2.0
"""The types that are served, in all versions in which they ever were: members in the order in which they are sent."""

from __future__ import annotations

from typing import Any

from .schema import (
    ANY,
    BOOL,
    BYTES,
    INT,
    INT_OR_STRING,
    MICRO_TIME,
    STRING,
    STRING_MAP,
    TIME,
    ListOf,
    MapOf,
    Struct,
    always,
    keyed,
    ptr,
    string_set,
    struct,
)

# Metadata

OWNER_REFERENCE = struct(
    "OwnerReference", atomic=True, apiVersion=always(STRING), kind=always(STRING), name=always(STRING), uid=always(STRING),
    controller=ptr(BOOL), blockOwnerDeletion=ptr(BOOL),
)
MANAGED_FIELDS_ENTRY = struct(
    "ManagedFieldsEntry", manager=STRING, operation=STRING, apiVersion=STRING, time=TIME, fieldsType=STRING, fieldsV1=ptr(ANY),
    subresource=STRING,
)
OBJECT_META = struct(
    "ObjectMeta", name=STRING, generateName=STRING, namespace=STRING, selfLink=STRING, uid=STRING, resourceVersion=STRING,
    generation=INT, creationTimestamp=TIME, deletionTimestamp=ptr(TIME), deletionGracePeriodSeconds=ptr(INT), labels=STRING_MAP,
    annotations=STRING_MAP, ownerReferences=keyed(OWNER_REFERENCE, "uid"), finalizers=string_set(),
    managedFields=ListOf(MANAGED_FIELDS_ENTRY),
)
CONDITION = struct(
    "Condition", type=always(STRING), status=always(STRING), observedGeneration=INT, lastTransitionTime=always(TIME),
    reason=always(STRING), message=always(STRING),
)


def top(name: str, /, **members: Any) -> Struct:
    """A whole object: kind and apiVersion, metadata, then its own members."""
    return struct(name, kind=STRING, apiVersion=STRING, metadata=always(OBJECT_META), **members)


# core

OBJECT_REFERENCE = struct(
    "ObjectReference", atomic=True, kind=STRING, namespace=STRING, name=STRING, uid=STRING, apiVersion=STRING,
    resourceVersion=STRING, fieldPath=STRING,
)
SERVICE_PORT = struct(
    "ServicePort", name=STRING, protocol=STRING, appProtocol=ptr(STRING), port=always(INT), targetPort=always(INT_OR_STRING),
    nodePort=INT,
)
AFFINITY_CONFIG = struct("SessionAffinityConfig", clientIP=struct("ClientIPConfig", timeoutSeconds=ptr(INT)))
SERVICE_SPEC = struct(
    "ServiceSpec", ports=keyed(SERVICE_PORT, "port", "protocol", merge_key="port"), selector=MapOf(STRING, atomic=True),
    clusterIP=STRING, clusterIPs=ListOf(STRING), type=STRING, externalIPs=ListOf(STRING), sessionAffinity=STRING,
    loadBalancerIP=STRING, loadBalancerSourceRanges=ListOf(STRING), externalName=STRING, externalTrafficPolicy=STRING,
    healthCheckNodePort=INT, publishNotReadyAddresses=BOOL, sessionAffinityConfig=AFFINITY_CONFIG, ipFamilies=ListOf(STRING),
    ipFamilyPolicy=ptr(STRING), allocateLoadBalancerNodePorts=ptr(BOOL), loadBalancerClass=ptr(STRING),
    internalTrafficPolicy=ptr(STRING), trafficDistribution=ptr(STRING),
)
PORT_STATUS = struct("PortStatus", port=always(INT), protocol=always(STRING), error=ptr(STRING))
SERVICE_STATUS = struct(
    "ServiceStatus",
    loadBalancer=always(struct("LoadBalancerStatus", ingress=ListOf(
        struct("LoadBalancerIngress", ip=STRING, hostname=STRING, ipMode=ptr(STRING), ports=ListOf(PORT_STATUS))))),
    conditions=keyed(CONDITION, "type"),
)
SERVICE = top("Service", spec=always(SERVICE_SPEC), status=always(SERVICE_STATUS))

ADDRESSES = ListOf(struct(
    "EndpointAddress", ip=always(STRING), hostname=STRING, nodeName=ptr(STRING), targetRef=OBJECT_REFERENCE))
ENDPOINT_PORTS = ListOf(struct("EndpointPort", name=STRING, port=always(INT), protocol=STRING, appProtocol=ptr(STRING)))
ENDPOINTS = top("Endpoints", subsets=ListOf(
    struct("EndpointSubset", addresses=ADDRESSES, notReadyAddresses=ADDRESSES, ports=ENDPOINT_PORTS)))
SECRET = top("Secret", immutable=ptr(BOOL), data=MapOf(BYTES), stringData=STRING_MAP, type=STRING)
NAMESPACE = top(
    "Namespace",
    spec=always(struct("NamespaceSpec", finalizers=ListOf(STRING))),
    status=always(struct("NamespaceStatus", phase=STRING, conditions=ListOf(ANY))),
)
EVENT = top(
    "Event", involvedObject=always(OBJECT_REFERENCE), reason=STRING, message=STRING,
    source=always(struct("EventSource", component=STRING, host=STRING)), firstTimestamp=always(TIME), lastTimestamp=always(TIME),
    count=INT, type=STRING, eventTime=always(MICRO_TIME),
    series=struct("EventSeries", count=INT, lastObservedTime=MICRO_TIME), action=STRING, related=OBJECT_REFERENCE,
    reportingComponent=always(STRING), reportingInstance=always(STRING),
)

# discovery.k8s.io

CONDITIONS = struct("EndpointConditions", ready=ptr(BOOL), serving=ptr(BOOL), terminating=ptr(BOOL))
HINTS = struct("EndpointHints", forZones=ListOf(struct("ForZone", name=always(STRING))),
               forNodes=ListOf(struct("ForNode", name=always(STRING))))
SLICE_PORT = struct("EndpointPort", atomic=True, name=ptr(STRING), protocol=ptr(STRING), port=ptr(INT), appProtocol=ptr(STRING))


def _slice(**placed: Any) -> Struct:
    endpoint = struct(
        "Endpoint", addresses=always(ListOf(STRING)), conditions=always(CONDITIONS), hostname=ptr(STRING),
        targetRef=OBJECT_REFERENCE, **placed, hints=HINTS)
    return top("EndpointSlice", addressType=always(STRING), endpoints=always(ListOf(endpoint)), ports=always(ListOf(SLICE_PORT)))


ENDPOINT_SLICE = _slice(deprecatedTopology=STRING_MAP, nodeName=ptr(STRING), zone=ptr(STRING))
ENDPOINT_SLICE_V1BETA1 = _slice(topology=STRING_MAP, nodeName=ptr(STRING))

# networking.k8s.io

TYPED_REFERENCE = struct(
    "TypedLocalObjectReference", atomic=True, apiGroup=always(STRING), kind=always(STRING), name=always(STRING))
INGRESS_STATUS = struct("IngressStatus", loadBalancer=always(struct("IngressLoadBalancerStatus", ingress=ListOf(
    struct("IngressLoadBalancerIngress", ip=STRING, hostname=STRING, ports=ListOf(PORT_STATUS))))))
BACKEND = struct(
    "IngressBackend",
    service=struct("IngressServiceBackend", name=always(STRING),
                   port=always(struct("ServiceBackendPort", name=STRING, number=INT, atomic=True))),
    resource=TYPED_REFERENCE,
)
BACKEND_BEFORE_18 = struct("IngressBackend", serviceName=STRING, servicePort=INT_OR_STRING)
BACKEND_V1BETA1 = struct("IngressBackend", serviceName=STRING, servicePort=INT_OR_STRING, resource=TYPED_REFERENCE)


def _ingress(backend: Struct, default: str, knows_types: bool = True) -> Struct:
    """Releases before 1.18 know neither path types, nor the class field, nor resource backends."""
    typed = {"pathType": ptr(STRING)} if knows_types else {}
    http = struct("HTTPIngressRuleValue", paths=always(ListOf(
        struct("HTTPIngressPath", path=STRING, **typed, backend=always(backend)))))
    spec = struct(
        "IngressSpec", **({"ingressClassName": ptr(STRING)} if knows_types else {}), **{default: backend},
        tls=ListOf(struct("IngressTLS", hosts=ListOf(STRING), secretName=STRING)),
        rules=ListOf(struct("IngressRule", host=STRING, http=http)))
    return top("Ingress", spec=always(spec), status=always(INGRESS_STATUS))


INGRESS = _ingress(BACKEND, "defaultBackend")
INGRESS_V1BETA1 = _ingress(BACKEND_V1BETA1, "backend")
INGRESS_BEFORE_18 = _ingress(BACKEND_BEFORE_18, "backend", knows_types=False)
INGRESS_CLASS = top("IngressClass", spec=always(struct(
    "IngressClassSpec", controller=STRING,
    parameters=struct("IngressClassParametersReference", apiGroup=ptr(STRING), kind=always(STRING), name=always(STRING),
                      scope=ptr(STRING), namespace=ptr(STRING)))))

# coordination.k8s.io, authorization.k8s.io

LEASE = top("Lease", spec=always(struct(
    "LeaseSpec", holderIdentity=ptr(STRING), leaseDurationSeconds=ptr(INT), acquireTime=ptr(MICRO_TIME), renewTime=ptr(MICRO_TIME),
    leaseTransitions=ptr(INT), strategy=ptr(STRING), preferredHolder=ptr(STRING))))
SELF_ACCESS_REVIEW = top(
    "SelfSubjectAccessReview",
    spec=always(struct(
        "SelfSubjectAccessReviewSpec",
        resourceAttributes=struct("ResourceAttributes", namespace=STRING, verb=STRING, group=STRING, version=STRING,
                                  resource=STRING, subresource=STRING, name=STRING),
        nonResourceAttributes=struct("NonResourceAttributes", path=STRING, verb=STRING))),
    status=struct("SubjectAccessReviewStatus", allowed=always(BOOL), reason=STRING),
)
