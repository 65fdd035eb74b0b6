// SPDX-License-Identifier: Apache-2.0
/*
 * Which objects are named by others, and therefore watched by their names: by annotations of Ingresses Secrets for basic authentication and with authorities
 * for certificates of clients, and ConfigMaps with headers; by the ConfigMap with the global options of ingress-nginx further ones with headers. Only these
 * are ever asked for. Pure.
 */
#pragma once

#include "common/arena.h"
#include "watcher/store.h"

enum { NAMED_REFS_MAX = 6 };

struct named_refs_config {
	const char *nginx_prefix; /* of annotations of ingress-nginx; NULL: the usual one */
	/* The ConfigMap with the global options; no name: there is none. */
	struct str options_namespace;
	struct str options_name;
	/* Those with ports for TCP and for UDP, likewise. */
	struct str tcp_namespace;
	struct str tcp_name;
	struct str udp_namespace;
	struct str udp_name;
};

struct named_ref {
	enum record_kind kind;
	struct str namespace;
	struct str name;
};

/* NAMESPACE/NAME of an object. False: it is none. */
bool named_refs_split(struct str text, struct str *ret_namespace, struct str *ret_name);
/* Whether it is a ConfigMap with ports for TCP or UDP. */
bool named_refs_is_ports(const struct named_refs_config *config, const struct store_object *object);
/* Whether it is the ConfigMap with the global options. */
bool named_refs_is_options(
	const struct named_refs_config *config, const struct store_object *object);
/* What an Ingress, or the ConfigMap with the global options, names: each once, texts in the arena or of the object. Returns how many. */
size_t named_refs_of(const struct store_object *object, const struct named_refs_config *config,
	struct arena *arena, struct named_ref ret_refs[static NAMED_REFS_MAX]);
