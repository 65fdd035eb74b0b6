# SPDX-License-Identifier: Apache-2.0
"""Every request that the Go ingress controller sent to a Rancher server while it made, served and removed one
load balancer, in order, as recorded from a run of it.

An entry is: seconds since the start, method, path with query, body, status. Ids are placeholders.
"""

from __future__ import annotations

from typing import Any

_NO_LINKS: dict[str, Any] = {"links": None, "actions": None}
_STACK = ("/v2-beta/stacks?externalId=kubernetes-ingress-lbs%3A%2F%2F&name=kubernetes-ingress-lbs"
          "&removed_null=1")
_LBS = "/v2-beta/loadbalancerservices"
_BY_NAME = _LBS + "?name=default-rancherlb-ing-00001&removed_null=1&stackId={stack}"
_BY_OLD_NAME = _LBS + "?name=default-ing-00001&removed_null=1&stackId={stack}"
_LB = _LBS + "/{lb}"
_TARGET = "/v2-beta/kubernetesservices?externalId=00000000-0000-4000-8000-000000000001&removed_null=1"

STACK = {**_NO_LINKS, "externalId": "kubernetes-ingress-lbs://", "name": "kubernetes-ingress-lbs"}
BALANCER = {
    **_NO_LINKS, "externalId": "kubernetes-ingress-lbs://default-rancherlb-ing-00001",
    "launchConfig": {**_NO_LINKS, "imageUuid": "docker:rancher/lb-service-haproxy:v0.7.15",
                     "ports": ["80:80"]},
    "lbConfig": {**_NO_LINKS}, "name": "default-rancherlb-ing-00001", "stackId": "{stack}",
}
RULES = {"lbConfig": {**_NO_LINKS, "portRules": [
    {**_NO_LINKS, "hostname": "h00001.example.com", "path": "/p", "protocol": "http", "serviceId": "{target}",
     "sourcePort": 80, "targetPort": 8080}]}}

REQUESTS: list[tuple[float, str, str, Any, int]] = [
    (0.0, "GET", "/v2-beta", None, 200),
    (0.0, "GET", "/v2-beta/schemas", None, 200),
    (2.98, "GET", _STACK, None, 200),
    (2.98, "POST", "/v2-beta/stacks", STACK, 201),
    (2.98, "GET", _STACK, None, 200),
    (2.98, "GET", _BY_NAME, None, 200),
    (2.98, "GET", _STACK, None, 200),
    (2.98, "GET", _STACK, None, 200),
    (2.98, "GET", _BY_NAME, None, 200),
    (2.98, "GET", _BY_OLD_NAME, None, 200),
    (2.98, "GET", "/v2-beta/settings?name=lb.instance.image", None, 200),
    (2.98, "GET", _STACK, None, 200),
    (2.98, "GET", _BY_OLD_NAME, None, 200),
    (2.98, "POST", _LBS, BALANCER, 201),
    (2.98, "GET", _LB, None, 200),
    (4.99, "GET", _LB, None, 200),
    (4.99, "GET", _LB, None, 200),
    (4.99, "POST", _LB + "/?action=activate", None, 202),
    (4.99, "GET", _LB, None, 200),
    (6.99, "GET", _LB, None, 200),
    (6.99, "GET", _LB, None, 200),
    (6.99, "GET", _LB, None, 200),
    (6.99, "GET", _LB, None, 200),
    (6.99, "GET", _TARGET, None, 200),
    (6.99, "PUT", _LB, RULES, 200),
    (30.0, "GET", _STACK, None, 200),
    (30.0, "GET", _LBS + "?removed_null=1&stackId={stack}", None, 200),
    (30.01, "GET", _STACK, None, 200),
    (30.01, "GET", _BY_NAME, None, 200),
    (30.01, "GET", _LB, None, 200),
    (30.01, "GET", _LB, None, 200),
    (30.01, "GET", _STACK, None, 200),
    (30.01, "GET", _STACK, None, 200),
    (30.01, "GET", _BY_NAME, None, 200),
    (30.01, "GET", _STACK, None, 200),
    (30.01, "GET", _BY_NAME, None, 200),
    (30.01, "GET", _TARGET, None, 200),
    (30.01, "GET", _LB, None, 200),
    (30.01, "GET", _LB, None, 200),
    (34.19, "GET", _STACK, None, 200),
    (34.19, "GET", _BY_NAME, None, 200),
    (34.2, "POST", _LB + "/?action=remove", None, 202),
]
