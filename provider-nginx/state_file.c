// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/state_file.h"

#include "common/backoff.h"
#include "common/files.h"
#include "common/xalloc.h"
#include "provider-nginx/log_events.h"

#include <errno.h>

/* A sync costs more than all the rest of a change, and only a machine that dies needs it: changes within this time share one. */
static const double sync_after_s = 1;

struct state_file {
	struct ev_loop *loop;
	struct journal *journal;
	const struct feed_order *order;
	const struct state_file_ops *ops;
	void *ctx;
	ev_timer sync;
	ev_timer again; /* after a failed write */
	struct backoff backoff;
	const char *trouble; /* of files_problem() */
};

static void set_trouble(struct state_file *file, const char *words)
{
	if (file->trouble == words)
		return;
	file->trouble = words;
	file->ops->on_change(file->ctx);
}

static void tell(struct state_file *file, int err)
{
	if (err == 0) {
		if (file->trouble != NULL)
			log_event(&EV_STATE_STORED);
		backoff_succeeded(&file->backoff);
		ev_timer_stop(file->loop, &file->again);
		set_trouble(file, NULL);
		return;
	}
	if (file->trouble == NULL)
		log_event(&EV_STATE_UNSTORED, LOG_STR("reason", files_problem(err)));
	if (!ev_is_active(&file->again)) {
		ev_timer_set(&file->again, backoff_next(&file->backoff), 0.);
		ev_timer_start(file->loop, &file->again);
	}
	set_trouble(file, files_problem(err));
}

static int write_pieces(struct state_file *file, uint64_t serial)
{
	struct buf piece;
	struct row *position = NULL;
	unsigned stage = 0;
	unsigned flags = BATCH_FIRST;
	int err = 0;
	buf_init(&piece, BATCH_LEN_MAX);
	while (err == 0 && (flags & BATCH_LAST) == 0) {
		batch_begin(&piece);
		/* The last piece is empty, so that none needs to look ahead. */
		if (!feed_order_fill_whole(file->order, &piece, &position, &stage))
			flags |= BATCH_LAST;
		struct batch_head head = {.flags = flags, .base = serial, .serial = serial};
		batch_end(&piece, &head);
		err = journal_rewrite_add(file->journal, buf_str(&piece));
		flags &= ~(unsigned)BATCH_FIRST;
	}
	buf_wipe_fini(&piece);
	return err;
}

void state_file_rewrite(struct state_file *file, uint64_t serial)
{
	int err = journal_rewrite_begin(file->journal);
	if (err == 0)
		err = write_pieces(file, serial);
	if (err == 0)
		err = journal_rewrite_end(file->journal, serial);
	tell(file, err);
}

void state_file_settle(struct state_file *file, uint64_t serial)
{
	bool is_due =
		journal_serial(file->journal) != serial || journal_wants_rewrite(file->journal);
	if (is_due && !ev_is_active(&file->again))
		state_file_rewrite(file, serial);
}

void state_file_append(struct state_file *file, struct str batch, const struct batch_head *head)
{
	if (journal_serial(file->journal) != head->base || journal_is_behind(file->journal))
		return;
	int err = journal_append(file->journal, batch, head->serial);
	if (err != 0 && err != -EBADF)
		tell(file, err);
	if (err == 0 && !ev_is_active(&file->sync)) {
		ev_timer_set(&file->sync, sync_after_s, 0.);
		ev_timer_start(file->loop, &file->sync);
	}
}

static void on_sync(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct state_file *file = watcher->data;
	int err = journal_sync(file->journal);
	if (err != 0)
		tell(file, err);
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct state_file *file = watcher->data;
	file->ops->on_again(file->ctx);
}

struct journal *state_file_journal(struct state_file *file)
{
	return file->journal;
}

const char *state_file_trouble(const struct state_file *file)
{
	return file->trouble;
}

struct state_file *state_file_new(struct ev_loop *loop, const char *path,
	const struct feed_order *order, const struct state_file_ops *ops, void *ctx)
{
	struct state_file *file = xcalloc(1, sizeof(*file));
	file->loop = loop;
	file->journal = journal_new(path);
	file->order = order;
	file->ops = ops;
	file->ctx = ctx;
	backoff_init(&file->backoff, 0.5, 10);
	ev_init(&file->sync, on_sync);
	ev_init(&file->again, on_again);
	file->sync.data = file->again.data = file;
	return file;
}

void state_file_free(struct state_file *file)
{
	if (file == NULL)
		return;
	ev_timer_stop(file->loop, &file->sync);
	ev_timer_stop(file->loop, &file->again);
	journal_free(file->journal);
	free(file);
}
