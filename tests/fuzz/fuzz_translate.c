// SPDX-License-Identifier: Apache-2.0
/* A small cluster drawn from the bytes: an engine that gets it as a snapshot, and one that gets it
 * backwards, record by record, after a first state of which some has gone, must give a provider the
 * same objects. */
#include "common/log.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "translator/engine.h"

#include <stdlib.h>

enum { RECORDS_MAX = 12, OUT_MAX = 16 * 1024 * 1024, OBJECTS_MAX = 512, ITEMS_MAX = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- bytes to records ---- */

struct draw {
	struct str rest;
	struct arena *arena;
};

static unsigned pick(struct draw *d, unsigned count)
{
	if (d->rest.len == 0)
		return 0;
	unsigned byte = (unsigned char)d->rest.p[0];
	d->rest = str_skip(d->rest, 1);
	return byte % count;
}

static struct str pick_word(struct draw *d, const char *const *words, unsigned count)
{
	unsigned which = pick(d, count + 1);
	if (which < count)
		return str_from(words[which]);
	/* Or any text. */
	size_t len = pick(d, 20);
	struct str raw = {d->rest.p, len < d->rest.len ? len : d->rest.len};
	d->rest = str_skip(d->rest, raw.len);
	return str_is_utf8(raw) ? raw : STR("\xc3\xbc");
}

#define PICK(draw_, ...)                                       \
	pick_word((draw_), (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static struct ingress_backend draw_backend(struct draw *d)
{
	struct ingress_backend backend = {.service = PICK(d, "s0", "s1", "")};
	if (pick(d, 3) == 0)
		backend.port_name = PICK(d, "http", "80");
	else
		backend.port_number = 79 + pick(d, 3);
	return backend;
}

static void draw_rule(struct draw *d, struct ingress_rule *rule)
{
	rule->host = PICK(d, "", "a.org", "*.org", "A.org", "1.2.3.4");
	rule->paths.count = pick(d, ITEMS_MAX);
	rule->paths.items = arena_calloc(d->arena, ITEMS_MAX, sizeof(struct ingress_path));
	for (size_t i = 0; i < rule->paths.count; i++)
		rule->paths.items[i] = (struct ingress_path){.path = PICK(d, "/", "/a", "/a/", ""),
			.type = (enum path_type)pick(d, 3),
			.backend = draw_backend(d)};
}

static void draw_annotations(struct draw *d, struct ingress_record *ingress)
{
	ingress->annotations.count = pick(d, ITEMS_MAX);
	ingress->annotations.items = arena_calloc(d->arena, ITEMS_MAX, sizeof(struct annotation));
	for (size_t i = 0; i < ingress->annotations.count; i++)
		ingress->annotations.items[i] = (struct annotation){
			PICK(d, "scale", "sluice.io/group", "http.port", "https.port", "allow.http",
				"sluice.io/tls-passthrough", "kubernetes.io/ingress.class",
				"io.rancher.x", "config", "io.rancher.stickiness.policy",
				"io.rancher.kubernetes.livenessprobes",
				"nginx.ingress.kubernetes.io/custom-headers"),
			PICK(d, "1", "g", "false", "true", "rancher", "443", "cookie: c",
				"{\"s0\": {\"tcpSocket\": {}}}", "nginx", "a/m")};
}

static void *draw_ingress(struct draw *d)
{
	struct ingress_record *ingress = arena_alloc(d->arena, sizeof(*ingress));
	ingress->key = (struct record_key){
		RECORD_INGRESS, PICK(d, "a", "b"), PICK(d, "i0", "i1", "i2"), PICK(d, "u0", "u1")};
	ingress->created = pick(d, 3);
	ingress->class_name = PICK(d, "", "", "ours");
	draw_annotations(d, ingress);
	ingress->rules.count = pick(d, ITEMS_MAX);
	ingress->rules.items = arena_calloc(d->arena, ITEMS_MAX, sizeof(struct ingress_rule));
	for (size_t i = 0; i < ingress->rules.count; i++)
		draw_rule(d, &ingress->rules.items[i]);
	if (pick(d, 2) == 0) {
		ingress->default_backend = arena_alloc(d->arena, sizeof(*ingress->default_backend));
		*ingress->default_backend = draw_backend(d);
	}
	ingress->tls.count = pick(d, 2);
	ingress->tls.items = arena_alloc(d->arena, sizeof(struct ingress_tls));
	ingress->tls.items[0].secret = PICK(d, "t", "");
	ingress->tls.items[0].hosts.items = arena_alloc(d->arena, sizeof(struct str));
	ingress->tls.items[0].hosts.items[0] = PICK(d, "a.org", "*.org");
	ingress->tls.items[0].hosts.count = pick(d, 2);
	return ingress;
}

static void *draw_service(struct draw *d)
{
	struct service_record *service = arena_alloc(d->arena, sizeof(*service));
	service->key = (struct record_key){
		RECORD_SERVICE, PICK(d, "a", "b"), PICK(d, "s0", "s1"), PICK(d, "u0", "u1")};
	service->type = (enum service_type)pick(d, 4);
	service->external_name = PICK(d, "", "x.org", "localhost");
	service->ports.count = pick(d, ITEMS_MAX);
	service->ports.items = arena_calloc(d->arena, ITEMS_MAX, sizeof(struct service_port));
	for (size_t i = 0; i < service->ports.count; i++)
		service->ports.items[i] = (struct service_port){.name = PICK(d, "", "http", "80"),
			.port = 79 + pick(d, 3),
			.protocol = (enum ip_protocol)pick(d, 2),
			.target_number = pick(d, 3)};
	service->created = pick(d, 3);
	service->load_balancer_class = PICK(d, "ours", "");
	service->deleting = pick(d, 4) == 3;
	service->finalizer = pick(d, 2) == 1;
	service->client_ip_affinity = pick(d, 2) == 1;
	service->source_ranges.count = pick(d, 4) / 2;
	service->source_ranges.items = arena_calloc(d->arena, 1, sizeof(struct str));
	if (service->source_ranges.count != 0)
		service->source_ranges.items[0] = PICK(d, "10.0.0.0/8", "::/0");
	return service;
}

static void *draw_slice(struct draw *d)
{
	struct endpoints_record *slice = arena_alloc(d->arena, sizeof(*slice));
	struct endpoint_subset *subset = arena_alloc(d->arena, sizeof(*subset));
	slice->key = (struct record_key){
		RECORD_ENDPOINTS, PICK(d, "a", "b"), PICK(d, "e0", "e1", "e2"), STR("u")};
	slice->service = PICK(d, "s0", "s1", "");
	slice->created = pick(d, 2);
	slice->subsets.items = subset;
	slice->subsets.count = 1;
	subset->ports.count = 1;
	subset->ports.items = arena_alloc(d->arena, sizeof(struct endpoint_port));
	*subset->ports.items =
		(struct endpoint_port){.name = PICK(d, "", "http"), .port = pick(d, 3)};
	subset->addresses.count = pick(d, ITEMS_MAX);
	subset->addresses.items =
		arena_calloc(d->arena, ITEMS_MAX, sizeof(struct endpoint_address));
	for (size_t i = 0; i < subset->addresses.count; i++)
		subset->addresses.items[i] =
			(struct endpoint_address){.ip = PICK(d, "10.0.0.1", "10.0.0.2", "fd00::1"),
				.ready = pick(d, 2) == 0,
				.serving = pick(d, 2) == 0,
				.terminating = pick(d, 2) == 0,
				.target_uid = PICK(d, "p0", "p1", "")};
	return slice;
}

static void *draw_config_map(struct draw *d)
{
	struct config_map_record *map = arena_alloc(d->arena, sizeof(*map));
	map->key = (struct record_key){
		RECORD_CONFIG_MAP, STR("a"), PICK(d, "o", "m", "h"), PICK(d, "u0", "u1")};
	map->entries.count = pick(d, ITEMS_MAX);
	map->entries.items = arena_calloc(d->arena, ITEMS_MAX, sizeof(struct config_entry));
	for (size_t i = 0; i < map->entries.count; i++)
		map->entries.items[i] = (struct config_entry){
			.key = PICK(d, "proxy-body-size", "add-headers", "X-A",
				"global-allowed-response-headers", "whitelist-source-range",
				"force-ssl-redirect", "9000", "9001", "80"),
			.value = PICK(d, "8m", "a/h", "a/m", "X-A", "10.0.0.0/8", "true", "x",
				"a/web:80", "b/api:http", "a/web:80:PROXY")};
	return map;
}

static void *draw_pod(struct draw *d)
{
	struct pod_record *pod = arena_alloc(d->arena, sizeof(*pod));
	*pod = (struct pod_record){
		.key = {RECORD_POD, STR("a"), PICK(d, "p", "q"), PICK(d, "u0", "u1")},
		.node = PICK(d, "n", "m", ""),
		.host_ip = PICK(d, "10.0.0.1", "x", ""),
		.ready = pick(d, 2) == 0};
	return pod;
}

static void *draw_node(struct draw *d)
{
	struct node_record *node = arena_alloc(d->arena, sizeof(*node));
	*node = (struct node_record){.key = {RECORD_NODE, STR(""), PICK(d, "n", "m"), STR("u")},
		.external_ip = PICK(d, "192.0.2.1", "", "x"),
		.internal_ip = PICK(d, "10.0.0.2", "")};
	return node;
}

static void *draw_record(struct draw *d)
{
	struct secret_record *secret;
	struct ingress_class_record *class;
	switch (pick(d, 9)) {
	case 0:
	case 1:
		return draw_ingress(d);
	case 2:
		return draw_service(d);
	case 3:
		return draw_slice(d);
	case 4:
		return draw_config_map(d);
	case 7:
		return draw_pod(d);
	case 8:
		return draw_node(d);
	case 5:
		secret = arena_alloc(d->arena, sizeof(*secret));
		secret->key =
			(struct record_key){RECORD_SECRET, PICK(d, "a", "b"), STR("t"), STR("u")};
		secret->certificate = secret->private_key = PICK(d, "no certificate");
		return secret;
	default:
		class = arena_alloc(d->arena, sizeof(*class));
		class->key =
			(struct record_key){RECORD_INGRESS_CLASS, STR(""), STR("ours"), STR("u")};
		class->controller = PICK(d, "ours", "theirs");
		class->is_default = pick(d, 2) == 0;
		return class;
	}
}

/* ---- an engine and what a provider gets of it ---- */

struct object {
	enum lb_kind kind;
	char *id;
	uint64_t rev;
};

struct side {
	struct engine *engine;
	struct message_reader *reader;
	struct buf out;
	struct buf sink;
	struct object objects[OBJECTS_MAX];
	size_t count;
};

static struct buf *source_out(void *ctx)
{
	struct side *side = ctx;
	buf_clear(&side->sink);
	return &side->sink;
}

static struct buf *provider_out(void *ctx)
{
	return &((struct side *)ctx)->out;
}

static void flush(void *ctx)
{
	(void)ctx;
}

static const struct engine_ops ops = {source_out, flush, provider_out, flush};

static struct object *find_object(struct side *side, enum lb_kind kind, struct str id)
{
	for (size_t i = 0; i < side->count; i++) {
		if (side->objects[i].kind == kind && str_eq_c(id, side->objects[i].id))
			return &side->objects[i];
	}
	return NULL;
}

static void set_object(struct side *side, const struct lb_key *key)
{
	struct object *object = find_object(side, key->kind, key->id);
	if (object == NULL) {
		must(side->count < OBJECTS_MAX);
		object = &side->objects[side->count++];
		*object = (struct object){.kind = key->kind, .id = str_dup(key->id)};
	}
	object->rev = key->rev;
}

static void remove_object(struct side *side, const struct lb_remove *remove)
{
	struct object *object = find_object(side, remove->kind, remove->id);
	must(object != NULL);
	free(object->id);
	*object = side->objects[--side->count];
}

/* Every struct of an object begins with its key. */
union body {
	struct lb_key key;
	struct lb_remove remove;
	struct load_balancer balancer;
	struct virtual_host host;
	struct pool pool;
	struct certificate certificate;
	struct policy policy;
	struct users users;
};

static void take_frames(struct side *side)
{
	struct str payload;
	while (frame_next(&side->out, &payload) == FRAME_READY) {
		struct schema_error error;
		struct message message;
		struct arena arena;
		union body body;
		arena_init(&arena);
		must(message_open(side->reader, payload, &message, &error) == 0);
		if (message.type == MESSAGE_UPSERT || message.type == MESSAGE_REMOVE)
			must(message_decode(&message, &arena, &body, &error) == 0);
		if (message.type == MESSAGE_UPSERT)
			set_object(side, &body.key);
		if (message.type == MESSAGE_REMOVE)
			remove_object(side, &body.remove);
		arena_fini(&arena);
		buf_consume(&side->out, frame_len_of(payload));
	}
}

static void work(struct side *side)
{
	while (engine_work(side->engine))
		;
	take_frames(side);
}

/* What a limit of the protocol refuses never reaches an engine. */
static void give(struct side *side, const struct buf *frame)
{
	struct schema_error error = {""};
	struct message message;
	if (buf_len(frame) == 0)
		return;
	struct str payload = str_skip(buf_str(frame), FRAME_HEAD_LEN);
	must(message_open(side->reader, payload, &message, &error) == 0);
	must(engine_source_message(side->engine, &message, &error) == 0);
}

static void say(struct side *side, enum message_type type, const void *value)
{
	struct schema_error error;
	struct buf frame;
	buf_init(&frame, OUT_MAX);
	(void)message_encode(type, value, &frame, &error);
	give(side, &frame);
	buf_fini(&frame);
}

static void give_record(struct side *side, const void *record)
{
	struct schema_error error;
	struct buf frame;
	buf_init(&frame, OUT_MAX);
	(void)message_encode_record(record, &frame, &error);
	give(side, &frame);
	buf_fini(&frame);
}

static void open_side(struct side *side, enum grouping grouping)
{
	static const struct engine_config config = {
		.default_namespace = {"a", 1}, .default_name = {"t", 1}, .takes_nginx = true};
	static int kinds[] = {RECORD_INGRESS, RECORD_INGRESS_CLASS, RECORD_SERVICE,
		RECORD_ENDPOINTS, RECORD_SECRET, RECORD_CONFIG_MAP, RECORD_POD, RECORD_NODE};
	_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == RECORD_KIND_COUNT - 1, "all kinds");
	struct source_settings settings = {.kinds = {kinds, RECORD_KIND_COUNT - 1},
		.nginx_options = STR("a/o"),
		.tcp_services = STR("a/m"),
		.udp_services = STR("a/m"),
		.ingress_class = STR("rancher"),
		.controller_name = STR("ours"),
		.without_class = true,
		.load_balancer_class = STR("ours"),
		.without_load_balancer_class = true};
	static struct str policies[] = {STR("stickiness"), STR("health-check"), STR("scale"),
		STR("body-limit"), STR("response-headers"), STR("source-access"),
		STR("https-redirect"), STR("decoded-paths")};
	static struct str features[] = {STR("source-ranges")};
	static struct str protocols[] = {STR("http"), STR("https"), STR("tcp"), STR("udp")};
	struct capabilities capabilities = {.grouping = grouping,
		.protocols = {protocols, 4},
		.policies = {policies, 8},
		.features = {features, 1}};
	struct hello hello = {.version_max = 2, .capabilities = &capabilities};
	*side = (struct side){.reader = message_reader_new()};
	side->engine = engine_new(&config, &ops, side);
	buf_init(&side->out, OUT_MAX);
	buf_init(&side->sink, OUT_MAX);
	engine_provider_up(side->engine, &hello);
	engine_source_up(side->engine);
	say(side, MESSAGE_SETTINGS, &settings);
}

static void snapshot(struct side *side, void *const *records, size_t count)
{
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		struct sync_mark mark = {(enum record_kind)kind};
		say(side, MESSAGE_SYNC_BEGIN, &mark);
		for (size_t i = 0; i < count; i++) {
			if (((const struct record_key *)records[i])->kind == mark.kind)
				give_record(side, records[i]);
		}
		say(side, MESSAGE_SYNC_END, &mark);
	}
	work(side);
}

static void close_side(struct side *side)
{
	engine_free(side->engine);
	message_reader_free(side->reader);
	buf_fini(&side->out);
	buf_fini(&side->sink);
	for (size_t i = 0; i < side->count; i++)
		free(side->objects[i].id);
}

/* ---- the comparison ---- */

static bool same_key(const struct record_key *a, const struct record_key *b)
{
	return a->kind == b->kind && str_eq(a->namespace, b->namespace) && str_eq(a->name, b->name);
}

/* Draws records, the first of each name. */
static size_t draw_records(struct draw *d, void **records)
{
	size_t count = 0;
	while (d->rest.len != 0 && count < RECORDS_MAX) {
		struct record_key *key = draw_record(d);
		bool is_new = true;
		for (size_t i = 0; i < count; i++)
			is_new &= !same_key(records[i], key);
		if (is_new)
			records[count++] = key;
	}
	return count;
}

static int compare_objects(const void *left, const void *right)
{
	const struct object *a = left;
	const struct object *b = right;
	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->id, b->id);
}

static void compare(struct side *a, struct side *b)
{
	must(a->count == b->count);
	qsort(a->objects, a->count, sizeof(a->objects[0]), compare_objects);
	qsort(b->objects, b->count, sizeof(b->objects[0]), compare_objects);
	for (size_t i = 0; i < a->count; i++)
		must(compare_objects(&a->objects[i], &b->objects[i]) == 0 &&
			a->objects[i].rev == b->objects[i].rev);
}

static void ignore_line(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)event;
	(void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct side at_once;
	static struct side one_by_one;
	void *records[RECORDS_MAX];
	struct arena arena;
	arena_init(&arena);
	log_set_sink(ignore_line, NULL);
	struct draw d = {{(const char *)data, len}, &arena};
	enum grouping grouping = pick(&d, 2) == 0 ? GROUPING_PER_INGRESS : GROUPING_MERGED;
	size_t count = draw_records(&d, records);
	open_side(&at_once, grouping);
	snapshot(&at_once, records, count);
	open_side(&one_by_one, grouping);
	snapshot(&one_by_one, records, count / 2);
	for (size_t i = 0; i < count / 2; i++) {
		say(&one_by_one, MESSAGE_DELETE, records[i]);
		work(&one_by_one);
	}
	for (size_t i = count; i-- > 0;) {
		give_record(&one_by_one, records[i]);
		work(&one_by_one);
	}
	compare(&at_once, &one_by_one);
	close_side(&at_once);
	close_side(&one_by_one);
	arena_fini(&arena);
	return 0;
}
