// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the load balancer that classes share, or that of one class: the ports of HTTP and HTTPS, extra
 * ports for either, and the ports of Services for TCP and UDP. Who holds what was settled before. HTTPS listeners exist
 * only if there is a certificate to serve, or a server name whose TLS is passed through. Pure.
 */
#pragma once

#include "translator/plan.h"

enum { SHARED_LISTENERS_MAX = 8192, SHARED_BYTES_MAX = 2 * 1024 * 1024 };

/* A port and who has it. */
struct shared_port {
	uint64_t port;
	enum listener_protocol protocol;
	const struct plan *holder; /* of TCP and UDP */
	uint64_t created;          /* of the holder */
};

struct shared_request {
	struct str class_name;
	const struct class_listener *listeners; /* of the class, or of all that share */
	size_t listener_count;
	struct str_list addresses;       /* of all other ports */
	uint64_t created;                /* of the class, or of the oldest that shares */
	const struct shared_port *ports; /* without those of `listeners` */
	size_t port_count;
	bool shows_certificate;         /* some certificate for some name */
	bool passes_through;            /* TLS for some name */
	struct str default_certificate; /* id; empty: none */
	bool https_is_possible;         /* with this provider */
	struct str default_pool;
	struct forwarding *forwarding; /* NULL: none; of the caller's */
	bool reads_proxy;              /* listeners of HTTP and HTTPS do */
};

/* key.id is the caller's. */
void shared_build(const struct shared_request *request, struct arena *arena,
	struct load_balancer *ret_balancer, struct diag_list *diags);
