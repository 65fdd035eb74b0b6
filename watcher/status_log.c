// SPDX-License-Identifier: Apache-2.0
#include "watcher/status_log.h"

#include "proto/message.h"
#include "watcher/log_events.h"

#include <stdio.h>

enum { NAME_TEXT_LEN = 330 };

static struct log_field name_field(const struct store_object *object, char *text, size_t room)
{
	snprintf(text, room, "%.*s/%.*s", STR_FMT(store_namespace(object)),
		STR_FMT(store_name(object)));
	return LOG_STR(record_kind_word((enum record_kind)object->kind), text);
}

void status_log_written(
	const struct store_object *object, enum status_step step, const char *target)
{
	char name[NAME_TEXT_LEN];
	struct log_field field = name_field(object, name, sizeof(name));
	if (step == STATUS_WRITE)
		log_event(&EV_STATUS_WRITTEN, field,
			LOG_STR("addresses", target != NULL ? target : "[]"));
	else
		log_event(step == STATUS_HOLD ? &EV_FINALIZER_ADDED : &EV_FINALIZER_REMOVED, field);
}

void status_log_failed(const struct store_object *object, enum status_step step, const char *reason,
	double retry_s)
{
	char name[NAME_TEXT_LEN];
	log_event(step == STATUS_WRITE ? &EV_STATUS_FAILED : &EV_FINALIZER_FAILED,
		name_field(object, name, sizeof(name)), LOG_STR("reason", reason),
		LOG_SECONDS("retry_s", retry_s));
}

void status_log_forbidden(const struct store_object *object, const char *reason, double retry_s)
{
	char name[NAME_TEXT_LEN];
	log_event(&EV_FORBIDDEN, name_field(object, name, sizeof(name)), LOG_STR("reason", reason),
		LOG_SECONDS("retry_s", retry_s));
}

void status_log_fight(const struct store_object *object, const char *by, double retry_s)
{
	char name[NAME_TEXT_LEN];
	log_event(&EV_STATUS_FIGHT, name_field(object, name, sizeof(name)),
		LOG_STR("by", by != NULL ? by : "one that is not named"),
		LOG_SECONDS("retry_s", retry_s));
}

void status_log_bad_addresses(const struct record_key *key, size_t count)
{
	log_event(&EV_STATUS_BAD_ADDRESS, LOG_TEXT("namespace", key->namespace),
		LOG_TEXT("name", key->name), LOG_INT("count", count));
}
