// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: which endpoint is asked, how often, and how bodies are passed on. */
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"

enum { TRIES_MAX = 100, STATUS_LEAST = 400, STATUS_MOST = 599 };

/* ---- retries ---- */

static void add_status(const struct sluice_reader *r, struct retries *retries, uint64_t status)
{
	void *items = retries->statuses.items;
	struct status_code *code =
		arena_push(r->d->arena, &items, &retries->statuses.count, sizeof(*code));
	retries->statuses.items = items;
	code->status = status;
}

/* Statuses have to be sorted, as they are in the protocol. */
static bool take_cause(const struct sluice_reader *r, struct retries *retries, struct str word)
{
	int64_t status = 0;
	if (str_eq_c(word, "error"))
		retries->on_error = true;
	else if (str_eq_c(word, "timeout"))
		retries->on_timeout = true;
	else if (str_eq_c(word, "invalid"))
		retries->on_invalid = true;
	else if (str_eq_c(word, "unsafe"))
		retries->unsafe = true;
	else if (str_to_int(word, STATUS_LEAST, STATUS_MOST, &status) &&
		 (retries->statuses.count == 0 ||
			 retries->statuses.items[retries->statuses.count - 1].status <
				 (uint64_t)status))
		add_status(r, retries, (uint64_t)status);
	else
		return false;
	return true;
}

static const char *read_causes(
	const struct sluice_reader *r, struct str rest, struct retries *retries)
{
	if (str_eq_c(rest, "off")) {
		retries->tries = 1;
		return NULL;
	}
	do {
		struct str word = str_cut(&rest, ',');
		if (!take_cause(r, retries, str_trim(word)))
			return "\"off\", or some of error, timeout, invalid, unsafe and statuses "
			       "from 400 to 599 in their order, separated by commas, are expected";
	} while (rest.len != 0);
	return NULL;
}

static void read_retries(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_retries);
	const struct str *time = sluice_value(r, SLUICE_retries_time);
	struct retries retries = {0};
	if (value == NULL) {
		sluice_tell_alone(r, SLUICE_retries_tries, "retries");
		sluice_tell_alone(r, SLUICE_retries_time, "retries");
		return;
	}
	if (!sluice_accept(r, SLUICE_retries, read_causes(r, *value, &retries)))
		return;
	(void)sluice_count(r, SLUICE_retries_tries, 1, TRIES_MAX, &retries.tries);
	if (time != NULL)
		(void)sluice_accept(
			r, SLUICE_retries_time, value_duration(*time, &retries.timeout_ms));
	struct retries *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = retries;
	r->d->route->policy.retries = copy;
	sluice_ask(r, SLUICE_retries);
}

/* ---- bodies ---- */

static void read_buffering(const struct sluice_reader *r)
{
	static const char *const words[] = {"none", "request", "response", "both"};
	const struct str *value = sluice_value(r, SLUICE_buffering);
	unsigned bits = 0;
	if (value == NULL)
		return;
	while (bits < sizeof(words) / sizeof(words[0]) && !str_eq_c(*value, words[bits]))
		bits++;
	if (!sluice_accept(r, SLUICE_buffering,
		    bits < sizeof(words) / sizeof(words[0])
			    ? NULL
			    : "\"none\", \"request\", \"response\" or \"both\" is expected"))
		return;
	struct buffering *buffering = arena_alloc(r->d->arena, sizeof(*buffering));
	*buffering = (struct buffering){.request = (bits & 1) != 0, .response = (bits & 2) != 0};
	r->d->route->policy.buffering = buffering;
	sluice_ask(r, SLUICE_buffering);
}

static void read_bandwidth(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_bandwidth);
	const struct str *after = sluice_value(r, SLUICE_bandwidth_after);
	struct bandwidth bandwidth = {0};
	if (value == NULL) {
		sluice_tell_alone(r, SLUICE_bandwidth_after, "bandwidth");
		return;
	}
	const char *problem = value_size(*value, &bandwidth.bytes_per_s);
	if (problem == NULL && bandwidth.bytes_per_s == 0)
		problem = "nothing would be sent";
	if (!sluice_accept(r, SLUICE_bandwidth, problem))
		return;
	if (after != NULL)
		(void)sluice_accept(
			r, SLUICE_bandwidth_after, value_size(*after, &bandwidth.after_bytes));
	struct bandwidth *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = bandwidth;
	r->d->route->policy.bandwidth = copy;
	sluice_ask(r, SLUICE_bandwidth);
}

/* ---- which endpoint ---- */

static void read_hash(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_hash_by);
	struct pieces pieces;
	if (value == NULL || !sluice_pieces(r, SLUICE_hash_by, *value, &pieces))
		return;
	struct route_hash *hash = arena_alloc(r->d->arena, sizeof(*hash));
	*hash = (struct route_hash){0};
	hash->key.items = pieces.list.items;
	hash->key.count = pieces.list.count;
	r->d->route->hash = hash;
	sluice_ask(r, SLUICE_hash_by);
}

void sluice_read_tries(const struct sluice_reader *r)
{
	read_retries(r);
	read_buffering(r);
	read_bandwidth(r);
	read_hash(r);
}
