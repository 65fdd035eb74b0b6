// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/stock.h"

#include "common/arena.h"
#include "common/ascii.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

enum { OBJECTS_AT_ONCE = 500 };

struct row {
	RB_ENTRY(row) node;
	struct stock_row shown;
};

RB_HEAD(row_tree, row);

/* Of Services, or of Secrets. */
struct table {
	struct row_tree rows;
	size_t count;
	struct row others; /* has no name until there is one */
};

struct stock {
	struct state *state;
	size_t rows_max;
	struct arena arena;   /* of the rows */
	struct arena reading; /* of one object */
	struct table services;
	struct table secrets;
	enum lb_kind kind; /* that is read */
	struct buf last;   /* id of the object that was read last; empty: none was */
};

static int compare_rows(const struct row *a, const struct row *b)
{
	int order = str_cmp(a->shown.namespace, b->shown.namespace);
	if (order == 0)
		order = str_cmp(a->shown.name, b->shown.name);
	return order != 0 ? order : str_cmp(a->shown.port, b->shown.port);
}

RB_GENERATE_LOCAL(row_tree, row, node, compare_rows)

/* What may stand in a label: names that Kubernetes has checked, and ports. */
static bool is_label(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.'))
			return false;
	}
	return text.len <= CHECK_HOST_LEN_MAX;
}

/* NULL: its name is none. */
static struct stock_row *row_of(
	struct stock *stock, struct table *table, const struct stock_row *named)
{
	struct row key = {.shown = *named};
	bool is_named = named->namespace.len != 0 && named->name.len != 0 &&
			is_label(named->namespace) && is_label(named->name) &&
			is_label(named->port);
	struct row *row = is_named ? RB_FIND(row_tree, &table->rows, &key) : NULL;
	if (!is_named || row != NULL)
		return row != NULL ? &row->shown : NULL;
	if (table->count == stock->rows_max) {
		table->others.shown.name = STR(STOCK_OTHERS);
		return &table->others.shown;
	}
	row = arena_calloc(&stock->arena, 1, sizeof(*row));
	row->shown.namespace = arena_str(&stock->arena, named->namespace);
	row->shown.name = arena_str(&stock->arena, named->name);
	row->shown.port = arena_str(&stock->arena, named->port);
	RB_INSERT(row_tree, &table->rows, row);
	table->count++;
	return &row->shown;
}

/* ---- reading ---- */

static void count_endpoints(const struct pool *pool, struct str id, const struct traffic_now *now,
	int64_t ret_counts[STOCK_ENDPOINT_COUNT])
{
	struct name name = name_of(NAME_POOL, id);
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		struct check_ip ip;
		bool is_out = check_ip(endpoint->ip, &ip) &&
			      traffic_now_is_out(now, name_str(&name), str_from(ip.text),
				      (uint16_t)endpoint->port);
		ret_counts[!endpoint->active ? STOCK_DRAINING : is_out ? STOCK_OUT : STOCK_READY]++;
	}
}

/* Several pools may be for one Service, with other settings: the one with the most endpoints out of use is told, and they are not added. */
static void join(struct stock_row *row, const int64_t counts[STOCK_ENDPOINT_COUNT], bool is_shared)
{
	int64_t all = row->endpoints[STOCK_READY] + row->endpoints[STOCK_OUT];
	bool is_first = all + row->endpoints[STOCK_DRAINING] == 0;
	bool is_worse = is_first || counts[STOCK_OUT] > row->endpoints[STOCK_OUT];
	for (size_t i = 0; i < STOCK_ENDPOINT_COUNT; i++) {
		if (is_shared)
			row->endpoints[i] += counts[i];
		else if (is_worse)
			row->endpoints[i] = counts[i];
	}
}

static void read_pool(
	struct stock *stock, const struct object *object, const struct traffic_now *now)
{
	struct pool pool;
	int64_t counts[STOCK_ENDPOINT_COUNT] = {0};
	state_decode(stock->state, object, &stock->reading, &pool);
	struct stock_row named = {
		.namespace = pool.service.namespace,
		.name = pool.service.name,
		.port = pool.port != 0 ? arena_printf(&stock->reading, "%" PRIu64, pool.port)
				       : pool.port_name,
	};
	struct stock_row *row = row_of(stock, &stock->services, &named);
	if (row == NULL)
		return;
	count_endpoints(&pool, object_id(object), now, counts);
	join(row, counts, row == &stock->services.others.shown);
}

static void read_certificate(struct stock *stock, const struct object *object)
{
	struct certificate certificate;
	state_decode(stock->state, object, &stock->reading, &certificate);
	struct stock_row named = {.namespace = certificate.namespace, .name = certificate.name};
	struct stock_row *row = row_of(stock, &stock->secrets, &named);
	int64_t ends_s = (int64_t)certificate.not_after;
	if (row != NULL && ends_s != 0 && (row->ends_s == 0 || ends_s < row->ends_s))
		row->ends_s = ends_s;
}

static struct object *next_object(const struct stock *stock)
{
	return buf_len(&stock->last) == 0
		       ? state_first(stock->state, stock->kind)
		       : state_after(stock->state, stock->kind, buf_str(&stock->last));
}

bool stock_read(struct stock *stock, const struct traffic_now *now)
{
	struct object *object = next_object(stock);
	for (size_t i = 0; i < OBJECTS_AT_ONCE && object != NULL; i++) {
		if (stock->kind == LB_POOL)
			read_pool(stock, object, now);
		else
			read_certificate(stock, object);
		buf_clear(&stock->last);
		must(buf_append_str(&stock->last, object_id(object)) == 0);
		arena_reset(&stock->reading);
		object = state_next(stock->state, object);
	}
	if (object != NULL)
		return true;
	buf_clear(&stock->last);
	if (stock->kind == LB_CERTIFICATE)
		return false;
	stock->kind = LB_CERTIFICATE;
	return true;
}

/* ---- telling ---- */

const struct stock_row *stock_next(
	const struct stock *stock, enum lb_kind kind, const struct stock_row *row)
{
	/* The trees of libbsd take no const. */
	struct stock *own = (struct stock *)(uintptr_t)stock;
	struct table *table = kind == LB_POOL ? &own->services : &own->secrets;
	if (row == &table->others.shown)
		return NULL;
	struct row *last =
		row != NULL ? (struct row *)((uintptr_t)row - offsetof(struct row, shown)) : NULL;
	struct row *next = last != NULL ? RB_NEXT(row_tree, &table->rows, last)
					: RB_MIN(row_tree, &table->rows);
	if (next != NULL)
		return &next->shown;
	return table->others.shown.name.len != 0 ? &table->others.shown : NULL;
}

struct stock *stock_new(struct state *state, size_t rows_max)
{
	struct stock *stock = xcalloc(1, sizeof(*stock));
	stock->state = state;
	stock->rows_max = rows_max;
	stock->kind = LB_POOL;
	arena_init(&stock->arena);
	arena_init(&stock->reading);
	RB_INIT(&stock->services.rows);
	RB_INIT(&stock->secrets.rows);
	buf_init(&stock->last, UINT16_MAX);
	return stock;
}

void stock_free(struct stock *stock)
{
	if (stock == NULL)
		return;
	arena_fini(&stock->arena);
	arena_fini(&stock->reading);
	buf_fini(&stock->last);
	free(stock);
}
