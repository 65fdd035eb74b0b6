// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/api_json.h"

#include "common/ascii.h"
#include "provider-common/digest.h"
#include "provider-rancher/labels.h"

static const struct {
	const char *word;
	enum server_put put;
	bool lasts;
} server_states[SERVER_STATE_COUNT] = {
#define SERVER_STATE(id, word, put, lasts) {word, SERVER_PUT_##put, lasts},
#include "provider-rancher/server_states.def"
#undef SERVER_STATE
};

static enum server_state server_state_of(struct str word)
{
	for (int i = SERVER_STATE_UNKNOWN + 1; i < SERVER_STATE_COUNT; i++) {
		if (str_eq_c(word, server_states[i].word))
			return (enum server_state)i;
	}
	return SERVER_STATE_UNKNOWN;
}

const char *server_state_word(enum server_state state)
{
	return state == SERVER_STATE_UNKNOWN ? "unknown" : server_states[state].word;
}

enum server_put server_state_put(enum server_state state)
{
	return server_states[state].put;
}

bool server_state_lasts(enum server_state state)
{
	return server_states[state].lasts;
}

/* ---- members of any resource ---- */

/* Absent if it is missing, not a text, or too long. */
static struct str get_text(const struct json *value, const char *name, size_t max)
{
	struct str text = STR_NONE;
	if (!json_get_str(value, name, &text) || text.len > max)
		return STR_NONE;
	return text;
}

static uint64_t get_number(const struct json *value, const char *name, int64_t max)
{
	int64_t number = 0;
	if (!json_get_int(value, name, 0, max, 0, &number))
		return 0;
	return (uint64_t)number;
}

static bool get_flag(const struct json *value, const char *name)
{
	bool flag = false;
	return json_get_bool(value, name, false, &flag) && flag;
}

/* Ids become parts of URLs. */
static bool get_id(const struct json *value, const char *name, struct str *ret_id)
{
	struct str id = get_text(value, name, API_ID_LEN_MAX);
	if (!ascii_is_made_of(id, ""))
		return false;
	*ret_id = id;
	return id.len != 0;
}

static enum transitioning get_transitioning(const struct json *value)
{
	struct str word = get_text(value, "transitioning", API_NAME_LEN_MAX);
	if (str_eq_c(word, "error"))
		return TRANSITIONING_ERROR;
	return str_eq_c(word, "yes") ? TRANSITIONING_YES : TRANSITIONING_NO;
}

/* By its state, or because `removed` is set. */
static bool is_gone(const struct json *value, enum server_state state)
{
	return state == SERVER_STATE_REMOVING || state == SERVER_STATE_REMOVED ||
	       !json_is_absent(json_get(value, "removed"));
}

/* ---- lbConfig ---- */

/* Members that we never send: they were set by another controller or a person. */
static uint64_t foreign_digest(const struct json *rule)
{
	static const char *const names[] = {"selector", "environment", "region"};
	struct digest digest;
	bool is_foreign = false;
	digest_begin(&digest);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct str text = get_text(rule, names[i], API_TEXT_LEN_MAX);
		digest_add_str(&digest, text);
		is_foreign = is_foreign || text.len != 0;
	}
	uint64_t weight = get_number(rule, "weight", UINT16_MAX);
	digest_add_int(&digest, weight);
	return is_foreign || weight != 0 ? digest_end(&digest) : 0;
}

static void read_rule(const struct json *value, struct port_rule *rule)
{
	*rule = (struct port_rule){
		.source_port = get_number(value, "sourcePort", UINT16_MAX),
		.protocol = get_text(value, "protocol", API_NAME_LEN_MAX),
		.host = get_text(value, "hostname", API_TEXT_LEN_MAX),
		.path = get_text(value, "path", 64 * 1024),
		.backend = get_text(value, "backendName", 64 * 1024),
		.service_id = get_text(value, "serviceId", API_ID_LEN_MAX),
		.target_port = get_number(value, "targetPort", UINT16_MAX),
		.priority = get_number(value, "priority", INT32_MAX),
		.foreign = foreign_digest(value),
	};
	if (rule->protocol.len == 0)
		rule->protocol = STR("http");
}

static void read_rules(const struct json *list, struct arena *arena, struct lb_spec *spec)
{
	size_t count = json_is_array(list) ? json_count(list) : 0;
	if (count > API_RULES_MAX)
		count = API_RULES_MAX;
	spec->rules.items = arena_calloc(arena, count + 1, sizeof(struct port_rule));
	const struct json *item = json_first(list);
	for (; item != NULL && spec->rules.count < count; item = json_next(item))
		read_rule(item, &spec->rules.items[spec->rules.count++]);
}

static void read_certificates(const struct json *list, struct arena *arena, struct lb_spec *spec)
{
	const struct json *item = json_is_array(list) ? json_first(list) : NULL;
	for (; item != NULL; item = json_next(item)) {
		struct str id = json_text(item);
		if (id.len == 0 || id.len > API_ID_LEN_MAX)
			continue;
		struct str *place = arena_push(arena, (void **)&spec->certificates.items,
			&spec->certificates.count, sizeof(*place));
		*place = id;
	}
}

/* Rancher's words, in the order of enum stickiness_mode. */
static const char *const STICKINESS_WORDS[] = {"insert", "rewrite", "prefix"};

static struct stickiness *read_stickiness(const struct json *value, struct arena *arena)
{
	if (!json_is_object(value))
		return NULL;
	struct stickiness *stickiness = arena_alloc(arena, sizeof(*stickiness));
	*stickiness = (struct stickiness){
		.name = get_text(value, "name", API_TEXT_LEN_MAX),
		.cookie = get_text(value, "cookie", API_TEXT_LEN_MAX),
		.domain = get_text(value, "domain", API_TEXT_LEN_MAX),
		.indirect = get_flag(value, "indirect"),
		.nocache = get_flag(value, "nocache"),
		.postonly = get_flag(value, "postonly"),
	};
	struct str mode = get_text(value, "mode", API_NAME_LEN_MAX);
	for (int i = 0; i < 3; i++) {
		if (str_eq_c(mode, STICKINESS_WORDS[i]))
			stickiness->mode = (enum stickiness_mode)i;
	}
	return stickiness;
}

static void read_lb_config(const struct json *value, struct arena *arena, struct lb_spec *spec)
{
	read_rules(json_get(value, "portRules"), arena, spec);
	read_certificates(json_get(value, "certificateIds"), arena, spec);
	spec->default_certificate = get_text(value, "defaultCertificateId", API_ID_LEN_MAX);
	spec->config = get_text(value, "config", 1024 * 1024);
	spec->stickiness = read_stickiness(json_get(value, "stickinessPolicy"), arena);
}

/* ---- launchConfig ---- */

static bool read_port(struct str text, uint64_t *ret_port)
{
	int64_t number = 0;
	if (!str_to_int(text, 1, UINT16_MAX, &number))
		return false;
	*ret_port = (uint64_t)number;
	return true;
}

/* Cuts off and returns the part after the last `separator`; absent if there is none. */
static struct str cut_last(struct str *text, char separator)
{
	for (size_t i = text->len; i > 0; i--) {
		if (text->p[i - 1] == separator) {
			struct str piece = str_skip(*text, i);
			text->len = i - 1;
			return piece;
		}
	}
	return STR_NONE;
}

bool api_read_published(struct str text, struct published_port *ret_port)
{
	struct published_port port = {.is_udp = false};
	struct str protocol = cut_last(&text, '/');
	port.is_udp = str_eq_c(protocol, "udp");
	struct str last = cut_last(&text, ':');
	if (last.p == NULL) {
		last = text;
		text = STR_NONE;
	}
	if (!read_port(last, &port.private_port))
		return false;
	struct str rest = text;
	struct str middle = cut_last(&rest, ':');
	if (middle.p == NULL)
		middle = text;
	/* "80" and "1.2.3.4:80" publish the port that they name. */
	if (!read_port(middle, &port.public_port))
		port.public_port = port.private_port;
	*ret_port = port;
	return true;
}

static void read_ports(const struct json *list, struct arena *arena, struct lb_spec *spec)
{
	const struct json *item = json_is_array(list) ? json_first(list) : NULL;
	for (; item != NULL; item = json_next(item)) {
		struct published_port port;
		if (!api_read_published(json_text(item), &port))
			continue;
		struct published_port *place = arena_push(
			arena, (void **)&spec->ports.items, &spec->ports.count, sizeof(*place));
		*place = port;
	}
}

static void read_labels(const struct json *labels, struct arena *arena, struct lb_spec *spec)
{
	const struct json *item = json_is_object(labels) ? json_first(labels) : NULL;
	for (; item != NULL; item = json_next(item)) {
		struct label label = {.key = json_name(item), .value = json_text(item)};
		if (!label_is_safe(label.key))
			continue;
		struct label *place = arena_push(
			arena, (void **)&spec->labels.items, &spec->labels.count, sizeof(*place));
		*place = label;
		spec->is_global = spec->is_global || label_is_global(label.key, label.value);
	}
}

/* ---- load balancers ---- */

static void read_endpoints(const struct json *list, struct arena *arena, struct rancher_lb *lb)
{
	size_t count = json_is_array(list) ? json_count(list) : 0;
	if (count > ENDPOINTS_MAX)
		count = ENDPOINTS_MAX;
	lb->endpoints = arena_calloc(arena, count + 1, sizeof(struct endpoint));
	const struct json *item = json_first(list);
	for (; item != NULL && lb->endpoint_count < count; item = json_next(item)) {
		struct endpoint *endpoint = &lb->endpoints[lb->endpoint_count];
		if (endpoint_parse(get_text(item, "ipAddress", API_NAME_LEN_MAX),
			    get_number(item, "port", UINT16_MAX), endpoint))
			lb->endpoint_count++;
	}
}

static void read_metadata(const struct json *metadata, struct rancher_lb *lb)
{
	const struct json *item = json_is_object(metadata) ? json_first(metadata) : NULL;
	for (; item != NULL; item = json_next(item)) {
		if (!str_eq_c(json_name(item), API_CONTENTS_KEY))
			lb->has_foreign_metadata = true;
		else if (!digest_parse(json_text(item), &lb->spec.contents))
			lb->spec.contents = 0;
	}
}

const char *api_read_lb(const struct json *value, struct arena *arena, struct rancher_lb *ret_lb)
{
	struct rancher_lb lb = {.state = SERVER_STATE_UNKNOWN};
	if (!json_is_object(value))
		return "it is no object";
	if (!str_eq_c(get_text(value, "type", API_NAME_LEN_MAX), "loadBalancerService"))
		return "it is no loadBalancerService";
	if (!get_id(value, "id", &lb.id))
		return "its id is missing or malformed";
	if (!get_id(value, "stackId", &lb.stack_id))
		return "its stackId is missing or malformed";
	lb.name = get_text(value, "name", API_NAME_LEN_MAX);
	if (lb.name.len == 0)
		return "its name is missing or too long";
	const struct json *lb_config = json_get(value, "lbConfig");
	const struct json *launch_config = json_get(value, "launchConfig");
	lb.is_whole = json_get(value, "state") != NULL && json_get(value, "name") != NULL &&
		      json_is_object(lb_config) && json_is_object(launch_config);
	lb.external_id = get_text(value, "externalId", API_NAME_LEN_MAX);
	lb.state = server_state_of(get_text(value, "state", API_NAME_LEN_MAX));
	if (!json_is_absent(json_get(value, "removed")))
		lb.state = SERVER_STATE_REMOVED;
	lb.transitioning = get_transitioning(value);
	lb.message = get_text(value, "transitioningMessage", API_TEXT_LEN_MAX);
	lb.spec.scale = get_number(value, "scale", INT32_MAX);
	lb.spec.description = get_text(value, "description", API_TEXT_LEN_MAX);
	lb.fqdn = get_text(value, "fqdn", API_NAME_LEN_MAX);
	lb.image = get_text(launch_config, "imageUuid", API_TEXT_LEN_MAX);
	read_lb_config(lb_config, arena, &lb.spec);
	read_ports(json_get(launch_config, "ports"), arena, &lb.spec);
	read_labels(json_get(launch_config, "labels"), arena, &lb.spec);
	read_endpoints(json_get(value, "publicEndpoints"), arena, &lb);
	read_metadata(json_get(value, "metadata"), &lb);
	*ret_lb = lb;
	return NULL;
}

/* ---- other resources ---- */

const char *api_read_stack(const struct json *value, struct rancher_stack *ret_stack)
{
	struct rancher_stack stack = {.state = SERVER_STATE_UNKNOWN};
	if (!str_eq_c(get_text(value, "type", API_NAME_LEN_MAX), "stack"))
		return "it is no stack";
	if (!get_id(value, "id", &stack.id))
		return "its id is missing or malformed";
	stack.name = get_text(value, "name", API_NAME_LEN_MAX);
	stack.external_id = get_text(value, "externalId", API_NAME_LEN_MAX);
	stack.state_word = get_text(value, "state", API_NAME_LEN_MAX);
	stack.state = server_state_of(stack.state_word);
	if (is_gone(value, stack.state))
		stack.state = SERVER_STATE_REMOVED;
	*ret_stack = stack;
	return NULL;
}

const char *api_read_certificate(const struct json *value, struct rancher_certificate *ret)
{
	struct rancher_certificate certificate = {.is_gone = false};
	if (!str_eq_c(get_text(value, "type", API_NAME_LEN_MAX), "certificate"))
		return "it is no certificate";
	if (!get_id(value, "id", &certificate.id))
		return "its id is missing or malformed";
	certificate.name = get_text(value, "name", API_NAME_LEN_MAX);
	certificate.description = get_text(value, "description", API_TEXT_LEN_MAX);
	certificate.chain = get_text(value, "cert", 1024 * 1024);
	certificate.is_gone =
		is_gone(value, server_state_of(get_text(value, "state", API_NAME_LEN_MAX)));
	*ret = certificate;
	return NULL;
}

const char *api_read_service(const struct json *value, struct rancher_service *ret_service)
{
	struct rancher_service service = {.is_gone = false};
	if (!str_eq_c(get_text(value, "type", API_NAME_LEN_MAX), "kubernetesService"))
		return "it is no kubernetesService";
	if (!get_id(value, "id", &service.id))
		return "its id is missing or malformed";
	service.uid = get_text(value, "externalId", API_NAME_LEN_MAX);
	if (service.uid.len == 0)
		return "its externalId is missing or too long";
	service.is_gone =
		is_gone(value, server_state_of(get_text(value, "state", API_NAME_LEN_MAX)));
	*ret_service = service;
	return NULL;
}

void api_read_error(const struct json *value, struct rancher_error *ret_error)
{
	*ret_error = (struct rancher_error){
		.code = get_text(value, "code", API_NAME_LEN_MAX),
		.field = get_text(value, "fieldName", API_TEXT_LEN_MAX),
		.message = get_text(value, "message", API_TEXT_LEN_MAX),
	};
	if (ret_error->message.len == 0)
		ret_error->message = get_text(value, "detail", API_TEXT_LEN_MAX);
}

struct str api_read_setting(const struct json *value)
{
	struct str active = get_text(value, "activeValue", API_TEXT_LEN_MAX);
	return active.len != 0 ? active : get_text(value, "value", API_TEXT_LEN_MAX);
}

const struct json *api_read_page(const struct json *value, struct str *ret_next)
{
	const struct json *data = json_get(value, "data");
	if (!json_is_array(data))
		return NULL;
	*ret_next = get_text(json_get(value, "pagination"), "next", 64 * 1024);
	return data;
}
