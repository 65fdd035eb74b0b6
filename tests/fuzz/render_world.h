// SPDX-License-Identifier: Apache-2.0
/*
 * What a provider on this machine is sent, drawn from the bytes of a fuzzer with anything in every field, and rendered by the provider's own
 * code. What comes out is taken apart into words by the rules of the proxy's grammar, and each group of words must have a form that a
 * harmless state brings forth too (world_fill_plain()).
 *
 * The functions of provider-proxy/local.h that give a provider its parts are defined here, so that its code runs without a link; and those of
 * provider-proxy/externals.h that a renderer calls, so that host names have addresses without anybody being asked.
 */
#pragma once

#include "provider-proxy/local.h"
#include "provider-proxy/ports.h"

struct world {
	struct state *state;
	struct rows *rows;
	struct notices *notices;
	struct routes *routes;
	const struct route_writer *writer;
	struct message_reader *reader;
	struct arena arena; /* of what was drawn */
	struct buf frame;
	struct str rest;   /* bytes that are not drawn yet */
	struct str *texts; /* all that were drawn */
	size_t text_count;
	struct pool *pools; /* as drawn: also those that the protocol refuses */
	size_t pool_count;
};

#define WORLD_STATE_DIR "/state"
#define WORLD_PROXY_DIR "/run/proxy"

/* One at a time. */
/* Without a writer, which may be NULL, there are no policies, and rules have pools alone. */
void world_init(struct world *world, const uint8_t *data, size_t len, enum routes_form form,
	const struct route_writer *writer);
void world_fini(struct world *world);
struct local *world_local(struct world *world);

/* A number below `count`; 0 when the bytes have run out. */
unsigned world_pick(struct world *world, unsigned count);
/* Remembers the text as one that was drawn, and gives it back. */
struct str world_keep(struct world *world, struct str text);
/* What should stand there, or something else, remembered. */
struct str world_text(struct world *world, const char *good);
/* Gives the rule more than its pool. */
void world_draw_rule(struct world *world, struct path_rule *rule);
void world_draw_policy(struct world *world);
/* False: it breaks a limit of the protocol, so it never reaches a provider. */
bool world_stage(struct world *world, const void *object);
/* Self-signed, for tests alone; PEM. */
extern const char world_authority[];
extern const char world_authority_key[];

/* How handshakes with backends are made: 0 as usual, or one of the others. */
enum { WORLD_TERMS = 5 };
void world_fill_terms(struct pool_tls *tls, unsigned which);
/* Who is believed about what, as one of so many. */
enum { WORLD_FRONTS = 64 };
#define WORLD_CLIENT_HEADER "CF-Connecting-IP"
void world_fill_forwarding(struct forwarding *forwarding, unsigned which);
/* Stages some objects; false: there are no bytes left. */
bool world_draw(struct world *world);
/* Stages a state with everything that a configuration can have, all of it harmless. */
void world_fill_plain(struct world *world);
/* on_change() for each pool and certificate, with the rows up to date. */
void world_commit(struct world *world,
	void (*on_change)(void *ctx, struct state *state, const struct state_commit *commit),
	void *ctx);
/* The text was drawn. */
bool world_has_text(const struct world *world, struct str text);

/* ---- forms: sets of words that belong together ---- */

struct forms {
	void *tree;
	bool is_learning; /* forms_check() adds what is new */
};

/* The form must be known. */
void forms_check(struct forms *forms, struct str form);
/* Appends the word and a space, with `@` for each name of ours and `0` for each number in it; an address, with its port or prefix, is `<address>`. */
void forms_word(struct buf *form, struct str word);
/* PEM blocks alone, which can be the payload of a command that ends at an empty line. */
void forms_check_pem(struct str content);
/* Every row of the routes is a key of ours with a value of ours: no text of a tenant is anything but the end of a key. */
void forms_check_rows(struct world *world, bool has_slots);
