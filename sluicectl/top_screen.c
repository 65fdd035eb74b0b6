// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/top_screen.h"

#include "sluicectl/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINES_AROUND = 4, /* two above and one below the Ingresses, and their head */
	LINE_LEN_MAX = 1024,
	NAME_WIDTH = 44,
	CELL_LEN = 32,
	ESCAPE = 27,
	DELETE = 127,
	BACKSPACE = 8,
};

static const struct {
	const char *word;
	char key;
} orders[] = {
	[TOP_BY_REQUESTS] = {"requests", 'r'},
	[TOP_BY_ERRORS] = {"errors", 'e'},
	[TOP_BY_LATENCY] = {"latency", 'l'},
	[TOP_BY_BYTES] = {"bytes", 'b'},
	[TOP_BY_NAME] = {"name", 'n'},
};

enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

bool top_order_read(const char *word, enum top_order *ret_order)
{
	for (size_t i = 0; i < ORDERS; i++) {
		if (strcmp(word, orders[i].word) == 0) {
			*ret_order = (enum top_order)i;
			return true;
		}
	}
	return false;
}

/* ---- choosing ---- */

static double weight(const struct top_row *row, enum top_order order)
{
	switch (order) {
	case TOP_BY_REQUESTS:
		return row->requests;
	case TOP_BY_ERRORS:
		return row->counts.classes[4];
	case TOP_BY_LATENCY:
		return row->p95_ms;
	case TOP_BY_BYTES:
		return row->counts.sent + row->counts.received;
	case TOP_BY_NAME:
		break;
	}
	return 0;
}

static bool is_wanted(const struct top_view *view, const struct top_row *row)
{
	char name[2 * TOP_NAME_LEN_MAX + 2];
	if (view->seconds > 0 && row->requests == 0)
		return false;
	int len = snprintf(
		name, sizeof(name), "%.*s/%.*s", STR_FMT(row->namespace), STR_FMT(row->name));
	return view->filter[0] == '\0' ||
	       table_has_text((struct str){name, (size_t)len}, view->filter);
}

static int compare(const void *left, const void *right, void *ctx)
{
	const struct top_row *a = left;
	const struct top_row *b = right;
	const enum top_order *order = ctx;
	double difference = weight(b, *order) - weight(a, *order);
	if (difference != 0)
		return difference > 0 ? 1 : -1;
	int by_namespace = str_cmp(a->namespace, b->namespace);
	return by_namespace != 0 ? by_namespace : str_cmp(a->name, b->name);
}

size_t top_view_choose(const struct top_view *view, struct top_row *rows, size_t count)
{
	enum top_order order = view->order;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		struct top_row row = rows[i];
		if (!is_wanted(view, &row))
			continue;
		rows[i] = rows[kept];
		rows[kept++] = row;
	}
	qsort_r(rows, kept, sizeof(*rows), compare, &order);
	return kept;
}

/* ---- keys ---- */

static void type(struct top_view *view, char key)
{
	size_t len = strlen(view->filter);
	if (key == '\r' || key == '\n') {
		view->is_typing = false;
	} else if (key == ESCAPE) {
		view->is_typing = false;
		view->filter[0] = '\0';
	} else if (key == DELETE || key == BACKSPACE) {
		view->filter[len > 0 ? len - 1 : 0] = '\0';
	} else if (key > ' ' && key < DELETE && len < TOP_FILTER_LEN_MAX) {
		view->filter[len] = key;
		view->filter[len + 1] = '\0';
	}
	view->skip = 0;
}

static size_t page_of(const struct top_view *view)
{
	return view->height > LINES_AROUND ? view->height - LINES_AROUND : 1;
}

static void scroll(struct top_view *view, size_t shown, bool is_down, size_t lines)
{
	size_t last = shown > page_of(view) ? shown - page_of(view) : 0;
	if (!is_down)
		view->skip = view->skip > lines ? view->skip - lines : 0;
	else
		view->skip = view->skip + lines < last ? view->skip + lines : last;
}

bool top_view_key(struct top_view *view, char key, size_t shown)
{
	if (view->is_typing) {
		type(view, key);
		return true;
	}
	for (size_t i = 0; i < ORDERS; i++) {
		if (key == orders[i].key) {
			view->order = (enum top_order)i;
			view->skip = 0;
		}
	}
	if (key == '/')
		view->is_typing = true;
	else if (key == ESCAPE)
		view->filter[0] = '\0';
	else if (key == 'j' || key == 'k')
		scroll(view, shown, key == 'j', 1);
	else if (key == ' ' || key == '-')
		scroll(view, shown, key == ' ', page_of(view));
	return key != 'q';
}

/* ---- as text ---- */

/* In at most seven columns. */
static const char *say_count(double value, char room[CELL_LEN])
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;
	while (value >= 9999.5 && unit + 2 < sizeof(units)) {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(room, CELL_LEN,
			value < 99.95 && value != (double)(long)value ? "%.1f" : "%.0f", value);
	else
		snprintf(room, CELL_LEN, "%.0f%c", value, units[unit]);
	return room;
}

static const char *say_ms(double ms, char room[CELL_LEN])
{
	snprintf(room, CELL_LEN, ms >= 9999.5 ? ">10s" : ms < 99.5 ? "%.1fms" : "%.0fms", ms);
	return room;
}

static int put_line(const struct top_view *view, struct buf *out, const char *text)
{
	size_t len = strlen(text);
	size_t width = view->width < TOP_WIDTH_MAX ? view->width : TOP_WIDTH_MAX;
	if (width != 0 && len > width)
		len = width;
	int err = buf_append(out, text, len);
	return err != 0 ? err : buf_append_str(out, STR("\n"));
}

static int put_row(const struct top_view *view, struct buf *out, const struct top_row *row)
{
	char line[LINE_LEN_MAX];
	char name[2 * TOP_NAME_LEN_MAX + 2];
	char cells[9][CELL_LEN];
	double per = view->seconds > 0 ? view->seconds : 1;
	const struct top_counts *counts = &row->counts;
	double denied = 0;
	for (size_t i = 0; i < TOP_GUARDS; i++)
		denied += counts->denied[i];
	double errors = row->requests > 0 ? counts->classes[4] * 100 / row->requests : 0;
	snprintf(name, sizeof(name), "%.*s/%.*s", STR_FMT(row->namespace), STR_FMT(row->name));
	snprintf(line, sizeof(line), "%-*s %8s %8s %8s %6.1f %8s %8s %8s %8s %8s %8s", NAME_WIDTH,
		name, say_count(row->requests / per, cells[0]),
		say_count(counts->classes[3] / per, cells[1]),
		say_count(counts->classes[4] / per, cells[2]), errors,
		say_ms(row->mean_ms, cells[3]), say_ms(row->p95_ms, cells[4]),
		say_count(counts->sent / per, cells[5]),
		say_count(counts->received / per, cells[6]),
		say_count(counts->retries / per, cells[7]), say_count(denied / per, cells[8]));
	return put_line(view, out, line);
}

static int put_columns(const struct top_view *view, struct buf *out)
{
	char line[LINE_LEN_MAX];
	bool is_rate = view->seconds > 0;
	snprintf(line, sizeof(line), "%-*s %8s %8s %8s %6s %8s %8s %8s %8s %8s %8s", NAME_WIDTH,
		"INGRESS", is_rate ? "REQ/S" : "REQUESTS", is_rate ? "4XX/S" : "4XX",
		is_rate ? "5XX/S" : "5XX", "5XX%", "MEAN", "P95", is_rate ? "OUT B/S" : "OUT B",
		is_rate ? "IN B/S" : "IN B", is_rate ? "RETRY/S" : "RETRIES",
		is_rate ? "DENY/S" : "DENIED");
	return put_line(view, out, line);
}

static int put_head(
	const struct top_view *view, const struct top_row *rows, size_t count, struct buf *out)
{
	char line[LINE_LEN_MAX];
	char cells[2][CELL_LEN];
	double requests = 0;
	double errors = 0;
	double per = view->seconds > 0 ? view->seconds : 1;
	for (size_t i = 0; i < count; i++) {
		requests += rows[i].requests;
		errors += rows[i].counts.classes[4];
	}
	snprintf(line, sizeof(line), "%zu with traffic, %s requests/s, %s of them 5xx, by %s",
		count, say_count(requests / per, cells[0]), say_count(errors / per, cells[1]),
		orders[view->order].word);
	int err = put_line(view, out, view->problem != NULL ? view->problem : line);
	return err != 0 ? err : put_line(view, out, "");
}

static int put_foot(const struct top_view *view, struct buf *out)
{
	char line[LINE_LEN_MAX];
	if (view->is_typing)
		snprintf(line, sizeof(line), "filter: %s_", view->filter);
	else
		snprintf(line, sizeof(line),
			"sort: r e l b n   filter: / %s   scroll: j k space -   end: q",
			view->filter);
	size_t len = strlen(line);
	size_t width = view->width < TOP_WIDTH_MAX ? view->width : TOP_WIDTH_MAX;
	/* Without a line end, which would scroll. */
	return buf_append(out, line, width != 0 && len > width ? width : len);
}

int top_screen_print(
	const struct top_view *view, const struct top_row *rows, size_t count, struct buf *out)
{
	bool is_screen = view->height != 0;
	size_t height = view->height < TOP_HEIGHT_MAX ? view->height : TOP_HEIGHT_MAX;
	size_t room = !is_screen ? count : height > LINES_AROUND ? height - LINES_AROUND : 0;
	int err = is_screen ? put_head(view, rows, count, out) : 0;
	if (err == 0)
		err = put_columns(view, out);
	for (size_t i = 0; i < room && err == 0; i++) {
		if (view->skip + i < count)
			err = put_row(view, out, &rows[view->skip + i]);
		else
			err = put_line(view, out, "");
	}
	return err == 0 && is_screen ? put_foot(view, out) : err;
}

/* ---- as JSON ---- */

static int put_classes(struct buf *out, const struct top_counts *counts)
{
	int err = 0;
	for (size_t i = 0; i < TOP_CLASSES && err == 0; i++)
		err = buf_printf(
			out, "%s\"%zuxx\":%.0f", i != 0 ? "," : "", i + 1, counts->classes[i]);
	return err;
}

static int put_denied(struct buf *out, const struct top_counts *counts)
{
	int err = 0;
	for (size_t i = 0; i < TOP_GUARDS && err == 0; i++)
		err = buf_printf(
			out, "%s\"%s\":%.0f", i != 0 ? "," : "", top_guards[i], counts->denied[i]);
	return err;
}

/* Names have passed is_name() of top_sample.c: nothing in them has to be escaped. */
static int put_object(const struct top_view *view, struct buf *out, const struct top_row *row)
{
	const struct top_counts *counts = &row->counts;
	int err = buf_printf(out,
		"{\"namespace\":\"%.*s\",\"ingress\":\"%.*s\",\"seconds\":%.3f,\"requests\":%.0f,"
		"\"status\":{",
		STR_FMT(row->namespace), STR_FMT(row->name), view->seconds, row->requests);
	if (err == 0)
		err = put_classes(out, counts);
	if (err == 0)
		err = buf_printf(out,
			"},\"duration_ms\":{\"mean\":%.3f,\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f},"
			"\"sent_bytes\":%.0f,\"received_bytes\":%.0f,\"retries\":%.0f,\"denied\":{",
			row->mean_ms, row->median_ms, row->p95_ms, row->p99_ms, counts->sent,
			counts->received, counts->retries);
	if (err == 0)
		err = put_denied(out, counts);
	return err != 0 ? err : buf_append_str(out, STR("}}"));
}

int top_screen_json(
	const struct top_view *view, const struct top_row *rows, size_t count, struct buf *out)
{
	int err = buf_append_str(out, STR("["));
	for (size_t i = 0; i < count && err == 0; i++) {
		if (i != 0)
			err = buf_append_str(out, STR(","));
		if (err == 0)
			err = put_object(view, out, &rows[i]);
	}
	return err != 0 ? err : buf_append_str(out, STR("]"));
}
