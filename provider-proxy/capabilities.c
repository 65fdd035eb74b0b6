// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/capabilities.h"

/* HAProxy knows no UDP. */
static struct str protocols[] = {
	STR("http"), STR("https"), STR("tcp"), STR("tls-passthrough"), STR("udp")};
enum { HAPROXY_PROTOCOLS = 4, NGINX_PROTOCOLS = 5 };
static struct str features[] = {STR("source-ranges"), STR("applied")};

/* There is one provider in a process. */
static struct capabilities *with_policies(size_t protocol_count, struct str *policies, size_t count)
{
	static struct capabilities capabilities;
	capabilities = (struct capabilities){
		.grouping = GROUPING_MERGED,
		.protocols = {protocols, protocol_count},
		.policies = {policies, count},
		.features = {features, 2},
	};
	return &capabilities;
}

struct capabilities *nginx_capabilities(void)
{
	static struct str policies[] = {STR("stickiness"), STR("health-check"), STR("backend-tls"),
		STR("regex"), STR("decoded-paths"), STR("conditions"), STR("weights"),
		STR("redirect"), STR("fixed-answer"), STR("body-limit"), STR("cors"),
		STR("https-redirect"), STR("hsts"), STR("rate-limit"), STR("source-access"),
		STR("basic-auth"), STR("rewrite"), STR("request-headers"), STR("response-headers"),
		STR("timeouts"), STR("client-tls"), STR("external-auth"), STR("mirror"),
		STR("error-pages"), STR("error-answers"), STR("fallback-pool"), STR("retries"),
		STR("buffering"), STR("bandwidth"), STR("location-rewrite"), STR("cookie-rewrite"),
		STR("affinity"), STR("hash-balance"), STR("access-log"), STR("forwarded-headers"),
		STR("proxy-protocol"), STR("request-id"), STR("backend-tls-terms"),
		STR("backend-tls-depth"), STR("backend-http"), STR("host-handshake"),
		STR("client-tls-page")};
	return with_policies(NGINX_PROTOCOLS, policies, sizeof(policies) / sizeof(policies[0]));
}

struct capabilities *haproxy_capabilities(void)
{
	static struct str policies[] = {STR("stickiness"), STR("health-check"), STR("backend-tls"),
		STR("regex"), STR("decoded-paths"), STR("conditions"), STR("weights"),
		STR("redirect"), STR("fixed-answer"), STR("cors"), STR("https-redirect"),
		STR("hsts"), STR("rate-limit"), STR("source-access"), STR("rewrite"),
		STR("request-headers"), STR("body-limit"), STR("affinity"), STR("hash-balance"),
		STR("response-headers"), STR("timeouts"), STR("location-rewrite"),
		STR("cookie-rewrite"), STR("basic-auth"), STR("client-tls"), STR("external-auth"),
		STR("mirror"), STR("error-pages"), STR("fallback-pool"), STR("retries"),
		STR("access-log"), STR("forwarded-headers"), STR("proxy-protocol"),
		STR("request-id"), STR("backend-tls-terms")};
	return with_policies(HAPROXY_PROTOCOLS, policies, sizeof(policies) / sizeof(policies[0]));
}
