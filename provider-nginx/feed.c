// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/feed.h"

#include "common/xalloc.h"
#include "provider-nginx/control.h"
#include "provider-nginx/feed_order.h"
#include "provider-nginx/log_events.h"
#include "provider-nginx/state_file.h"

#include <stdio.h>

enum feed_state { FEED_DOWN, FEED_ASKING, FEED_IDLE, FEED_SENDING, FEED_RETRY, FEED_FULL };

/* An nginx that has just started may leave this many requests unanswered before it is worth a log line. */
enum { QUIET_FAILURES = 20, LOST_FAILURES = 30 };

/* A serial that nothing has: nginx's state differs from the file, and is not known yet. */
static const uint64_t UNKNOWN = UINT64_MAX;

struct feed {
	struct feed_order order;
	struct state_file *file;
	struct journal *journal; /* of the file */
	struct control *control;
	const struct feed_ops *ops;
	void *ctx;
	struct ev_loop *loop;
	ev_timer again; /* after a failed request */
	enum feed_state state;
	uint64_t serial; /* of nginx's state */
	uint64_t full_generation;
	struct buf batch; /* in flight; kept until its result is known */
	struct buf scratch;
	struct batch_head head;
	unsigned failures; /* requests in a row without a response */
	bool may_send;     /* the rows are those of a complete state */
	bool is_whole;     /* a complete state is being sent */
	uint64_t written;  /* change_count() when that was written to the file */
	bool wants_ask;
	char *trouble;
};

static void work(struct feed *feed);

static void set_trouble(struct feed *feed, const char *words)
{
	bool is_same = (feed->trouble == NULL) == (words == NULL) &&
		       (words == NULL || strcmp(feed->trouble, words) == 0);
	if (is_same)
		return;
	char *copy = words != NULL ? xstrdup(words) : NULL;
	free(feed->trouble);
	feed->trouble = copy;
	feed->ops->on_change(feed->ctx);
}

/* ---- batches ---- */

static size_t dirty_count(const struct feed *feed)
{
	return rows_dirty_count(feed->order.routes) +
	       rows_dirty_count(objects_rows(feed->order.objects));
}

static uint64_t change_count(const struct feed *feed)
{
	return rows_change_count(feed->order.routes) +
	       rows_change_count(objects_rows(feed->order.objects));
}

static void forget(struct feed *feed)
{
	rows_forget_has(feed->order.routes);
	rows_forget_has(objects_rows(feed->order.objects));
}

static void drop_batch(struct feed *feed)
{
	if (feed->batch.data != NULL)
		explicit_bzero(feed->batch.data, feed->batch.cap);
	buf_shrink(&feed->batch, 0);
}

static void settle_batch(struct feed *feed)
{
	struct str rows = str_skip(buf_str(&feed->batch), BATCH_HEAD_LEN);
	feed_order_settle(&feed->order, rows);
	feed->serial = feed->head.serial;
	if ((feed->head.flags & BATCH_LAST) != 0)
		feed->is_whole = false;
	drop_batch(feed);
}

/* nginx's state is unknown: everything is sent, and what nginx has besides is removed with the last piece. */
static void begin_whole(struct feed *feed, uint64_t their_serial)
{
	uint64_t serial = journal_serial(feed->journal);
	drop_batch(feed);
	forget(feed);
	if (their_serial > serial && their_serial < UINT64_MAX / 2)
		serial = their_serial;
	feed->serial = serial + 1;
	feed->is_whole = true;
	feed->head = (struct batch_head){.serial = 0};
	log_event(&EV_STATE_SENT_WHOLE);
	/* One more than all pieces but the last have: a partial state must never be taken for the file's. */
	state_file_rewrite(feed->file, feed->serial + 1);
	feed->written = change_count(feed);
}

static void on_sent(void *ctx, const struct control_answer *answer);

static void send_batch(struct feed *feed)
{
	feed->state = FEED_SENDING;
	control_send(feed->control, buf_str(&feed->batch), on_sent, feed);
}

static void fill_batch(struct feed *feed)
{
	size_t refused = 0;
	batch_begin(&feed->batch);
	feed_order_fill(&feed->order, &feed->batch, &refused);
	if (refused != 0)
		log_event(&EV_ROW_UNSENDABLE, LOG_INT("count", refused));
}

static size_t rows_in(const struct buf *batch)
{
	struct str rows = str_skip(buf_str(batch), BATCH_HEAD_LEN);
	struct batch_row row;
	size_t count = 0;
	while (batch_next(&rows, &row))
		count++;
	return count;
}

static void send_piece(struct feed *feed)
{
	bool is_first = feed->head.serial == 0;
	fill_batch(feed);
	bool is_last = rows_in(&feed->batch) >= dirty_count(feed);
	/* Pieces hold what is wanted when they are sent; if that is not what the file has, its serial must not be the file's. */
	bool is_filed = feed->written == change_count(feed);
	feed->head = (struct batch_head){
		.flags = (is_first ? BATCH_FIRST : 0U) | (is_last ? BATCH_LAST : 0U),
		.base = feed->serial,
		.serial = feed->serial + (is_last ? (is_filed ? 1 : 2) : 0),
	};
	batch_end(&feed->batch, &feed->head);
	send_batch(feed);
}

static void send_change(struct feed *feed)
{
	fill_batch(feed);
	if (batch_is_empty(&feed->batch)) {
		drop_batch(feed);
		return;
	}
	feed->head = (struct batch_head){.base = feed->serial, .serial = feed->serial + 1};
	batch_end(&feed->batch, &feed->head);
	state_file_append(feed->file, buf_str(&feed->batch), &feed->head);
	send_batch(feed);
}

/* ---- responses ---- */

static void retry(struct feed *feed, const char *problem)
{
	feed->state = FEED_RETRY;
	feed->failures++;
	ev_timer_set(&feed->again, feed->failures < QUIET_FAILURES ? 0.1 : 1., 0.);
	ev_timer_start(feed->loop, &feed->again);
	if (feed->failures < QUIET_FAILURES)
		return;
	char words[256];
	snprintf(words, sizeof(words), "nginx does not answer on its control socket: %.150s",
		problem);
	if (feed->trouble == NULL)
		log_event(&EV_CONTROL_LOST, LOG_STR("reason", problem));
	set_trouble(feed, words);
	if (feed->failures % LOST_FAILURES == 0)
		feed->ops->on_lost(feed->ctx);
}

static void note_answer(struct feed *feed)
{
	if (feed->failures >= QUIET_FAILURES)
		log_event(&EV_CONTROL_BACK);
	feed->failures = 0;
	set_trouble(feed, NULL);
}

static void on_sent(void *ctx, const struct control_answer *answer)
{
	struct feed *feed = ctx;
	if (answer->status == 0) {
		/* nginx may have applied it all the same: the next response tells. */
		retry(feed, answer->problem);
		return;
	}
	note_answer(feed);
	feed->state = FEED_IDLE;
	/* Another state than the batch's base is its own when its first answer was lost, and it was sent once more. */
	bool is_taken = answer->status == 200 ||
			(answer->status == 409 && answer->serial == feed->head.serial &&
				answer->serial != feed->head.base);
	if (is_taken) {
		settle_batch(feed);
	} else if (answer->status == 507) {
		log_event(&EV_DICTIONARY_FULL, LOG_INT("bytes", answer->capacity));
		feed->state = FEED_FULL;
		feed->full_generation = answer->generation;
		set_trouble(feed,
			"the memory that nginx keeps routes in is full; it is being enlarged");
		feed->ops->on_full(feed->ctx);
		return;
	} else {
		log_event(&EV_BATCH_REFUSED, LOG_STR("reason", answer->problem));
		begin_whole(feed, answer->serial);
	}
	work(feed);
}

/* nginx's state after a start, a reload, or a missing response. */
static void compare(struct feed *feed, const struct control_answer *answer)
{
	bool has_batch = !batch_is_empty(&feed->batch) && buf_len(&feed->batch) != 0;
	if (has_batch && answer->serial == feed->head.serial && answer->serial != feed->head.base) {
		settle_batch(feed);
	} else if (has_batch && answer->serial == feed->head.base &&
		   (feed->head.flags & BATCH_FIRST) == 0) {
		send_batch(feed);
	} else if (answer->serial != feed->serial) {
		bool is_ours = answer->serial == journal_serial(feed->journal);
		feed->serial = is_ours ? answer->serial : UNKNOWN;
		if (feed->may_send)
			begin_whole(feed, answer->serial);
	}
}

static void on_told(void *ctx, const struct control_answer *answer)
{
	struct feed *feed = ctx;
	if (answer->status == 0) {
		retry(feed, answer->problem);
		return;
	}
	note_answer(feed);
	bool is_still_full =
		feed->full_generation != 0 && feed->full_generation == answer->generation;
	feed->state = is_still_full ? FEED_FULL : FEED_IDLE;
	if (!is_still_full) {
		feed->full_generation = 0;
		compare(feed, answer);
	}
	feed->ops->on_told(feed->ctx, answer);
	work(feed);
}

static void ask(struct feed *feed)
{
	feed->wants_ask = false;
	feed->state = FEED_ASKING;
	control_ask(feed->control, on_told, feed);
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ask(watcher->data);
}

static void work(struct feed *feed)
{
	if ((feed->state == FEED_IDLE || feed->state == FEED_FULL) && feed->wants_ask) {
		ask(feed);
		return;
	}
	if (!feed->may_send || feed->state == FEED_FULL)
		return;
	if (feed->state == FEED_IDLE && feed->serial == UNKNOWN)
		begin_whole(feed, 0);
	if (feed->state == FEED_IDLE && feed->is_whole)
		send_piece(feed);
	else if (feed->state == FEED_IDLE && dirty_count(feed) != 0)
		send_change(feed);
	/* Not before: rows that wait to be removed would be missing in the file if they came to be wanted again. */
	if (feed_is_settled(feed) && feed->serial != 0)
		state_file_settle(feed->file, feed->serial);
	if (feed_is_settled(feed))
		feed->ops->on_change(feed->ctx);
}

/* ---- public functions ---- */

void feed_set_nginx(struct feed *feed, bool is_up)
{
	control_cancel(feed->control);
	ev_timer_stop(feed->loop, &feed->again);
	feed->failures = 0;
	feed->state = FEED_DOWN;
	if (is_up)
		ask(feed);
}

void feed_set_socket(struct feed *feed, const char *socket_path)
{
	bool is_asking = control_is_busy(feed->control);
	control_set_path(feed->control, socket_path);
	if (is_asking)
		retry(feed, "it moves");
}

void feed_ask(struct feed *feed)
{
	feed->wants_ask = true;
	work(feed);
}

static void mark_all_sent(struct rows *rows)
{
	struct row *row;
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		size_t left = rows_dirty_count(rows);
		/* Each row settles at once. */
		while (left-- != 0 && (row = rows_first_dirty(rows, (enum row_table)table)) != NULL)
			rows_has(rows, row, row_wanted(row));
	}
}

void feed_prepare(struct feed *feed)
{
	if (!feed->may_send || feed->state != FEED_DOWN ||
		(dirty_count(feed) == 0 && journal_serial(feed->journal) == feed->serial &&
			!journal_wants_rewrite(feed->journal)))
		return;
	uint64_t serial = journal_serial(feed->journal) + 1;
	drop_batch(feed);
	state_file_rewrite(feed->file, serial);
	if (journal_is_behind(feed->journal))
		return;
	mark_all_sent(feed->order.routes);
	mark_all_sent(objects_rows(feed->order.objects));
	feed->serial = serial;
	feed->is_whole = false;
}

void feed_kick(struct feed *feed, struct state *state)
{
	feed->order.state = state;
	feed->may_send = true;
	work(feed);
}

void feed_keep(struct feed *feed, bool keeps)
{
	bool may_go = feed->order.keeps && !keeps;
	feed->order.keeps = keeps;
	if (may_go)
		work(feed);
}

bool feed_is_settled(const struct feed *feed)
{
	return feed->state == FEED_IDLE && feed->may_send && !feed->is_whole &&
	       dirty_count(feed) == 0;
}

const char *feed_trouble(const struct feed *feed)
{
	return feed->trouble;
}

const char *feed_disk_trouble(const struct feed *feed)
{
	return state_file_trouble(feed->file);
}

uint64_t feed_size(const struct feed *feed)
{
	return journal_size(feed->journal);
}

static void on_row(void *ctx, const struct batch_row *row)
{
	struct feed *feed = ctx;
	feed_order_found(&feed->order, row);
}

const char *feed_load(struct feed *feed)
{
	int err = journal_read(feed->journal, on_row, feed);
	if (err != 0)
		log_event(&EV_STATE_UNREADABLE, LOG_ERRNO(err));
	feed->serial = journal_serial(feed->journal);
	return journal_problem(feed->journal);
}

static void on_file_change(void *ctx)
{
	struct feed *feed = ctx;
	feed->ops->on_change(feed->ctx);
}

static void on_file_again(void *ctx)
{
	work(ctx);
}

static const struct state_file_ops state_file_ops = {on_file_change, on_file_again};

struct feed *feed_new(const struct feed_config *config)
{
	struct feed *feed = xcalloc(1, sizeof(*feed));
	feed->loop = config->loop;
	feed->ops = config->ops;
	feed->ctx = config->ctx;
	feed->order.routes = config->routes;
	feed->order.objects = config->objects;
	feed->order.scratch = &feed->scratch;
	feed->file = state_file_new(
		config->loop, config->state_file, &feed->order, &state_file_ops, feed);
	feed->journal = state_file_journal(feed->file);
	feed->control = control_new(config->loop, config->socket_path);
	buf_init(&feed->batch, BATCH_LEN_MAX);
	buf_init(&feed->scratch, BATCH_LEN_MAX);
	ev_init(&feed->again, on_again);
	feed->again.data = feed;
	return feed;
}

void feed_free(struct feed *feed)
{
	if (feed == NULL)
		return;
	ev_timer_stop(feed->loop, &feed->again);
	control_free(feed->control);
	state_file_free(feed->file);
	buf_wipe_fini(&feed->batch);
	buf_wipe_fini(&feed->scratch);
	free(feed->trouble);
	free(feed);
}
