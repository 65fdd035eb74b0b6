// SPDX-License-Identifier: Apache-2.0
/*
 * Parses the annotations of an Ingress into typed values, driven by the table annotations.def.
 * Pure.
 *
 * Those that concern the load balancer as a whole may differ between Ingresses that share one: see
 * balancer.h.
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

/* How to connect to backends, as the annotations ask. */
struct backend_wish {
	enum backend_protocol protocol;
	enum annotation_switch verify;
	struct str ca; /* name of a Secret */
	struct str name;
	struct str client; /* name of a Secret */
};

/* Zero, NULL or empty: not given, or unusable. */
struct annotation_values {
	uint64_t scale;
	uint64_t http_port;
	uint64_t https_port;
	enum annotation_switch allow_http;
	enum annotation_switch tls_passthrough;
	struct str custom_config;
	struct str group;
	struct str shared_with; /* namespaces, each followed by a comma */
	struct backend_wish backend;
	struct stickiness *stickiness;
	LIST_OF(struct label) labels;               /* sorted by key */
	LIST_OF(struct health_check) health_checks; /* sorted by service */
};

/* Values are views of the record or live in the arena. */
void annotations_read(const struct ingress_record *ingress, struct arena *arena,
	struct annotation_values *ret_values, struct diag_list *diags);
/* The field named in diagnostics: "metadata.annotations[scale]", spelled as in the Ingress. */
const char *annotation_field(
	const struct ingress_record *ingress, struct arena *arena, const char *original_name);
