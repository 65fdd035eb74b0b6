// SPDX-License-Identifier: Apache-2.0
/*
 * Annotations of an Ingress to typed values, driven by the one table annotations.def. Pure.
 *
 * All of these speak of the load balancer as a whole; balancer.h says what happens when several
 * Ingresses share one.
 */
#pragma once

#include "translator/diag.h"

enum annotation_switch { SWITCH_UNSET, SWITCH_OFF, SWITCH_ON };

enum { ANNOTATION_LABELS_MAX = 128, ANNOTATION_CHECKS_MAX = 256 };

enum backend_protocol {
	BACKEND_UNSET,
	BACKEND_HTTP,
	BACKEND_HTTPS,
	BACKEND_H2C,
	BACKEND_GRPCS,
};

/* How backends are to be spoken to. */
struct backend_wish {
	enum backend_protocol protocol;
	enum annotation_switch verify;
	struct str ca; /* name of a Secret */
	struct str name;
	struct str client; /* name of a Secret */
};

/* Zero, NULL and empty: not given, or not usable. */
struct annotation_values {
	uint64_t scale;
	uint64_t http_port;
	uint64_t https_port;
	enum annotation_switch allow_http;
	enum annotation_switch tls_passthrough;
	struct str custom_config;
	struct str group;
	struct str shared_with; /* namespaces, each with a comma behind it */
	struct backend_wish backend;
	struct stickiness *stickiness;
	LIST_OF(struct label) labels;               /* sorted by key */
	LIST_OF(struct health_check) health_checks; /* sorted by service */
};

/* Values are views of the record or live in the arena. */
void annotations_read(const struct ingress_record *ingress, struct arena *arena,
	struct annotation_values *ret_values, struct diag_list *diags);
/* The field text of diagnostics: "metadata.annotations[scale]". Names the spelling that the Ingress
 * uses. */
const char *annotation_field(
	const struct ingress_record *ingress, struct arena *arena, const char *original_name);
