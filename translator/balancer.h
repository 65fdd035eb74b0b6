// SPDX-License-Identifier: Apache-2.0
/*
 * The load balancer object of one Ingress, of a group, or of a Service. Where several Ingresses set
 * the same property of it, the oldest wins; younger ones that disagree get a diagnostic. Pure; the
 * order of the plans does not matter.
 *
 * Listeners: HTTP on http.port unless allow.http is false; HTTPS on https.port when a certificate
 * is usable. If plain HTTP is forbidden and no certificate is usable, there is no listener at all.
 * This is reported, and the provider creates no load balancer, but keeps an existing one with its
 * addresses, because the certificate may come back.
 */
#pragma once

#include "translator/tls.h"

enum {
	BALANCER_HTTP_PORT = 80,
	BALANCER_HTTPS_PORT = 443,
	BALANCER_LABELS_MAX = 512,
	BALANCER_CHECKS_MAX = 1024,
	BALANCER_CERTIFICATES_MAX = 16 * 1024,
};

struct balancer_request {
	enum balancer_scope scope; /* BALANCER_OF_CLASS is for shared.h */
	const struct plan **plans; /* sorted in place; all of them on this load balancer */
	size_t count;              /* at least 1 */
	const struct tls_context *tls;
	bool https_is_possible; /* with this provider */
};

/* key.id is the caller's. */
void balancer_build(const struct balancer_request *request, struct arena *arena,
	struct load_balancer *ret_balancer, struct diag_list *diags);
