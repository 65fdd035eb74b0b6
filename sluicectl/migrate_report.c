// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_report.h"

enum { VALUE_LEN_MAX = 200 };

static const struct {
	const char *word;
	const char *plural;
	bool is_work;
} verdicts[MIGRATE_VERDICT_COUNT] = {
#define MIGRATE_VERDICT(id, word_, plural_, is_work_) {(word_), (plural_), (is_work_)},
#include "sluicectl/migrate_verdicts.def"
};

const char *migrate_verdict_word(enum migrate_verdict verdict)
{
	return verdicts[verdict].word;
}

const char *migrate_verdict_plural(enum migrate_verdict verdict)
{
	return verdicts[verdict].plural;
}

bool migrate_verdict_is_work(enum migrate_verdict verdict)
{
	return verdicts[verdict].is_work;
}

struct migrate_subject *migrate_subjects_add(struct migrate_report *report,
	struct migrate_subjects *list, const struct migrate_meta *meta)
{
	void *items = list->items;
	struct migrate_subject *subject =
		arena_push(&report->arena, &items, &list->count, sizeof(*subject));
	list->items = items;
	*subject = (struct migrate_subject){.meta = *meta};
	return subject;
}

/* The beginning of a text, at a character's boundary. */
static struct str cut(struct arena *arena, struct str text)
{
	size_t len = VALUE_LEN_MAX;
	if (text.len <= VALUE_LEN_MAX)
		return text;
	while (len > 0 && ((unsigned char)text.p[len] & 0xc0) == 0x80)
		len--;
	return arena_printf(arena, "%.*s...", (int)len, text.p);
}

void migrate_subject_add(struct migrate_report *report, struct migrate_subject *subject,
	const struct migrate_row *row)
{
	void *items = subject->rows;
	struct migrate_row *place =
		arena_push(&report->arena, &items, &subject->row_count, sizeof(*place));
	subject->rows = items;
	*place = *row;
	place->value = cut(&report->arena, row->value);
}

void migrate_report_init(struct migrate_report *report, const char *provider, struct str prefix)
{
	*report = (struct migrate_report){.provider = provider, .prefix = prefix};
	arena_init(&report->arena);
}

void migrate_report_free(struct migrate_report *report)
{
	arena_fini(&report->arena);
}
