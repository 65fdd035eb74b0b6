// SPDX-License-Identifier: Apache-2.0
/*
 * The annotations of kubernetes/ingress-nginx as texts that look as they must: which are there, which of them count, and what their owner has to know. What they
 * mean is said by ingress_nginx.h. Pure.
 */
#pragma once

#include "translator/diag.h"

#define INGRESS_NGINX_PREFIX "nginx.ingress.kubernetes.io"

enum { NGINX_VALUE_MAX_LEN = 16 * 1024 };

enum nginx_row {
#define NGINX_ANNOTATION(member_, ...) NGINX_ROW_##member_,
#include "translator/dialects/ingress_nginx.def"
	NGINX_ROW_COUNT,
};

enum nginx_kind {
	NGINX_BOOL,
	NGINX_NUMBER,
	NGINX_SIZE,
	NGINX_SECONDS,
	NGINX_WORDS,
	NGINX_WORD_LIST,
	NGINX_NETWORKS,
	NGINX_SERVICE,
	NGINX_RAW,
	/* Sets of characters. */
	NGINX_BASIC,
	NGINX_SPACE,
	NGINX_EXT,
	NGINX_URL,
	NGINX_URLVAR,
	NGINX_RXPATH,
	NGINX_PREFIX,
	NGINX_REGEX,
	NGINX_HOSTS,
	NGINX_HEADERS,
	NGINX_EXPOSE,
	NGINX_METHODS,
	NGINX_VARIABLES,
	NGINX_CIPHERS,
	NGINX_CODES,
	NGINX_COOKIE,
	NGINX_INDEX,
	NGINX_HASH,
	NGINX_TEXT,
};

enum nginx_bad { NGINX_LEFT_OUT, NGINX_CLOSES };

enum nginx_verdict {
	NGINX_SAME,
	NGINX_DECIDED,
	NGINX_NEAR,
	NGINX_NOTHING,
	NGINX_LATER,
	NGINX_REFUSED
};

struct nginx_spec {
	const char *name;
	const char *alias; /* NULL: none */
	enum nginx_kind kind;
	enum nginx_bad bad;
	const char *word; /* NULL: needs none */
	enum nginx_verdict on_nginx;
	enum nginx_verdict on_haproxy;
	const char *words; /* for NGINX_WORDS and NGINX_WORD_LIST */
	const char *note;
};
extern const struct nginx_spec nginx_specs[NGINX_ROW_COUNT];

struct nginx_value {
	struct str key; /* as the Ingress has it */
	const char *
		option; /* the field, if it is a global option and the Ingress does not have it; else NULL */
	struct str text; /* without the blanks around it */
	bool is_set;     /* it is there, and looks as it must */
};

struct nginx_options;

/* ConfigMaps that annotations name. */
struct nginx_maps {
	/* By NAMESPACE/NAME; NULL: there is none. NULL itself: none are read. */
	const struct config_map_record *(*find)(void *ctx, struct str key, struct arena *arena);
	void *ctx;
	struct str_list used; /* keys that were asked for */
};

struct nginx_values {
	struct nginx_value items[NGINX_ROW_COUNT];
	const struct nginx_options *options; /* see ingress_nginx_options.h; NULL: there are none */
	struct nginx_maps maps;
	/* The Service that takes what no rule does; no name: there is none. */
	struct str backend_namespace;
	struct str backend_name;
	bool is_closed; /* one that protects cannot be used */
};

/* Whom a finding is told, and how. */
struct nginx_teller {
	const struct object_ref *self;
	struct arena *arena;
	struct diag_list *diags;
};

/* Texts are views of the record. An empty prefix stands for INGRESS_NGINX_PREFIX. Everything that does not count is told. Global options: see nginx_options_apply(). */
void nginx_values_read(const struct ingress_record *ingress, struct str prefix,
	const struct nginx_teller *teller, struct nginx_values *ret_values);
/* For an Ingress of another class, whose owner may take them for guards: that they have no effect. */
void nginx_values_tell_unread(
	const struct ingress_record *ingress, struct str prefix, const struct nginx_teller *teller);
/* Tells of a value that looks as it must, but cannot be used; what follows from that is by its row. */
[[gnu::format(printf, 4, 5)]] void nginx_values_refuse(struct nginx_values *values,
	enum nginx_row row, const struct nginx_teller *teller, const char *format, ...);
/* Likewise, but its rules are closed, for something else would be served otherwise. */
[[gnu::format(printf, 4, 5)]] void nginx_values_close(struct nginx_values *values,
	enum nginx_row row, const struct nginx_teller *teller, const char *format, ...);
/* Tells how the annotation differs from what it was: for those that do not work identically with one of the proxies. */
void nginx_values_tell_verdicts(
	const struct ingress_record *ingress, struct str prefix, const struct nginx_teller *teller);

/* Whether a text looks as a row wants it. NULL: it does, otherwise what is expected. */
const char *nginx_value_check(const struct nginx_spec *spec, struct str text);
bool nginx_value_read_bool(struct str text, bool *ret_on);
/* Decimal digits, perhaps with a sign; numbers that are too large are as large as can be. */
bool nginx_value_read_number(struct str text, int64_t *ret_number);
bool nginx_value_is_on(const struct nginx_values *values, enum nginx_row row, bool otherwise);
/* Numbers below least or above greatest, and absent ones, are `otherwise`. */
int64_t nginx_value_number(const struct nginx_values *values, enum nginx_row row, int64_t least,
	int64_t greatest, int64_t otherwise);
/* The one of the words, without case; SIZE_MAX: none. */
bool nginx_value_is(const struct nginx_values *values, enum nginx_row row, const char *word);
