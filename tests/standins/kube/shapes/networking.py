# SPDX-License-Identifier: Apache-2.0
"""Ingress and IngressClass in all versions in which they were ever served."""

from __future__ import annotations

from ..schema import INT, INT_OR_STRING, STRING, ListOf, Struct, always, ptr, struct
from .meta import top

TYPED_REFERENCE = struct(
    "TypedLocalObjectReference",
    atomic=True,
    apiGroup=always(STRING),
    kind=always(STRING),
    name=always(STRING),
)

PORT_STATUS = struct("IngressPortStatus", port=always(INT), protocol=always(STRING), error=ptr(STRING))
INGRESS_STATUS = struct(
    "IngressStatus",
    loadBalancer=always(
        struct(
            "IngressLoadBalancerStatus",
            ingress=ListOf(
                struct(
                    "IngressLoadBalancerIngress",
                    numbers_=(1, 2, 4),
                    ip=STRING,
                    hostname=STRING,
                    ports=ListOf(PORT_STATUS),
                )
            ),
        )
    ),
)

INGRESS_TLS = struct("IngressTLS", hosts=ListOf(STRING), secretName=STRING)

SERVICE_BACKEND = struct(
    "IngressServiceBackend",
    name=always(STRING),
    port=always(struct("ServiceBackendPort", name=STRING, number=INT, atomic=True)),
)
BACKEND = struct("IngressBackend", numbers_=(4, 3), service=SERVICE_BACKEND, resource=TYPED_REFERENCE)
BACKEND_V1BETA1 = struct(
    "IngressBackend", serviceName=STRING, servicePort=INT_OR_STRING, resource=TYPED_REFERENCE
)
BACKEND_BEFORE_18 = struct("IngressBackend", serviceName=STRING, servicePort=INT_OR_STRING)
PATH_BEFORE_18 = struct("HTTPIngressPath", path=STRING, backend=always(BACKEND_BEFORE_18))


def _path(backend: Struct) -> Struct:
    return struct(
        "HTTPIngressPath", numbers_=(1, 3, 2), path=STRING, pathType=ptr(STRING), backend=always(backend)
    )


def _rules(path: Struct) -> ListOf:
    http = struct("HTTPIngressRuleValue", paths=always(ListOf(path)))
    return ListOf(struct("IngressRule", host=STRING, http=http))


INGRESS = top(
    "Ingress",
    spec=always(
        struct(
            "IngressSpec",
            numbers_=(4, 1, 2, 3),
            ingressClassName=ptr(STRING),
            defaultBackend=BACKEND,
            tls=ListOf(INGRESS_TLS),
            rules=_rules(_path(BACKEND)),
        )
    ),
    status=always(INGRESS_STATUS),
)
INGRESS_V1BETA1 = top(
    "Ingress",
    spec=always(
        struct(
            "IngressSpec",
            numbers_=(4, 1, 2, 3),
            ingressClassName=ptr(STRING),
            backend=BACKEND_V1BETA1,
            tls=ListOf(INGRESS_TLS),
            rules=_rules(_path(BACKEND_V1BETA1)),
        )
    ),
    status=always(INGRESS_STATUS),
)
# Releases before 1.18 know neither path types, nor the class field, nor resource backends.
INGRESS_BEFORE_18 = top(
    "Ingress",
    spec=always(
        struct(
            "IngressSpec", backend=BACKEND_BEFORE_18, tls=ListOf(INGRESS_TLS), rules=_rules(PATH_BEFORE_18)
        )
    ),
    status=always(INGRESS_STATUS),
)

CLASS_PARAMETERS = struct(
    "IngressClassParametersReference",
    apiGroup=ptr(STRING),
    kind=always(STRING),
    name=always(STRING),
    scope=ptr(STRING),
    namespace=ptr(STRING),
)
INGRESS_CLASS = top(
    "IngressClass", spec=always(struct("IngressClassSpec", controller=STRING, parameters=CLASS_PARAMETERS))
)
