// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/speech.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "provider-proxy/trust.h"
#include "provider-nginx/pair.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/terms.h"

/* Protocol and TLS settings of a pool: as wanted, and as its row says until nginx has loaded the CA. */
struct spoken {
	struct name wanted; /* in trusts.h */
	struct name shown;  /* likewise; in the row */
	struct name client; /* certificate in the row `client:`, as wanted */
	struct name shown_client;
	char *shown_protocol; /* lines of the row; NULL: no row */
	bool is_waiting;
};

struct speaker {
	struct rows *rows;
	struct trusts *trusts;
	size_t waiting_count;
	bool has_system_ca;
	struct buf text;
};

static struct str client_key(
	struct arena *arena, const struct name *name, const struct name *client)
{
	return arena_printf(arena, "client:%s:%s", name->text, client->text);
}

static void want_client(struct speaker *speaker, const struct name *name, const struct name *client,
	const struct pool_tls *tls, struct arena *arena)
{
	char text[PAIR_DIGEST_LEN];
	if (client->text[0] == 0)
		return;
	struct str value =
		tls != NULL ? pair_digest(tls->client_chain, tls->client_key, text) : STR_NONE;
	rows_want(speaker->rows, ROW_WHOLE, client_key(arena, name, client), value);
}

/* From now on the row says what is wanted. */
static void show(struct speaker *speaker, struct spoken *spoken, const struct name *name,
	struct str protocol, struct arena *arena)
{
	trusts_drop(speaker->trusts, &spoken->shown);
	trusts_use(speaker->trusts, &spoken->wanted, STR_NONE, STR_NONE);
	if (strcmp(spoken->shown_client.text, spoken->client.text) != 0)
		want_client(speaker, name, &spoken->shown_client, NULL, arena);
	spoken->shown = spoken->wanted;
	spoken->shown_client = spoken->client;
	free(spoken->shown_protocol);
	spoken->shown_protocol = str_dup(protocol);
}

static void set_waiting(struct speaker *speaker, struct spoken *spoken, bool is_waiting)
{
	speaker->waiting_count += is_waiting;
	speaker->waiting_count -= spoken->is_waiting;
	spoken->is_waiting = is_waiting;
}

static const char *read_trust(
	const struct speaker *speaker, const struct pool *pool, struct trust *ret_trust)
{
	if (pool->tls == NULL)
		return NULL;
	if (pool->tls->verify == TLS_VERIFY_SYSTEM && !speaker->has_system_ca)
		return "this machine has no list of authorities that it trusts";
	return trust_of(pool->tls, ret_trust);
}

static void want_trust(struct speaker *speaker, struct spoken *spoken, const struct pool *pool,
	const struct trust *trust, struct arena *arena, bool is_refused)
{
	struct name old = spoken->wanted;
	struct str content = STR_NONE;
	struct str terms = STR_NONE;
	spoken->wanted = (struct name){0};
	if (!is_refused)
		spoken->wanted = terms_name(pool->tls, trust, arena, &terms);
	/* Its locations are always there. */
	if (strcmp(spoken->wanted.text, TERMS_OFF) == 0)
		spoken->wanted = (struct name){0};
	buf_clear(&speaker->text);
	if (trust->ca.text[0] != 0 && trust_ca_content(pool->tls, &speaker->text) == 0)
		content = buf_str(&speaker->text);
	trusts_use(speaker->trusts, &spoken->wanted, content, terms);
	trusts_drop(speaker->trusts, &old);
	spoken->client = trust->client;
}

static void copy_name(struct str word, struct name *ret_name)
{
	if (word.len <= NAME_LEN && !str_eq_c(word, "-") && !str_eq_c(word, "off"))
		str_put(ret_name->text, word);
}

/* Reads the settings from the row that nginx has had since before our start (see pool_text.h). */
static void adopt(struct speaker *speaker, struct spoken *spoken, const struct name *name,
	struct arena *arena)
{
	static const char end_mark[] = "\nalgo ";
	static const char tls_mark[] = "\ntls ";
	struct row *row =
		rows_find(speaker->rows, ROW_WHOLE, arena_printf(arena, "pool:%s", name->text));
	struct str text = row != NULL ? row_has(row) : STR_NONE;
	const char *end = text.p != NULL ? memmem(text.p, text.len, end_mark, 6) : NULL;
	if (end == NULL)
		return;
	struct str lines = {text.p, (size_t)(end - text.p)};
	spoken->shown_protocol = str_dup((struct str){lines.p, lines.len + 1});
	const char *tls = memmem(lines.p, lines.len, tls_mark, sizeof(tls_mark) - 1);
	if (tls == NULL)
		return;
	struct str words = str_skip(lines, (size_t)(tls - lines.p) + sizeof(tls_mark) - 1);
	copy_name(str_cut(&words, ' '), &spoken->shown);
	(void)str_cut(&words, ' ');
	copy_name(str_cut(&words, ' '), &spoken->shown_client);
	trusts_use(speaker->trusts, &spoken->shown, STR_NONE, STR_NONE);
	if (spoken->shown_client.text[0] == 0)
		return;
	struct str key = client_key(arena, name, &spoken->shown_client);
	row = rows_find(speaker->rows, ROW_WHOLE, key);
	if (row != NULL && row_has(row).p != NULL)
		rows_want(speaker->rows, ROW_WHOLE, key, arena_str(arena, row_has(row)));
}

static struct spoken *spoken_of(struct speaker *speaker, struct speech *speech,
	const struct name *name, struct arena *arena)
{
	if (speech->spoken != NULL)
		return speech->spoken;
	speech->spoken = xcalloc(1, sizeof(*speech->spoken));
	if (speech->plain == 0) {
		adopt(speaker, speech->spoken, name, arena);
	} else {
		struct pool plain = {.protocol = (enum pool_protocol)(speech->plain - 1)};
		speech->spoken->shown_protocol = str_dup(pool_text_protocol(&plain, NULL, arena));
	}
	speech->plain = 0;
	return speech->spoken;
}

void speech_drop(struct speaker *speaker, struct speech *speech, const struct name *name,
	struct arena *arena)
{
	struct spoken *spoken = speech->spoken;
	if (spoken == NULL)
		return;
	set_waiting(speaker, spoken, false);
	want_client(speaker, name, &spoken->client, NULL, arena);
	want_client(speaker, name, &spoken->shown_client, NULL, arena);
	trusts_drop(speaker->trusts, &spoken->wanted);
	trusts_drop(speaker->trusts, &spoken->shown);
	free(spoken->shown_protocol);
	free(spoken);
	speech->spoken = NULL;
}

struct str speech_settle(struct speaker *speaker, struct speech *speech, const struct name *name,
	const struct pool *pool, struct arena *arena, struct str *ret_problem)
{
	struct trust trust = {0};
	if (pool->tls == NULL) {
		speech_drop(speaker, speech, name, arena);
		speech->plain = (uint8_t)(pool->protocol + 1);
		return pool_text_protocol(pool, NULL, arena);
	}
	const char *refused = read_trust(speaker, pool, &trust);
	struct spoken *spoken = spoken_of(speaker, speech, name, arena);
	want_trust(speaker, spoken, pool, &trust, arena, refused != NULL);
	want_client(speaker, name, &trust.client, pool->tls, arena);
	bool is_live =
		spoken->wanted.text[0] == 0 || trusts_is_live(speaker->trusts, &spoken->wanted);
	set_waiting(speaker, spoken, !is_live);
	if (is_live)
		show(speaker, spoken, name,
			refused == NULL ? pool_text_protocol(pool, &trust, arena) : STR(""), arena);
	if (refused != NULL)
		*ret_problem = str_from(refused);
	return refused != NULL || spoken->shown_protocol == NULL ? STR_NONE
								 : str_from(spoken->shown_protocol);
}

bool speech_can_change(const struct speaker *speaker, const struct speech *speech)
{
	return speech->spoken != NULL && speech->spoken->is_waiting &&
	       trusts_is_live(speaker->trusts, &speech->spoken->wanted);
}

void speech_fini(struct speech *speech)
{
	if (speech->spoken != NULL)
		free(speech->spoken->shown_protocol);
	free(speech->spoken);
	speech->spoken = NULL;
}

bool speaker_is_waiting(const struct speaker *speaker)
{
	return speaker->waiting_count != 0;
}

struct trusts *speaker_trusts(struct speaker *speaker)
{
	return speaker->trusts;
}

struct speaker *speaker_new(struct rows *rows, bool has_system_ca)
{
	struct speaker *speaker = xcalloc(1, sizeof(*speaker));
	speaker->rows = rows;
	speaker->trusts = trusts_new();
	speaker->has_system_ca = has_system_ca;
	buf_init(&speaker->text, POOL_TEXT_LEN_MAX);
	return speaker;
}

void speaker_free(struct speaker *speaker)
{
	trusts_free(speaker->trusts);
	buf_fini(&speaker->text);
	free(speaker);
}
