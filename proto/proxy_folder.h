// SPDX-License-Identifier: Apache-2.0
/*
 * Names in the folder of a proxy (--proxy-dir) that its provider and sluice-proxy must agree on. What is said there: provider-supervisor/README.md.
 */
#pragma once

/* Where sluice-proxy takes commands. */
#define SUPERVISOR_SOCKET "supervisor.sock"
/* Where it tells what it has counted. */
#define TRAFFIC_SOCKET "traffic.sock"
/* Where HAProxy asks it for checks. */
#define CHECKS_SOCKET "checks.sock"

/* Where the lines of nginx's access log are on their way. Those of HAProxy are on its standard output. */
#define ACCESS_LOG_NGINX_FILE "nginx-access.log"
/* Likewise: those from which the traffic of nginx is counted. */
#define TRAFFIC_NGINX_FILE "nginx-traffic.log"
