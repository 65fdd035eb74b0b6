// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/traffic_counts.h"

#include "common/ascii.h"
#include "common/hash.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>

enum { OWNERS_MAX = 100000, PLACES_MIN = 128, BOUNDS = 11, GUARDS = 6, CLASSES = 5 };

enum { DIGITS_MAX = 17 };

static const int64_t number_max = (int64_t)1 << 53;

/* The order is that of enum traffic_field of provider-proxy/traffic.h. */
enum field {
	CLASS,
	BUCKET = CLASS + CLASSES,
	DURATION = BUCKET + BOUNDS + 1,
	SENT,
	RECEIVED,
	RETRIES,
	DENIED,
	FIELDS = DENIED + GUARDS,
};

struct exemplar {
	char id[TRAFFIC_ID_LEN_MAX + 1]; /* empty: there is none */
	int64_t ms;
	int64_t time_ms;
};

struct owner {
	uint64_t hash;
	struct str name; /* what it points to follows this */
	int64_t counts[FIELDS];
	struct exemplar *exemplars; /* BOUNDS + 1, by bucket; NULL: there are none */
};

/* Lines of one frontend of one worker. */
struct frontend {
	int64_t worker;
	int64_t id;
	int64_t first; /* the number of its first line */
	int64_t last;
	int64_t received;
	uint64_t heard; /* counts up */
};

struct traffic_counts {
	struct owner **owners; /* in the order in which they came */
	size_t count;
	size_t room;
	struct owner **places; /* by the hash of their names, or the next free ones; NULL: free */
	size_t place_count;    /* a power of 2, at least twice `count` */
	int64_t time_ms;
	size_t ingresses; /* those that are neither of the two names below */
	struct frontend frontends[TRAFFIC_FRONTENDS_MAX];
	size_t frontend_count;
	uint64_t heard;
	int64_t lost; /* of frontends that were forgotten */
	int64_t told;
};

/* What is counted of one request. */
struct request {
	struct str owner;
	struct str line;
	struct str reason;
	struct str id;
	int64_t max;
	int64_t status; /* -1: the client went before there was one */
	int64_t sent;
	int64_t received;
	int64_t ms;
	int64_t retries;
	int64_t worker;
	int64_t frontend;
	int64_t number;
	bool is_logged;
};

static const char none[] = "/(none)";
static const char others[] = "/(others)";

/* ---- reading ---- */

/* Up to a blank, which is passed over, or the end. */
static struct str next_word(struct str *rest)
{
	const char *at = rest->p;
	const char *end = at + rest->len;
	while (at < end && *at != ' ' && *at != '\n')
		at++;
	struct str word = {rest->p, (size_t)(at - rest->p)};
	at += at < end && *at == ' ';
	*rest = (struct str){at, (size_t)(end - at)};
	return word;
}

static bool next_digits(struct str *rest, int64_t *ret_value)
{
	const char *at = rest->p;
	const char *end = at + (rest->len < DIGITS_MAX ? rest->len : DIGITS_MAX);
	int64_t value = 0;
	while (at < end && *at >= '0' && *at <= '9')
		value = value * 10 + (*at++ - '0');
	size_t len = (size_t)(at - rest->p);
	*rest = (struct str){at, rest->len - len};
	*ret_value = value;
	return len != 0 && value <= number_max;
}

static bool next_end(struct str *rest)
{
	bool is_end = rest->len == 0 || rest->p[0] == ' ' || rest->p[0] == '\n';
	*rest = str_skip(*rest, rest->len != 0 && rest->p[0] == ' ');
	return is_end;
}

static bool next_number(struct str *rest, int64_t *ret_value)
{
	return next_digits(rest, ret_value) && next_end(rest);
}

/* -1: HAProxy does not know it. */
static bool next_number_or_none(struct str *rest, int64_t *ret_value)
{
	bool is_none = rest->len > 1 && rest->p[0] == '-' && rest->p[1] == '1';
	*rest = str_skip(*rest, is_none);
	if (!next_number(rest, ret_value) || (is_none && *ret_value != 1))
		return false;
	*ret_value = is_none ? -1 : *ret_value;
	return true;
}

/* Seconds with three digits behind the point. */
static bool next_seconds(struct str *rest, int64_t *ret_ms)
{
	int64_t seconds;
	int64_t ms;
	if (!next_digits(rest, &seconds) || rest->len < 4 || rest->p[0] != '.')
		return false;
	*rest = str_skip(*rest, 1);
	struct str before = *rest;
	if (!next_digits(rest, &ms) || before.len - rest->len != 3 || !next_end(rest))
		return false;
	*ret_ms = seconds * 1000 + ms;
	return *ret_ms <= number_max;
}

/* HAProxy has a plus before the number where the last of them was another endpoint. */
static bool next_retries(struct str *rest, int64_t *ret_value)
{
	*rest = str_skip(*rest, rest->len != 0 && rest->p[0] == '+');
	return next_number(rest, ret_value);
}

static bool is_id(struct str text)
{
	bool is_plain = text.len != 0 && text.len <= TRAFFIC_ID_LEN_MAX;
	for (size_t i = 0; i < text.len && is_plain; i++)
		is_plain = (text.p[i] >= 'a' && text.p[i] <= 'f') ||
			   (text.p[i] >= '0' && text.p[i] <= '9');
	return is_plain;
}

/* Empty: there is none. */
static struct str next_id(struct str *rest)
{
	if (rest->len == 0 || rest->p[0] != TRAFFIC_ID_MARK)
		return STR_NONE;
	*rest = str_skip(*rest, 1);
	struct str word = next_word(rest);
	return is_id(word) ? word : STR_NONE;
}

static bool is_owner(struct str text)
{
	const char *slash = str_find(text, '/');
	bool is_plain = slash != NULL && slash != text.p && text.len <= TRAFFIC_OWNER_LEN_MAX;
	for (size_t i = 0; i < text.len && is_plain; i++) {
		char c = text.p[i];
		is_plain = ascii_is_lower(c) || ascii_is_digit(c) || c == '.' || c == '-' ||
			   text.p + i == slash;
	}
	return is_plain;
}

/* Of the two in `OWNER<OWNER` the first that is one. */
static struct str owner_in(struct str word)
{
	const char *sign = str_find(word, '<');
	if (sign == NULL)
		return word;
	struct str first = {word.p, (size_t)(sign - word.p)};
	return str_eq(first, STR("-")) ? str_skip(word, first.len + 1) : first;
}

/* Behind the mark. */
static bool read_haproxy(struct str rest, struct request *ret)
{
	*ret = (struct request){0};
	if (!next_number(&rest, &ret->max))
		return false;
	struct str owner = owner_in(next_word(&rest));
	if (owner.len == 0 || !next_number_or_none(&rest, &ret->status) ||
		!next_number(&rest, &ret->sent) || !next_number(&rest, &ret->received) ||
		!next_number_or_none(&rest, &ret->ms) || !next_retries(&rest, &ret->retries))
		return false;
	ret->reason = next_word(&rest);
	if (ret->reason.len == 0 || !next_number(&rest, &ret->worker) ||
		!next_number(&rest, &ret->frontend) || !next_number(&rest, &ret->number))
		return false;
	bool is_marked = owner.len > 1 && owner.p[0] == '-';
	ret->is_logged = !is_marked;
	ret->owner = str_skip(owner, is_marked);
	ret->id = next_id(&rest);
	ret->line = rest;
	return ret->max != 0 && ret->worker != 0;
}

/* Likewise. */
static bool read_nginx(struct str rest, struct request *ret)
{
	*ret = (struct request){0};
	if (!next_number(&rest, &ret->max))
		return false;
	if (!next_number(&rest, &ret->status) || !next_number(&rest, &ret->sent) ||
		!next_number(&rest, &ret->received) || !next_seconds(&rest, &ret->ms))
		return false;
	ret->owner = next_word(&rest);
	while (rest.len != 0 && rest.p[0] == '+') {
		ret->retries++;
		rest = str_skip(rest, 1);
	}
	if (rest.len != 0 && rest.p[0] != TRAFFIC_ID_MARK)
		ret->reason = next_word(&rest);
	ret->id = next_id(&rest);
	return ret->max != 0;
}

/* ---- counting ---- */

/* Where it is, or would be. */
static struct owner **place_of(const struct traffic_counts *counts, uint64_t hash, struct str name)
{
	size_t mask = counts->place_count - 1;
	size_t at = hash & mask;
	while (counts->places[at] != NULL &&
		(counts->places[at]->hash != hash || !str_eq(counts->places[at]->name, name)))
		at = (at + 1) & mask;
	return &counts->places[at];
}

static void grow(struct traffic_counts *counts)
{
	counts->room = counts->room != 0 ? counts->room * 2 : PLACES_MIN / 2;
	counts->owners = xreallocarray(counts->owners, counts->room, sizeof(*counts->owners));
	free(counts->places);
	counts->place_count = counts->room * 2;
	counts->places = xcalloc(counts->place_count, sizeof(struct owner *));
	for (size_t i = 0; i < counts->count; i++) {
		struct owner *owner = counts->owners[i];
		*place_of(counts, owner->hash, owner->name) = owner;
	}
}

static struct owner *add_owner(struct traffic_counts *counts, uint64_t hash, struct str name)
{
	struct owner *owner = xcalloc(1, sizeof(*owner) + name.len);
	str_put(owner + 1, name);
	owner->name = (struct str){(const char *)(owner + 1), name.len};
	owner->hash = hash;
	if (counts->count == counts->room)
		grow(counts);
	counts->owners[counts->count++] = owner;
	*place_of(counts, hash, name) = owner;
	return owner;
}

/* One of the two names that are no Ingresses. */
static struct owner *special_owner(struct traffic_counts *counts, const char *text)
{
	struct str name = str_from(text);
	uint64_t hash = hash_of(name);
	struct owner *owner = *place_of(counts, hash, name);
	return owner != NULL ? owner : add_owner(counts, hash, name);
}

static struct owner *owner_of(struct traffic_counts *counts, const struct request *request)
{
	uint64_t hash = hash_of(request->owner);
	struct owner *owner = *place_of(counts, hash, request->owner);
	if (owner != NULL && owner->name.p[0] != '/')
		return owner;
	/* Only of those that are new: what is known is a name. */
	if (!is_owner(request->owner))
		return special_owner(counts, none);
	size_t max = request->max < OWNERS_MAX ? (size_t)request->max : OWNERS_MAX;
	if (counts->ingresses >= max)
		return special_owner(counts, others);
	counts->ingresses++;
	return add_owner(counts, hash, request->owner);
}

static size_t bucket_of(int64_t ms)
{
	static const int64_t bounds[BOUNDS] = {
		5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};
	size_t at = 0;
	while (at < BOUNDS && ms > bounds[at])
		at++;
	return at;
}

static void add(struct owner *owner, enum field field, int64_t value)
{
	int64_t *sum = &owner->counts[field];
	*sum = value <= INT64_MAX - *sum ? *sum + value : INT64_MAX;
}

static void note_exemplar(
	struct owner *owner, size_t bucket, const struct request *request, int64_t time_ms)
{
	if (request->id.len == 0)
		return;
	if (owner->exemplars == NULL)
		owner->exemplars = xcalloc(BOUNDS + 1, sizeof(*owner->exemplars));
	struct exemplar *exemplar = &owner->exemplars[bucket];
	*exemplar = (struct exemplar){.ms = request->ms > 0 ? request->ms : 0, .time_ms = time_ms};
	str_put(exemplar->id, request->id);
}

static void count(struct owner *owner, const struct request *request, int64_t time_ms)
{
	static const char *const guards[GUARDS] = {"source-access", "basic-auth", "external-auth",
		"client-tls", "rate-limit", "body-limit"};
	int64_t ms = request->ms > 0 ? request->ms : 0;
	/* nginx has 499 for those who went. */
	int64_t class = request->status < 0 ? 4 : request->status / 100;
	if (class >= 1 && class <= CLASSES)
		owner->counts[CLASS + class - 1]++;
	owner->counts[BUCKET + bucket_of(ms)]++;
	note_exemplar(owner, bucket_of(ms), request, time_ms);
	add(owner, DURATION, ms);
	add(owner, SENT, request->sent);
	add(owner, RECEIVED, request->received);
	add(owner, RETRIES, request->retries);
	for (size_t i = 0; i < GUARDS && request->reason.len > 1; i++)
		owner->counts[DENIED + i] += str_eq_c(request->reason, guards[i]);
}

/* ---- what is lost ---- */

/* Threads of HAProxy write in any order, and may take a number twice and leave the next one out. */
static int64_t missing(const struct frontend *frontend)
{
	int64_t count = frontend->last - frontend->first + 1 - frontend->received;
	return count > 0 ? count : 0;
}

/* A place for another one. */
static struct frontend *make_place(struct traffic_counts *counts)
{
	if (counts->frontend_count < TRAFFIC_FRONTENDS_MAX)
		return &counts->frontends[counts->frontend_count++];
	struct frontend *oldest = &counts->frontends[0];
	for (size_t i = 1; i < TRAFFIC_FRONTENDS_MAX; i++) {
		if (counts->frontends[i].heard < oldest->heard)
			oldest = &counts->frontends[i];
	}
	counts->lost += missing(oldest);
	return oldest;
}

static struct frontend *frontend_of(struct traffic_counts *counts, const struct request *at)
{
	for (size_t i = 0; i < counts->frontend_count; i++) {
		struct frontend *one = &counts->frontends[i];
		if (one->worker == at->worker && one->id == at->frontend)
			return one;
	}
	struct frontend *added = make_place(counts);
	*added = (struct frontend){
		.worker = at->worker, .id = at->frontend, .first = at->number, .last = at->number};
	return added;
}

static void note_number(struct traffic_counts *counts, const struct request *request)
{
	struct frontend *frontend = frontend_of(counts, request);
	frontend->heard = ++counts->heard;
	frontend->received++;
	if (request->number > frontend->last)
		frontend->last = request->number;
}

static int64_t count_lost(const struct traffic_counts *counts)
{
	int64_t lost = counts->lost;
	for (size_t i = 0; i < counts->frontend_count; i++)
		lost += missing(&counts->frontends[i]);
	return lost;
}

/* nginx does not number its lines. */
static void take_nginx(struct traffic_counts *counts, struct str line)
{
	static const struct str left_out = STR("-");
	struct request request;
	if (read_nginx(str_skip(line, 1), &request) && !str_eq(request.owner, left_out))
		count(owner_of(counts, &request), &request, counts->time_ms);
}

struct str traffic_counts_take(struct traffic_counts *counts, struct str line, bool is_request)
{
	struct request request;
	if (line.len != 0 && line.p[0] == TRAFFIC_LINE_NGINX) {
		take_nginx(counts, line);
		return STR_NONE;
	}
	if (line.len == 0 || line.p[0] != TRAFFIC_LINE_MARK)
		return line;
	if (!read_haproxy(str_skip(line, 1), &request))
		return STR_NONE;
	note_number(counts, &request);
	if (is_request)
		count(owner_of(counts, &request), &request, counts->time_ms);
	bool has_line = is_request && request.is_logged && request.line.len > 1;
	return has_line ? request.line : STR_NONE;
}

void traffic_counts_set_time(struct traffic_counts *counts, int64_t time_ms)
{
	counts->time_ms = time_ms;
}

/* ---- telling ---- */

static int print_exemplars(const struct owner *owner, struct buf *out)
{
	int err = 0;
	for (size_t i = 0; i <= BOUNDS && err == 0 && owner->exemplars != NULL; i++) {
		const struct exemplar *exemplar = &owner->exemplars[i];
		if (exemplar->id[0] != '\0')
			err = buf_printf(out, " %zu:%s:%" PRId64 ":%" PRId64, i, exemplar->id,
				exemplar->ms, exemplar->time_ms);
	}
	return err;
}

size_t traffic_counts_number(const struct traffic_counts *counts)
{
	return counts->count + 1;
}

int traffic_counts_print(struct traffic_counts *counts, size_t index, struct buf *out)
{
	must(index <= counts->count);
	if (index == counts->count) {
		/* It may have been late, and a counter does not fall. */
		int64_t lost = count_lost(counts);
		counts->told = lost > counts->told ? lost : counts->told;
		return buf_printf(out, "/(lost) %" PRId64 "\n", counts->told);
	}
	const struct owner *owner = counts->owners[index];
	int err = buf_append_str(out, owner->name);
	for (size_t i = 0; i < FIELDS && err == 0; i++)
		err = buf_printf(out, " %" PRId64, owner->counts[i]);
	if (err == 0)
		err = print_exemplars(owner, out);
	return err != 0 ? err : buf_append_str(out, STR("\n"));
}

struct traffic_counts *traffic_counts_new(void)
{
	struct traffic_counts *counts = xcalloc(1, sizeof(*counts));
	grow(counts);
	return counts;
}

void traffic_counts_free(struct traffic_counts *counts)
{
	if (counts == NULL)
		return;
	for (size_t i = 0; i < counts->count; i++) {
		free(counts->owners[i]->exemplars);
		free(counts->owners[i]);
	}
	free(counts->owners);
	free(counts->places);
	free(counts);
}
