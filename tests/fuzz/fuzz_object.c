// SPDX-License-Identifier: Apache-2.0
/* Any text as a Kubernetes object of any kind: whatever becomes of it can be told to the translator, and the same text again changes nothing. */
#include "common/must.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "watcher/intake.h"

#include <stddef.h>
#include <stdint.h>

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	bool *refused = ctx;
	(void)meta;
	must(why != NULL && why[0] != '\0');
	*refused = true;
}

static void check_object(struct store_object *object, bool refused)
{
	static struct message_reader *reader;
	struct message message;
	struct schema_error error;
	struct arena arena;
	union project_record record;
	if (reader == NULL)
		reader = message_reader_new();
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	store_encode(object, &frame);
	arena_init(&arena);
	must(store_name(object).len != 0);
	must(message_open(reader, str_skip(buf_str(&frame), FRAME_HEAD_LEN), &message, &error) ==
		0);
	must(message.type == (refused ? MESSAGE_KEEP : MESSAGE_UPSERT));
	must(message_decode(&message, &arena, &record, &error) == 0);
	must(str_eq(record.key.name, store_name(object)));
	must(record.key.kind == object->kind);
	arena_fini(&arena);
	buf_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte is the kind, the second its version, the rest the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct project_ours ours;
	struct store store;
	struct intake intake;
	bool refused = false;
	if (len < 2)
		return 0;
	enum record_kind kind =
		(enum record_kind)(RECORD_NONE + 1 + data[0] % (RECORD_KIND_COUNT - 1));
	const struct kind_version *version = kind_version_at(kind, data[1] % KIND_VERSIONS_MAX);
	struct str text = {(const char *)data + 2, len - 2};
	if (version == NULL)
		return 0;
	project_ours_init(&ours, STR("sluice.io/load-balancer"), data[1] >= 128);
	store_init(&store);
	intake_init(&intake, version, &store, &ours, on_refused, &refused);
	intake_put_text(&intake, text);
	struct store_object *object = store_first(&store, kind);
	must(object != NULL || refused);
	if (object != NULL) {
		must(store.counts[kind] == 1);
		check_object(object, refused);
		intake_put_text(&intake, text);
		must(store_first(&store, kind) == object && store.counts[kind] == 1);
	}
	intake_refuse_text(&intake, text, "is longer than it may be");
	intake_fini(&intake);
	store_fini(&store);
	return 0;
}
