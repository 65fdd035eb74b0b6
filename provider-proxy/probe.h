// SPDX-License-Identifier: Apache-2.0
/*
 * Whether our proxy answers: it is asked through each address and port that it serves, and through its control socket, every few seconds, also
 * when nothing changes; a few requests a second at most, however many listeners there are.
 *
 * The question is a request for a host that nobody can guess (128 random bits below `sluice.invalid`, kept in the state folder), which stands among the other hosts in the
 * proxy's rows, and so costs other requests nothing. The answer names the process that gives it: a former proxy that still holds a port, or a foreign program, does not
 * pass. Where TLS is refused for want of a certificate, that is an answer; listeners of TCP, and those that not everybody may connect to, are connected to only.
 *
 *   PENDING --each listener has answered--> WELL --no answer for timeout_s--> SILENT --neither port nor control for three times as long--> replace()
 */
#pragma once

#include "provider-proxy/ports.h"
#include "provider-proxy/rows.h"

#include <ev.h>

/* The value of the row of the host, and of its paths; what a proxy makes of it is its provider's. */
#define PROBE_TARGET "probe"

struct probe;

struct probe_ops {
	/* Have the proxy say something on its control socket; see probe_control_answered(). */
	void (*ask_control)(void *ctx);
	/* Whether the answer is that of the present proxy. */
	bool (*is_ours)(void *ctx, struct str body);
	/* probe_is_pending() or probe_trouble() may say something else. */
	void (*on_change)(void *ctx);
	/* The proxy hangs: end it, so that another is started. */
	void (*replace)(void *ctx);
};

struct probe_config {
	struct ev_loop *loop;
	struct rows *rows;
	const char *token_file; /* of the host; not kept */
	double timeout_s;
	const struct probe_ops *ops;
	void *ctx;
};

struct probe *probe_new(const struct probe_config *config);
void probe_free(struct probe *probe);

/* The rows for the load balancers of these ports. */
void probe_want_rows(struct probe *probe, const struct ports *ports);
/* What the proxy serves from now on: of the ports those that are in `sockets` (NULL: all). All of it is copied. Cheap when nothing changes. */
void probe_set_listeners(
	struct probe *probe, const struct ports *ports, const struct socket_list *sockets);
/* The process that has to answer is another one: each listener is asked anew. `is_up` false: there is none, and nothing is asked. */
void probe_set_proxy(struct probe *probe, bool is_up);
void probe_control_answered(struct probe *probe);
/* Some listener has not yet been heard. */
bool probe_is_pending(const struct probe *probe);
/* The present proxy has answered at each listener, though another one that shares them may answer, too. */
bool probe_is_heard(const struct probe *probe);
/* What does not answer, in words; NULL: all does, or has had no time. */
const char *probe_trouble(const struct probe *probe);
