// SPDX-License-Identifier: Apache-2.0
/*
 * Whether our proxy answers: it is probed at each address and port that it serves, and on its control socket, every few seconds, even when
 * nothing changes; a few requests a second at most, however many listeners there are.
 *
 * A probe is a request for a host that nobody can guess (128 random bits below `sluice.invalid`, kept in the state folder). It is one of the
 * hosts in the proxy's rows, and so costs other requests nothing. The answer names the process that gives it, so neither a former proxy that
 * still holds a port nor another program passes. Where TLS is refused for lack of a certificate, that counts as an answer; listeners of TCP,
 * and those that not everybody may connect to, are only connected to.
 *
 *   PENDING --each listener has answered--> WELL --no answer for timeout_s--> SILENT --neither port nor control for three times as long--> replace()
 */
#pragma once

#include "provider-proxy/ports.h"
#include "provider-proxy/rows.h"

#include <ev.h>

/* The value in the rows of the host and of its paths; each provider decides what its proxy does with it. */
#define PROBE_TARGET "probe"

struct probe;

struct probe_ops {
	/* Ask the proxy for anything on its control socket; see probe_control_answered(). */
	void (*ask_control)(void *ctx);
	/* Whether the answer comes from the current proxy. */
	bool (*is_ours)(void *ctx, struct str body);
	/* probe_is_pending() or probe_trouble() may have changed. */
	void (*on_change)(void *ctx);
	/* The proxy hangs: kill it, so that another is started. */
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
/* What the proxy serves from now on: those of the ports that are in `sockets` (NULL: all). Copied. Cheap when nothing changes. */
void probe_set_listeners(
	struct probe *probe, const struct ports *ports, const struct socket_list *sockets);
/* Another process has to answer now: each listener is probed again. `is_up` false: there is none, and nothing is probed. */
void probe_set_proxy(struct probe *probe, bool is_up);
void probe_control_answered(struct probe *probe);
/* Some listener has not answered yet. */
bool probe_is_pending(const struct probe *probe);
/* The current proxy has answered at each listener, though another one that shares them may answer, too. */
bool probe_is_heard(const struct probe *probe);
/* What does not answer, in words; NULL: everything does, or has not had time to. */
const char *probe_trouble(const struct probe *probe);
