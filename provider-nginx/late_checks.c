// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/late_checks.h"

#include "common/xalloc.h"
#include "proto/model.h"

static const char topic[] = "late-checks";

struct late_checks {
	struct notices *notices;
	struct objects *objects;
	struct arena arena;
	struct name told[LATE_CHECKS_MAX];
	size_t told_count;
};

struct late_checks *late_checks_new(struct notices *notices, struct objects *objects)
{
	struct late_checks *late = xcalloc(1, sizeof(*late));
	arena_init(&late->arena);
	late->notices = notices;
	late->objects = objects;
	return late;
}

void late_checks_free(struct late_checks *late)
{
	if (late == NULL)
		return;
	arena_fini(&late->arena);
	free(late);
}

static bool tell(struct late_checks *late, struct state *state, struct str name)
{
	struct pool pool;
	struct object *object =
		name_is_one(NAME_POOL, name) ? objects_find(late->objects, name) : NULL;
	if (object == NULL)
		return false;
	state_decode(state, object, &late->arena, &pool);
	struct notice_owner owner = notice_of_pool(&pool, &late->arena);
	notices_set(late->notices, topic, name, &owner, "HealthChecksLate",
		STR("health checks of this namespace come later than their interval says: more of "
		    "them are due than its share allows at a time; longer intervals, shorter "
		    "timeouts or fewer endpoints help"));
	arena_reset(&late->arena);
	return true;
}

static bool is_among(const struct name *names, size_t count, const struct name *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i].text, name->text) == 0)
			return true;
	}
	return false;
}

void late_checks_set(struct late_checks *late, struct state *state, struct str names)
{
	struct name now[LATE_CHECKS_MAX];
	size_t count = 0;
	while (names.len != 0 && count < LATE_CHECKS_MAX) {
		struct str name = str_cut(&names, ',');
		if (tell(late, state, name)) {
			memcpy(now[count].text, name.p, NAME_LEN);
			now[count++].text[NAME_LEN] = 0;
		}
	}
	for (size_t i = 0; i < late->told_count; i++) {
		if (!is_among(now, count, &late->told[i]))
			notices_clear(late->notices, topic, name_str(&late->told[i]));
	}
	memcpy(late->told, now, count * sizeof(now[0]));
	late->told_count = count;
}
