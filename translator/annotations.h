// SPDX-License-Identifier: Apache-2.0
/*
 * The annotations of an Ingress as typed values. What there is stands in the table annotations.def, from which the structs below are made.
 * annotations.c parses, annotation_values.c compares, merges and refuses by the columns of the table. Pure.
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

/* ---- the table ---- */

/* The columns TYPE and PLACE. */
enum annotation_type {
	ANNOTATION_COUNT,
	ANNOTATION_SWITCH,
	ANNOTATION_TEXT,
	ANNOTATION_NAME,
	ANNOTATION_OBJECT,
	ANNOTATION_HOST,
	ANNOTATION_PROTOCOL,
	ANNOTATION_NAMESPACES,
	ANNOTATION_STICKINESS,
	ANNOTATION_PROBES,
	ANNOTATION_LABELS,
};
enum annotation_place {
	ANNOTATION_OF_BALANCER,
	ANNOTATION_OF_LISTENERS,
	ANNOTATION_OF_EACH,
	ANNOTATION_OF_BACKEND,
	ANNOTATION_OF_INGRESS,
};

/* The rows, such as ANNOTATION_ROW_scale. */
enum annotation_row {
#define ANNOTATION(place_, member_, ...) ANNOTATION_ROW_##member_,
#include "translator/annotations.def"
	ANNOTATION_ROW_COUNT,
};

enum policy_index {
#define POLICY(name_, ...) POLICY_INDEX_##name_,
#include "translator/annotations.def"
	POLICY_COUNT,
};

/* What is asked for that not every provider supports; see policies.h. */
enum policy_bit {
	POLICY_NONE = 0,
#define POLICY(name_, ...) POLICY_##name_ = UINT64_C(1) << POLICY_INDEX_##name_,
#include "translator/annotations.def"
};

/* ---- values: zero, NULL or empty when not given, or unusable ---- */

#define ANNOTATION_C_COUNT      uint64_t
#define ANNOTATION_C_SWITCH     enum annotation_switch
#define ANNOTATION_C_TEXT       struct str
#define ANNOTATION_C_NAME       struct str
#define ANNOTATION_C_OBJECT     struct str
#define ANNOTATION_C_HOST       struct str
#define ANNOTATION_C_PROTOCOL   enum backend_protocol
#define ANNOTATION_C_NAMESPACES struct str /* each followed by a comma */
#define ANNOTATION_C_STICKINESS struct stickiness *
#define ANNOTATION_C_PROBES     LIST_OF(struct health_check) /* sorted by service */
#define ANNOTATION_C_LABELS     LIST_OF(struct label)        /* sorted by key */

#define ANNOTATION_CHOOSE_BALANCER(backend_, other_)  other_
#define ANNOTATION_CHOOSE_LISTENERS(backend_, other_) other_
#define ANNOTATION_CHOOSE_EACH(backend_, other_)      other_
#define ANNOTATION_CHOOSE_INGRESS(backend_, other_)   other_
#define ANNOTATION_CHOOSE_BACKEND(backend_, other_)   backend_

/* What a dialect says of TLS to backends beyond its annotations here: how handshakes are made. */
struct backend_terms {
	bool sends_name;       /* the server name is asked for */
	struct str usual_name; /* in place of the Service's, where no name is said; empty: none */
	/* These count only if the Secret that is named has authorities. */
	uint64_t min_version; /* as in struct pool_tls */
	uint64_t max_version;
	uint64_t max_depth;
	struct str_list ciphers;
};

/* How to connect to backends, as the annotations ask. */
struct backend_wish {
	const struct backend_terms *terms; /* NULL: the provider's own */
#define ANNOTATION(place_, member_, type_, ...) \
	ANNOTATION_CHOOSE_##place_(ANNOTATION_C_##type_ member_;, )
#include "translator/annotations.def"
};

struct annotation_values {
#define ANNOTATION(place_, member_, type_, ...) \
	ANNOTATION_CHOOSE_##place_(, ANNOTATION_C_##type_ member_;)
#include "translator/annotations.def"
	struct backend_wish backend;
};

/* Values are views of the record or live in the arena. */
void annotations_read(const struct ingress_record *ingress, struct arena *arena,
	struct annotation_values *ret_values, struct diag_list *diags);
/* The field named in diagnostics: "metadata.annotations[scale]", spelled as in the Ingress, or, without one, as in the Go original. */
const char *annotation_field(
	const struct ingress_record *ingress, struct arena *arena, enum annotation_row row);

/* ---- by the table: annotation_values.c ---- */

struct annotation_spec {
	enum annotation_type type;
	enum annotation_place place;
	enum policy_bit policy;
	size_t offset; /* in struct annotation_values */
	size_t size;
	const char *canonical;
	const char *original; /* NULL: not known to the Go original */
	uint64_t min;
	uint64_t max;
};
extern const struct annotation_spec annotation_specs[ANNOTATION_ROW_COUNT];

bool annotation_is_set(const struct annotation_values *values, enum annotation_row row);
/* Whether the row belongs to the load balancer, and only one of the Ingresses that share it can have its way. */
bool annotation_is_single(enum annotation_row row);
bool annotation_equal(const struct annotation_values *a, const struct annotation_values *b,
	enum annotation_row row);
void annotation_copy(struct annotation_values *to, const struct annotation_values *from,
	enum annotation_row row);
/* Takes the values of a policy away. Returns the field of the first of them, for diagnostics; NULL: none was set. */
const char *annotations_drop(struct annotation_values *values, enum policy_bit policy,
	const struct ingress_record *ingress, struct arena *arena);
bool annotations_ask_backends(const struct annotation_values *values);
/* Whether a load balancer would be the same with either. */
bool annotations_same_balancer(
	const struct annotation_values *a, const struct annotation_values *b);
/* Sets those members of a load balancer that are values as they are. */
void annotations_set_balancer(
	const struct annotation_values *values, struct load_balancer *balancer);
