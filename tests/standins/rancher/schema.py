# SPDX-License-Identifier: Apache-2.0
"""The types of the API: which fields they have, who may set them, what their values must look like.

`perm` holds the letters c (may be set at creation), r (is shown) and u (may be set by PUT), for the project
role. A field type is one of string, int, boolean, date, enum, json, map, array[T], reference[type] or the
name of a nested type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    type: str
    perm: str = "cru"
    required: bool = False
    nullable: bool = True
    default: Any = None
    options: tuple[str, ...] = ()
    min: int | None = None
    max: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    filterable: bool = False
    readers: tuple[str, ...] = ()  # the roles that see it; empty: all, if perm has an r


@dataclass(frozen=True)
class Type:
    id: str
    plural: str
    fields: dict[str, Field]
    base: str = ""
    collection_methods: tuple[str, ...] = ("GET",)
    resource_methods: tuple[str, ...] = ("GET",)
    actions: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def base_type(self) -> str:
        return self.base or self.id


_ADMIN = ("admin",)


def _string(perm: str = "cru", **rules: Any) -> Field:
    return Field("string", perm, **rules)


_COMMON = {
    "id": _string("r", filterable=True),
    "accountId": Field("reference[project]", "r", filterable=True),
    "created": Field("date", "r", filterable=True),
    "description": _string(max_length=1024),
    "kind": _string("r", filterable=True),
    "name": _string(filterable=True, min_length=1, max_length=63),
    "removed": Field("date", "r", filterable=True),
    "state": _string("r", filterable=True),
    "transitioning": _string("r"),
    "transitioningMessage": _string("r"),
    "transitioningProgress": Field("int", "r"),
    "uuid": _string("r", filterable=True),
}

_SERVICE = {
    **_COMMON,
    "assignServiceIpAddress": Field("boolean", "cr", default=False, nullable=False),
    "createIndex": Field("int", "r"),
    "currentScale": Field("int", "r"),
    "externalId": _string("cr", max_length=255, filterable=True),
    "fqdn": _string("r"),
    "healthState": _string("r", filterable=True),
    "instanceIds": Field("array[reference[instance]]", "r"),
    "launchConfig": Field("launchConfig", "cr"),
    "lbConfig": Field("lbConfig", "cru"),
    "linkedServices": Field("map", "r"),
    "metadata": Field("map"),
    "publicEndpoints": Field("array[publicEndpoint]", "cru"),
    "retainIp": Field("boolean"),
    "scale": Field("int", default=1, min=0, nullable=False),
    "scalePolicy": Field("scalePolicy"),
    "selectorContainer": _string(filterable=True),
    "selectorLink": _string(filterable=True),
    "stackId": Field("reference[stack]", "cr", filterable=True),
    "startOnCreate": Field("boolean", "cr", default=False, nullable=False),
    "system": Field("boolean", "r", filterable=True),
    "upgrade": Field("json", "r"),
    "vip": _string("cr", filterable=True),
}


def _service(without: tuple[str, ...] = (), **changed: Field) -> dict[str, Field]:
    fields = {name: spec for name, spec in _SERVICE.items() if name not in without}
    fields.update(changed)
    return fields


_PORT_RULE = {
    "backendName": _string("cr"),
    "environment": _string("cr"),
    "hostname": _string("cr"),
    "path": _string("cr"),
    "priority": Field("int", "cr", min=1),
    "protocol": Field("enum", "cr", default="http", options=("http", "https", "tcp", "udp", "tls", "sni")),
    "region": _string("cr"),
    "selector": _string("cr"),
    "serviceId": Field("reference[service]", "cr"),
    "sourcePort": Field("int", "cr", required=True, nullable=False, min=1, max=65535),
    "targetPort": Field("int", "cr", min=1, max=65535),
    "weight": Field("int", "cr", min=0, max=256),
}

_SETTING = {
    "id": _string("r"), "name": _string("r"), "activeValue": _string("r"), "value": _string("r"),
    "inDb": Field("boolean", "r", readers=_ADMIN), "source": _string("r", readers=_ADMIN),
}

_HEALTH_CHECK = {
    "healthyThreshold": Field("int"), "initializingTimeout": Field("int"), "interval": Field("int"),
    "name": _string(), "port": Field("int"), "recreateOnQuorumStrategyConfig": Field("json"),
    "reinitializingTimeout": Field("int"), "requestLine": _string(), "responseTimeout": Field("int"),
    "strategy": Field("enum", options=("none", "recreate", "recreateOnQuorum")),
    "unhealthyThreshold": Field("int"),
}

_LAUNCH_FLAGS = ("privileged", "publishAllPorts", "readOnly", "runInit", "stdinOpen", "tty", "system")
_LAUNCH_JSON = (
    "blkioDeviceOptions", "capAdd", "capDrop", "command", "dataVolumes", "dataVolumesFrom",
    "dataVolumesFromLaunchConfigs", "devices", "dns", "dnsOpt", "dnsSearch", "entryPoint", "environment",
    "expose",
    "extraHosts", "groupAdd", "logConfig", "networkIds", "restartPolicy", "securityOpt", "sysctls", "tmpfs",
    "ulimits",
)
_LAUNCH_STRINGS = (
    "cpuSet", "description", "domainName", "hostname", "ipcMode", "isolation", "pidMode",
    "requestedHostId", "requestedIpAddress", "stopSignal", "user", "userdata", "volumeDriver", "workingDir",
)
_LAUNCH_INTS = ("cpuShares", "memory", "memoryMb", "memoryReservation", "memorySwap", "milliCpuReservation",
                "shmSize")

_LAUNCH_CONFIG = {
    "imageUuid": _string(), "ports": Field("array[string]"), "labels": Field("map", nullable=False),
    "healthCheck": Field("instanceHealthCheck"),
    "kind": _string(default="container"), "startOnCreate": Field("boolean", default=True),
    "instanceTriggeredStop": Field("enum", default="stop", options=("stop", "remove", "terminate")),
    "vcpu": Field("int", default=1), "version": _string(default="0"),
    "drainTimeoutMs": Field("int", default=0),
    **{name: Field("boolean", default=False) for name in _LAUNCH_FLAGS},
    **{name: Field("json") for name in _LAUNCH_JSON},
    **{name: _string() for name in _LAUNCH_STRINGS}, "networkMode": _string(default="managed"),
    **{name: Field("int") for name in _LAUNCH_INTS},
}

_CRUD_COLLECTION, _CRUD_RESOURCE = ("GET", "POST"), ("GET", "PUT", "DELETE")
_SERVICE_ACTIONS = ("activate", "addservicelink", "cancelupgrade", "continueupgrade", "create", "deactivate",
                    "finishupgrade", "remove", "removeservicelink", "restart", "rollback", "setservicelinks",
                    "update", "upgrade")
_SERVICE_LINKS = ("account", "consumedbyservices", "consumedservices", "instances", "stack")

NESTED = {
    "portRule": Type("portRule", "portRules", _PORT_RULE),
    "lbConfig": Type("lbConfig", "lbConfigs", {
        "certificateIds": Field("array[reference[certificate]]", "cr"),
        "config": _string("cr"),
        "defaultCertificateId": Field("reference[certificate]", "cr"),
        "portRules": Field("array[portRule]", "cr", nullable=False),
        "stickinessPolicy": Field("loadBalancerCookieStickinessPolicy", "cr"),
    }),
    "loadBalancerCookieStickinessPolicy": Type(
        "loadBalancerCookieStickinessPolicy", "loadBalancerCookieStickinessPolicies", {
            "name": _string("cr"), "cookie": _string("cr", nullable=False),
            "domain": _string("cr", nullable=False),
            "indirect": Field("boolean", "cr", default=False),
            "nocache": Field("boolean", "cr", default=False),
            "postonly": Field("boolean", "cr", default=False),
            "mode": Field("enum", "cr", default="insert", options=("rewrite", "insert", "prefix")),
        }),
    "instanceHealthCheck": Type("instanceHealthCheck", "instanceHealthChecks", _HEALTH_CHECK),
    "launchConfig": Type("launchConfig", "launchConfigs", _LAUNCH_CONFIG),
    "scalePolicy": Type("scalePolicy", "scalePolicies", {
        "min": Field("int", min=1, required=True), "max": Field("int", min=1),
        "increment": Field("int", min=1)}),
    "publicEndpoint": Type("publicEndpoint", "publicEndpoints", {
        "ipAddress": _string(), "port": Field("int"), "serviceId": _string(), "hostId": _string(),
        "instanceId": _string()}),
}

TYPES = {t.id: t for t in (
    Type("stack", "stacks", {
        **_COMMON,
        "name": _string(required=True, nullable=False, filterable=True, min_length=1, max_length=63),
        "answers": Field("map", "cr"), "binding": Field("json"), "dockerCompose": _string("cr"),
        "environment": Field("map", "cr"), "externalId": _string(max_length=128, filterable=True),
        "group": _string(), "healthState": _string("r", filterable=True), "outputs": Field("map"),
        "previousEnvironment": Field("map"), "previousExternalId": _string(), "rancherCompose": _string("cr"),
        "serviceIds": Field("array[reference[service]]", "r"),
        "startOnCreate": Field("boolean", "cr", default=False, nullable=False),
        "system": Field("boolean", "r", filterable=True), "templates": Field("map", "cr"),
    }, "", _CRUD_COLLECTION, _CRUD_RESOURCE,
        ("activateservices", "addoutputs", "create", "deactivateservices", "error", "exportconfig", "remove",
         "update", "upgrade", "finishupgrade", "rollback", "cancelupgrade"), ("account", "services")),
    Type("service", "services", _service(secondaryLaunchConfigs=Field("json", "cr")), "", _CRUD_COLLECTION,
         _CRUD_RESOURCE, _SERVICE_ACTIONS, _SERVICE_LINKS),
    Type("loadBalancerService", "loadBalancerServices", _service(
        ("createIndex", "selectorContainer"),
        launchConfig=Field("launchConfig", "cru", required=True, nullable=False),
        lbConfig=Field("lbConfig", "cru", required=True),
    ), "service", _CRUD_COLLECTION, _CRUD_RESOURCE, _SERVICE_ACTIONS, _SERVICE_LINKS),
    Type("kubernetesService", "kubernetesServices", {
        **{name: Field(spec.type, "r", filterable=spec.filterable) for name, spec in _service((
            "assignServiceIpAddress", "createIndex", "fqdn", "launchConfig", "metadata", "publicEndpoints",
            "retainIp", "scale", "selectorLink", "upgrade", "startOnCreate", "scalePolicy", "currentScale",
            "lbConfig")).items()},
        "template": Field("json", "r"),
    }, "service", ("GET",), ("GET",), (), _SERVICE_LINKS),
    Type("certificate", "certificates", {
        **_COMMON,
        "name": _string(required=True, nullable=False, filterable=True, min_length=1, max_length=255),
        "cert": _string(required=True, nullable=False, max_length=65535),
        "key": _string("cu", required=True, nullable=False, max_length=65535, readers=("projectadmin", "admin")),
        "certChain": _string(max_length=65535),
        "CN": _string("r"), "algorithm": _string("r"), "certFingerprint": _string("r"),
        "expiresAt": _string("r"),
        "issuedAt": _string("r"), "issuer": _string("r"), "keySize": Field("int", "r"),
        "serialNumber": _string("r"), "subjectAlternativeNames": Field("array[string]", "r"),
        "version": _string("r"),
    }, "", _CRUD_COLLECTION, _CRUD_RESOURCE, ("create", "remove", "update"), ("account",)),
    Type("host", "hosts", {
        **_COMMON, "agentIpAddress": _string("r"), "agentState": _string("r"), "hostname": _string("r"),
        "instanceIds": Field("array[reference[instance]]", "r"), "labels": Field("map", "ru"),
        "publicEndpoints": Field("array[publicEndpoint]", "r"),
    }, links=("account", "instances")),
    Type("instance", "instances", {**_COMMON, "externalId": _string("r", filterable=True),
                                   "hostId": _string("r")}),
    Type("container", "containers", {
        **_COMMON, "createIndex": Field("int", "r"), "deploymentUnitUuid": _string("r"),
        "externalId": _string("r", filterable=True), "healthState": _string("r"),
        "hostId": Field("reference[host]", "r"), "imageUuid": _string("r"), "labels": Field("map", "r"),
        "ports": Field("array[string]", "r"), "primaryIpAddress": _string("r"),
        "serviceIds": Field("array[reference[service]]", "r"), "startCount": Field("int", "r"),
        "system": Field("boolean", "r", filterable=True),
    }, "instance", links=("account", "hosts", "services")),
    Type("setting", "settings", _SETTING),
    Type("activeSetting", "activeSettings", _SETTING, "setting"),
    Type("project", "projects", {
        **{name: spec for name, spec in _COMMON.items() if name != "accountId"},
        "defaultNetworkId": _string("r"), "healthState": _string("r"), "hostRemoveDelaySeconds": Field("int", "r"),
        "members": Field("json", "r"), "orchestration": _string("r"), "projectTemplateId": _string("r"),
        "servicesPortRange": Field("json", "r"), "version": _string("r"), "virtualMachine": Field("boolean", "r"),
    }, "account"),
    Type("subscribe", "subscribe", {"eventNames": Field("array[string]", "cr", required=True)},
         "", ("GET", "POST"), ()),
)}

LISTED = ("stack", "service", "loadBalancerService", "kubernetesService", "certificate", "host",
          "instance", "container", "setting", "project", "subscribe")


def _spellings() -> dict[str, str]:
    names: dict[str, str] = {}
    for type_id in LISTED:
        names[type_id.lower()] = type_id
        names[TYPES[type_id].plural.lower()] = type_id
    return names


# Plural, singular, any case: all lead to the type.
SPELLINGS = _spellings()


def resolve(name: str) -> str | None:
    """The type that a path segment means, or None."""
    return SPELLINGS.get(name.lower())


def plural(type_id: str) -> str:
    """The path segment the server itself writes in links: always lowercase."""
    return TYPES[type_id].plural.lower()


def readable(spec: Field, role: str) -> bool:
    return role in spec.readers if spec.readers else "r" in spec.perm
