// SPDX-License-Identifier: Apache-2.0
/*
 * Ports for TCP and UDP as ingress-nginx had them (--tcp-services-configmap, --udp-services-configmap): in a ConfigMap of the administrator for either, "PORT" has the value
 * "NAMESPACE/SERVICE:PORT", with ":PROXY" behind it where connections begin with a header of the PROXY protocol, and a further ":PROXY" (or "::PROXY" alone) where those to
 * endpoints do; both only for TCP. It becomes one owner of all of these ports, as a Service of type LoadBalancer is of its own. Pure.
 */
#pragma once

#include "translator/diag.h"

/* Behind the name of the ConfigMap, by protocol: no Service has a dot in its name. */
#define TCP_SERVICES_SUFFIX     ".tcp"
#define TCP_SERVICES_UDP_SUFFIX ".udp"

enum { TCP_SERVICES_MAX = 64 };

/* app_protocol of a port: what of the PROXY protocol it has. */
#define TCP_SERVICES_READS  "proxy-read"
#define TCP_SERVICES_SENDS  "proxy-send"
#define TCP_SERVICES_PASSES "proxy-read-send"

/* The record of that owner; each of its ports has "NAMESPACE/SERVICE" as its name, and as its target the port of that Service. Texts are views of the map, or in the
 * arena. What cannot be read is left out, and told in `diags`, which may be NULL. */
void tcp_services_read(const struct config_map_record *map, enum ip_protocol protocol,
	struct str load_balancer_class, struct arena *arena, struct diag_list *diags,
	struct service_record *ret_service);
/* Whether the name is that of such an owner; *ret_map is the ConfigMap's. */
bool tcp_services_is_owner(struct str name, struct str *ret_map);
