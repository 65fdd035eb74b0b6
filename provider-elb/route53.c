// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/route53.h"

#include "common/buf.h"
#include "common/must.h"
#include "provider-elb/params.h"

#include <ctype.h>

enum {
	BODY_LEN_MAX = 4 * 1024 * 1024,
	TEXT_LEN_MAX = 1024, /* of a name */
	VALUE_LEN_MAX = 4000,
};

static const char *const types[] = {
	[RECORD_A] = "A",
	[RECORD_AAAA] = "AAAA",
	[RECORD_TXT] = "TXT",
	[RECORD_CNAME] = "CNAME",
	[RECORD_NS] = "NS",
	[RECORD_SOA] = "SOA",
};

bool route53_is_zone(struct str id)
{
	for (size_t i = 0; i < id.len; i++) {
		if (!isalnum((unsigned char)id.p[i]))
			return false;
	}
	return id.len != 0 && id.len <= ROUTE53_ZONE_LEN_MAX;
}

/* ---- requests ---- */

static void append(struct buf *out, const char *text)
{
	must(buf_append_str(out, str_from(text)) == 0);
}

static void append_parameter(struct buf *out, const char *name, struct str value)
{
	if (value.p == NULL)
		return;
	must(buf_printf(out, "%s=", name) == 0);
	params_escape(out, value);
	append(out, "&");
}

void route53_list(struct str zone, const struct route53_place *from, struct arena *arena,
	struct request *ret_request)
{
	struct buf path;
	buf_init(&path, BODY_LEN_MAX);
	must(buf_printf(&path, "2013-04-01/hostedzone/%.*s/rrset?", STR_FMT(zone)) == 0);
	append_parameter(&path, "identifier", from->set);
	must(buf_printf(&path, "maxitems=%d&", ROUTE53_PAGE_MAX) == 0);
	append_parameter(&path, "name", from->name);
	append_parameter(&path, "type", from->type);
	buf_cut(&path, buf_len(&path) - 1);
	*ret_request = (struct request){
		.service = AWS_ROUTE53,
		.action = "ListResourceRecordSets",
		.path = arena_str(arena, buf_str(&path)),
	};
	buf_fini(&path);
}

static void append_escaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		switch (text.p[i]) {
		case '&':
			append(out, "&amp;");
			break;
		case '<':
			append(out, "&lt;");
			break;
		case '>':
			append(out, "&gt;");
			break;
		default:
			must(buf_append(out, &text.p[i], 1) == 0);
		}
	}
}

static void append_element(struct buf *out, const char *name, struct str text)
{
	must(buf_printf(out, "<%s>", name) == 0);
	append_escaped(out, text);
	must(buf_printf(out, "</%s>", name) == 0);
}

/* As Route 53 writes it. */
static struct str wire_name(struct str name, struct arena *arena)
{
	const char *star = str_find(name, '*');
	if (star == NULL)
		return arena_printf(arena, "%.*s.", STR_FMT(name));
	size_t before = (size_t)(star - name.p);
	return arena_printf(
		arena, "%.*s\\052%.*s.", (int)before, name.p, STR_FMT(str_skip(name, before + 1)));
}

static void append_record(struct buf *out, const struct record *record, struct arena *arena)
{
	append(out, "<ResourceRecordSet>");
	append_element(out, "Name", wire_name(record->name, arena));
	append_element(out, "Type", str_from(types[record->type]));
	if (record->alias.p != NULL) {
		append(out, "<AliasTarget>");
		append_element(out, "HostedZoneId", record->alias_zone);
		append_element(out, "DNSName", wire_name(record->alias, arena));
		append_element(out, "EvaluateTargetHealth",
			record->evaluates_health ? STR("true") : STR("false"));
		append(out, "</AliasTarget>");
	} else {
		must(buf_printf(out, "<TTL>%llu</TTL><ResourceRecords>",
			     (unsigned long long)record->ttl_s) == 0);
		for (size_t i = 0; i < record->values.count; i++) {
			append(out, "<ResourceRecord>");
			append_element(out, "Value", record->values.items[i]);
			append(out, "</ResourceRecord>");
		}
		append(out, "</ResourceRecords>");
	}
	append(out, "</ResourceRecordSet>");
}

void route53_change(struct str zone, const struct records_group *groups, size_t count,
	struct arena *arena, struct request *ret_request)
{
	struct buf body;
	buf_init(&body, BODY_LEN_MAX);
	append(&body, "<ChangeResourceRecordSetsRequest "
		      "xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">"
		      "<ChangeBatch><Changes>");
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < groups[i].changes.count; k++) {
			const struct records_change *change = &groups[i].changes.items[k];
			append(&body, "<Change>");
			append_element(
				&body, "Action", change->is_delete ? STR("DELETE") : STR("CREATE"));
			append_record(&body, change->record, arena);
			append(&body, "</Change>");
		}
	}
	append(&body, "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>");
	*ret_request = (struct request){
		.service = AWS_ROUTE53,
		.action = "ChangeResourceRecordSets",
		.path = arena_printf(arena, "2013-04-01/hostedzone/%.*s/rrset/", STR_FMT(zone)),
		.body = arena_str(arena, buf_str(&body)),
		.is_write = true,
	};
	buf_fini(&body);
}

/* ---- answers ---- */

/* "\052.Example.com." as "*.example.com". Absent: it is none. */
static struct str read_name(struct str text, struct arena *arena)
{
	static const char star[] = "\\052";
	char *name = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	if (text.len == 0 || text.len > TEXT_LEN_MAX)
		return STR_NONE;
	for (size_t i = 0; i < text.len; i++) {
		if (str_starts_with(str_skip(text, i), STR(star))) {
			name[len++] = '*';
			i += sizeof(star) - 2;
		} else {
			name[len++] = (char)tolower((unsigned char)text.p[i]);
		}
	}
	if (name[len - 1] == '.')
		len--;
	return (struct str){name, len};
}

static enum record_type read_type(struct str text)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (str_eq_c(text, types[i]))
			return (enum record_type)i;
	}
	return RECORD_OTHER;
}

static bool is_odd(const struct xml *xml)
{
	static const char *const settings[] = {"SetIdentifier", "HealthCheckId",
		"TrafficPolicyInstanceId", "CidrRoutingConfig", "GeoProximityLocation"};
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (xml_child(xml, settings[i]) != NULL)
			return true;
	}
	return false;
}

static void read_values(const struct xml *xml, struct arena *arena, struct record *record)
{
	const struct xml *item = xml_find(xml, "ResourceRecords/ResourceRecord");
	for (; item != NULL; item = xml_next(item)) {
		struct str value = xml_text(item, "Value");
		/* One that is over a limit is none that could be removed as it is. */
		if (value.p == NULL || value.len > VALUE_LEN_MAX ||
			record->values.count == RECORD_VALUES_MAX) {
			record->is_odd = true;
			return;
		}
		struct str *place = arena_push(arena, (void **)&record->values.items,
			&record->values.count, sizeof(*place));
		*place = arena_str(arena, value);
	}
}

static void read_record(const struct xml *xml, struct arena *arena, struct records_zone *zone)
{
	struct record record = {
		.name = read_name(xml_text(xml, "Name"), arena),
		.type = read_type(xml_text(xml, "Type")),
		.is_odd = is_odd(xml),
		.alias = read_name(xml_text(xml, "AliasTarget/DNSName"), arena),
	};
	int64_t ttl_s = xml_number(xml, "TTL");
	if (record.name.p == NULL || record.type == RECORD_OTHER)
		return;
	if (record.type == RECORD_SOA) {
		zone->name = record.name;
		return;
	}
	if (record.alias.p != NULL) {
		record.alias_zone = arena_str(arena, xml_text(xml, "AliasTarget/HostedZoneId"));
		record.evaluates_health =
			str_eq_c(xml_text(xml, "AliasTarget/EvaluateTargetHealth"), "true");
	}
	record.ttl_s = ttl_s > 0 ? (uint64_t)ttl_s : 0;
	read_values(xml, arena, &record);
	struct record *place = arena_push(
		arena, (void **)&zone->records.items, &zone->records.count, sizeof(record));
	*place = record;
}

const char *route53_read_page(const struct xml *xml, struct arena *arena, struct records_zone *zone,
	struct route53_place *ret_next)
{
	const struct xml *list = xml_child(xml, "ResourceRecordSets");
	const struct xml *item = xml_child(list, "ResourceRecordSet");
	*ret_next = (struct route53_place){STR_NONE, STR_NONE, STR_NONE};
	if (list == NULL)
		return "it is no list of records";
	for (; item != NULL; item = xml_next(item)) {
		if (zone->records.count == RECORDS_MAX)
			return "the zone has more records than are looked at";
		read_record(item, arena, zone);
	}
	if (!str_eq_c(xml_text(xml, "IsTruncated"), "true"))
		return NULL;
	struct str set = xml_text(xml, "NextRecordIdentifier");
	ret_next->name = arena_str(arena, xml_text(xml, "NextRecordName"));
	ret_next->type = arena_str(arena, xml_text(xml, "NextRecordType"));
	ret_next->set = set.p != NULL ? arena_str(arena, set) : STR_NONE;
	return ret_next->name.len != 0 ? NULL : "its next page has no name";
}
