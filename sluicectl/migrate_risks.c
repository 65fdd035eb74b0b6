// SPDX-License-Identifier: Apache-2.0
/* Guards that are not in force: those of one Ingress by itself, and those of the controller. Others: migrate_shared.c. */
#include "sluicectl/migrate_risks.h"

#include "common/ascii.h"

struct asked {
	const struct migrate_ingress *ingress;
	struct migrate_report *report;
	struct migrate_subject *subject; /* NULL: there is no row yet */
};

static struct str value(const struct asked *a, const char *name)
{
	return migrate_annotation(a->ingress, a->report->prefix, name);
}

static bool has(const struct asked *a, const char *name)
{
	return value(a, name).p != NULL;
}

static bool is(const struct asked *a, const char *name, const char *wanted)
{
	return str_eq_c(value(a, name), wanted);
}

static void tell(struct asked *a, const char *name, const char *text)
{
	const struct migrate_row row = {.verdict = MIGRATE_RISK,
		.name = str_from(name),
		.value = value(a, name),
		.text = str_from(text)};
	if (a->subject == NULL)
		a->subject = migrate_subjects_add(a->report, &a->report->risks, &a->ingress->meta);
	migrate_subject_add(a->report, a->subject, &row);
}

static void tell_passwords(struct asked *a)
{
	if (has(a, "auth-secret") && value(a, "auth-type").len == 0)
		tell(a, "auth-secret",
			"the original asks nobody for a password, because auth-type is missing");
	if (has(a, "auth-type") && value(a, "auth-type").len == 0)
		tell(a, "auth-type",
			"it is empty: the original asks nobody for a password; here requests are "
			"answered with 503");
	if (is(a, "auth-realm", "off"))
		tell(a, "auth-realm",
			"this word switches authentication off in the original; here it is a "
			"realm, and passwords are asked for");
	if (has(a, "auth-url") && value(a, "auth-url").len == 0)
		tell(a, "auth-url",
			"it is empty: the original asks no server and lets everybody in; here "
			"requests are answered with 503");
	if (has(a, "auth-url") &&
		(!ascii_is_made_of(value(a, "auth-cache-duration"), " ,") ||
			!ascii_is_made_of(value(a, "auth-always-set-cookie"), "")))
		tell(a, "auth-url",
			"a wrong value of auth-cache-duration or auth-always-set-cookie makes the "
			"original drop authentication as a whole: everybody is let in");
}

static void tell_certificates(struct asked *a)
{
	if (has(a, "auth-tls-secret") && is(a, "ssl-redirect", "false"))
		tell(a, "auth-tls-secret",
			"with ssl-redirect: \"false\" the original serves the same without a "
			"client's certificate over plain HTTP");
	if (is(a, "proxy-ssl-verify", "true"))
		tell(a, "proxy-ssl-verify",
			"the original verifies nothing with true instead of on; here backends are "
			"verified, so those without a good certificate answer 502");
	else if (is(a, "proxy-ssl-verify", "on") && !has(a, "proxy-ssl-secret"))
		tell(a, "proxy-ssl-verify",
			"the original verifies nothing without proxy-ssl-secret; here backends are "
			"verified by the system's authorities");
}

static void tell_origins(struct asked *a)
{
	struct str origins = value(a, "cors-allow-origin");
	if (is(a, "enable-cors", "true") && origins.len != 0 && str_find(origins, '*') != origins.p)
		tell(a, "cors-allow-origin",
			"the original lets in every origin that ends like one of these, such as "
			"https://evil-https://...; here it must be one of them as a whole");
}

static void tell_raw_text(struct asked *a)
{
	static const char *const names[] = {"configuration-snippet", "server-snippet",
		"auth-snippet", "stream-snippet", "modsecurity-snippet"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (value(a, names[i]).len != 0)
			tell(a, names[i],
				"who may write it can read every Secret that the original can: it "
				"becomes part of nginx's configuration");
	}
}

static void tell_passthrough(struct asked *a, const struct migrate_objects *objects)
{
	struct str enabled = migrate_argument(objects, "enable-ssl-passthrough");
	if (is(a, "ssl-passthrough", "true") && objects->workload_count != 0 &&
		!str_eq_c(enabled, "true"))
		tell(a, "ssl-passthrough",
			"it is without effect in the original, which runs without "
			"--enable-ssl-passthrough; here it acts: remove it to keep what is served");
}

static void tell_canary(struct asked *a)
{
	static const char *const guards[] = {"allowlist-source-range", "whitelist-source-range",
		"denylist-source-range", "auth-type", "auth-url", "auth-tls-secret", "limit-rps",
		"limit-rpm", "limit-connections", "rewrite-target", "configuration-snippet"};
	for (size_t i = 0; is(a, "canary", "true") && i < sizeof(guards) / sizeof(guards[0]); i++) {
		if (has(a, guards[i]))
			tell(a, guards[i],
				"the Ingress is a canary: the annotations of the main Ingress "
				"count for its requests, and this one is without effect there and "
				"here");
	}
}

/* ---- the controller ---- */

static bool has_lists(const struct migrate_objects *objects, struct str prefix)
{
	for (size_t i = 0; i < objects->ingress_count; i++) {
		const struct migrate_ingress *ingress = &objects->ingresses[i];
		if (ingress->is_original &&
			(migrate_annotation(ingress, prefix, "allowlist-source-range").p != NULL ||
				migrate_annotation(ingress, prefix, "whitelist-source-range").p !=
					NULL))
			return true;
	}
	return false;
}

static struct str option_of(const struct migrate_map *map, const char *name)
{
	struct str text = STR_NONE;
	(void)json_get_str(map->data, name, &text);
	return text;
}

static void tell_options(const struct migrate_objects *objects, struct migrate_report *report,
	const struct migrate_map *map)
{
	struct str from = option_of(map, "proxy-real-ip-cidr");
	bool trusts_all = str_eq_c(option_of(map, "use-forwarded-headers"), "true") &&
			  (from.p == NULL || str_eq_c(from, "0.0.0.0/0"));
	bool is_hidden = option_of(map, "block-cidrs").len != 0;
	if (!has_lists(objects, report->prefix) || (!trusts_all && !is_hidden))
		return;
	struct migrate_subject *subject = migrate_subjects_add(report, &report->risks, &map->meta);
	if (trusts_all)
		migrate_subject_add(report, subject,
			&(struct migrate_row){.verdict = MIGRATE_RISK,
				.name = STR("use-forwarded-headers"),
				.value = STR("true"),
				.text = STR(
					"every client is believed about its address, so lists of "
					"networks keep nobody out who writes X-Forwarded-For")});
	if (is_hidden)
		migrate_subject_add(report, subject,
			&(struct migrate_row){.verdict = MIGRATE_RISK,
				.name = STR("block-cidrs"),
				.value = option_of(map, "block-cidrs"),
				.text = STR("it does not hold for Ingresses that have a list of "
					    "networks of their own")});
}

void migrate_risks_add(const struct migrate_objects *objects, struct migrate_report *report)
{
	for (size_t i = 0; i < objects->map_count; i++)
		tell_options(objects, report, &objects->maps[i]);
	for (size_t i = 0; i < objects->ingress_count; i++) {
		struct asked a = {&objects->ingresses[i], report, NULL};
		if (!a.ingress->is_original)
			continue;
		tell_passwords(&a);
		tell_certificates(&a);
		tell_origins(&a);
		tell_raw_text(&a);
		tell_passthrough(&a, objects);
		tell_canary(&a);
	}
}
