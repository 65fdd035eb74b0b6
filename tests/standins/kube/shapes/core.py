# SPDX-License-Identifier: Apache-2.0
"""core/v1: Service, Endpoints, Secret, ConfigMap, Namespace, ServiceAccount, Event, and Pod and Node kept
open."""

from __future__ import annotations

from ..schema import (
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
    always,
    keyed,
    ptr,
    struct,
)
from .meta import CONDITION, open_part, open_top, top

OBJECT_REFERENCE = struct(
    "ObjectReference",
    atomic=True,
    kind=STRING,
    namespace=STRING,
    name=STRING,
    uid=STRING,
    apiVersion=STRING,
    resourceVersion=STRING,
    fieldPath=STRING,
)
LOCAL_REFERENCE = struct("LocalObjectReference", atomic=True, name=STRING)

SERVICE_PORT = struct(
    "ServicePort",
    numbers_=(1, 2, 6, 3, 4, 5),
    name=STRING,
    protocol=STRING,
    appProtocol=ptr(STRING),
    port=always(INT),
    targetPort=always(INT_OR_STRING),
    nodePort=INT,
)
AFFINITY_CONFIG = struct("SessionAffinityConfig", clientIP=struct("ClientIPConfig", timeoutSeconds=ptr(INT)))
SERVICE_SPEC = struct(
    "ServiceSpec",
    numbers_=(1, 2, 3, 18, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 17, 20, 21, 22, 23),
    ports=keyed(SERVICE_PORT, "port", "protocol", merge_key="port"),
    selector=MapOf(STRING, atomic=True),
    clusterIP=STRING,
    clusterIPs=ListOf(STRING),
    type=STRING,
    externalIPs=ListOf(STRING),
    sessionAffinity=STRING,
    loadBalancerIP=STRING,
    loadBalancerSourceRanges=ListOf(STRING),
    externalName=STRING,
    externalTrafficPolicy=STRING,
    healthCheckNodePort=INT,
    publishNotReadyAddresses=BOOL,
    sessionAffinityConfig=AFFINITY_CONFIG,
    ipFamilies=ListOf(STRING),
    ipFamilyPolicy=ptr(STRING),
    allocateLoadBalancerNodePorts=ptr(BOOL),
    loadBalancerClass=ptr(STRING),
    internalTrafficPolicy=ptr(STRING),
    trafficDistribution=ptr(STRING),
)
PORT_STATUS = struct("PortStatus", port=always(INT), protocol=always(STRING), error=ptr(STRING))
BALANCER_INGRESS = struct(
    "LoadBalancerIngress", ip=STRING, hostname=STRING, ipMode=ptr(STRING), ports=ListOf(PORT_STATUS)
)
SERVICE_STATUS = struct(
    "ServiceStatus",
    loadBalancer=always(struct("LoadBalancerStatus", ingress=ListOf(BALANCER_INGRESS))),
    conditions=keyed(CONDITION, "type"),
)
SERVICE = top("Service", spec=always(SERVICE_SPEC), status=always(SERVICE_STATUS))

ENDPOINT_ADDRESS = struct(
    "EndpointAddress", ip=always(STRING), hostname=STRING, nodeName=ptr(STRING), targetRef=OBJECT_REFERENCE
)
ENDPOINT_PORT = struct(
    "EndpointPort", name=STRING, port=always(INT), protocol=STRING, appProtocol=ptr(STRING)
)
ENDPOINTS = top(
    "Endpoints",
    subsets=ListOf(
        struct(
            "EndpointSubset",
            addresses=ListOf(ENDPOINT_ADDRESS),
            notReadyAddresses=ListOf(ENDPOINT_ADDRESS),
            ports=ListOf(ENDPOINT_PORT),
        )
    ),
)

SECRET = top(
    "Secret",
    numbers_=(1, 5, 2, 4, 3),
    immutable=ptr(BOOL),
    data=MapOf(BYTES),
    stringData=STRING_MAP,
    type=STRING,
)
CONFIG_MAP = top(
    "ConfigMap", numbers_=(1, 4, 2, 3), immutable=ptr(BOOL), data=STRING_MAP, binaryData=MapOf(BYTES)
)
SERVICE_ACCOUNT = top(
    "ServiceAccount",
    secrets=keyed(OBJECT_REFERENCE, "name"),
    imagePullSecrets=keyed(LOCAL_REFERENCE, "name"),
    automountServiceAccountToken=ptr(BOOL),
)
NAMESPACE = top(
    "Namespace",
    spec=always(struct("NamespaceSpec", finalizers=ListOf(STRING))),
    status=always(struct("NamespaceStatus", phase=STRING, conditions=ListOf(ANY))),
)

EVENT_SOURCE = struct("EventSource", component=STRING, host=STRING)
EVENT_SERIES = struct("EventSeries", count=INT, lastObservedTime=MICRO_TIME)
EVENT = top(
    "Event",
    involvedObject=always(OBJECT_REFERENCE),
    reason=STRING,
    message=STRING,
    source=always(EVENT_SOURCE),
    firstTimestamp=always(TIME),
    lastTimestamp=always(TIME),
    count=INT,
    type=STRING,
    eventTime=always(MICRO_TIME),
    series=EVENT_SERIES,
    action=STRING,
    related=OBJECT_REFERENCE,
    reportingComponent=always(STRING),
    reportingInstance=always(STRING),
)
EVENT_EVENTS_V1 = top(
    "Event",
    eventTime=always(MICRO_TIME),
    series=EVENT_SERIES,
    reportingController=STRING,
    reportingInstance=STRING,
    action=STRING,
    reason=STRING,
    regarding=always(OBJECT_REFERENCE),
    related=OBJECT_REFERENCE,
    note=STRING,
    type=STRING,
    deprecatedSource=always(EVENT_SOURCE),
    deprecatedFirstTimestamp=always(TIME),
    deprecatedLastTimestamp=always(TIME),
    deprecatedCount=INT,
)

POD = open_top("Pod", spec=open_part("PodSpec"), status=open_part("PodStatus"))
NODE = open_top("Node", spec=open_part("NodeSpec"), status=open_part("NodeStatus"))
