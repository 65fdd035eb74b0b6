// SPDX-License-Identifier: Apache-2.0
#include "render_world.h"

#include "common/log.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "provider-proxy/ports.h"

enum { OBJECTS_MAX = 12, ITEMS_MAX = 4, PORT_COUNT = 8 };

static const uint16_t ports[PORT_COUNT] = {80, 443, 5432, 6379, 8443, 9000, 9443, 10000};

/* ---- in place of provider-proxy/local.c ---- */

struct local *world_local(struct world *world)
{
	return (struct local *)world;
}

static struct world *world_of(struct local *local)
{
	return (struct world *)local;
}

struct state *local_state(struct local *local)
{
	return world_of(local)->state;
}

struct rows *local_rows(struct local *local)
{
	return world_of(local)->rows;
}

struct routes *local_routes(struct local *local)
{
	return world_of(local)->routes;
}

struct notices *local_notices(struct local *local)
{
	return world_of(local)->notices;
}

struct externals *local_externals(struct local *local)
{
	(void)local;
	return NULL;
}

const struct publish *local_publish(struct local *local)
{
	(void)local;
	return NULL;
}

size_t publish_binds(const struct publish *publish, const struct check_ip **ret_binds)
{
	static struct check_ip binds[3];
	(void)publish;
	must(check_ip(STR("127.0.0.1"), &binds[0]) && check_ip(STR("::"), &binds[1]) &&
		check_ip(STR("2001:db8::1"), &binds[2]));
	*ret_binds = binds;
	return 3;
}

/* ---- in place of provider-proxy/externals.c: every name has been looked up ---- */

void externals_settle(struct externals *all, struct pool *pool, struct arena *arena)
{
	(void)all;
	if (str_is_empty(pool->external_name) || !check_host(pool->external_name) ||
		!check_port(pool->target_port))
		return;
	struct pool_endpoint found[] = {
		{.ip = STR("192.0.2.1"), .port = pool->target_port, .active = true},
		{.ip = STR("2001:db8::1"), .port = pool->target_port, .active = true},
	};
	pool->endpoints.count = 2;
	pool->endpoints.items = arena_alloc(arena, sizeof(found));
	memcpy(pool->endpoints.items, found, sizeof(found));
}

void externals_drop(struct externals *all, struct str pool_id)
{
	(void)all;
	(void)pool_id;
}

/* ---- the world ---- */

static void ignore_line(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)event;
	(void)line;
}

struct str world_keep(struct world *world, struct str text)
{
	struct str *place = arena_push(
		&world->arena, (void **)&world->texts, &world->text_count, sizeof(*place));
	*place = text;
	return text;
}

void world_init(struct world *world, const uint8_t *data, size_t len, enum routes_form form,
	const struct route_writer *writer)
{
	static const struct state_config config = {0};
	log_set_sink(ignore_line, NULL);
	*world = (struct world){
		.state = state_new(&config),
		.rows = rows_new(),
		.notices = notices_new(NULL, NULL),
		.writer = writer,
		.reader = message_reader_new(),
		.rest = {(const char *)data, len},
	};
	world->routes = routes_new(world->rows, world->notices, form, writer);
	arena_init(&world->arena);
	buf_init(&world->frame, FRAME_LEN_MAX);
	/* What stands for a cookie and a path that nobody has named. */
	world_keep(world, STR("SLUICE"));
	world_keep(world, STR("/"));
}

void world_fini(struct world *world)
{
	routes_free(world->routes, world->state);
	state_free(world->state);
	rows_free(world->rows);
	notices_free(world->notices);
	message_reader_free(world->reader);
	arena_fini(&world->arena);
	buf_fini(&world->frame);
}

void world_commit(struct world *world,
	void (*on_change)(void *ctx, struct state *state, const struct state_commit *commit),
	void *ctx)
{
	struct state_commit commit;
	state_commit(world->state, &commit);
	routes_on_commit(world->routes, world->state, &commit);
	on_change(ctx, world->state, &commit);
	state_commit_done(world->state);
}

bool world_stage(struct world *world, const void *object)
{
	struct schema_error error = {""};
	struct message message;
	uint64_t rev;
	buf_clear(&world->frame);
	if (message_encode_object(object, &world->frame, &rev, &error) != 0)
		return false;
	struct str payload = str_skip(buf_str(&world->frame), FRAME_HEAD_LEN);
	must(message_open(world->reader, payload, &message, &error) == 0);
	struct arena arena;
	arena_init(&arena);
	/* One that is not what an object may be closes the link. */
	bool is_staged = state_stage_upsert(world->state, &message, &arena, &error) == 0;
	arena_fini(&arena);
	return is_staged;
}

/* ---- bytes to texts ---- */

unsigned world_pick(struct world *world, unsigned count)
{
	if (world->rest.len == 0)
		return 0;
	unsigned byte = (unsigned char)world->rest.p[0];
	world->rest = str_skip(world->rest, 1);
	return byte % count;
}

bool world_has_text(const struct world *world, struct str text)
{
	for (size_t i = 0; i < world->text_count; i++) {
		if (str_eq(world->texts[i], text))
			return true;
	}
	return false;
}

static const struct str pieces[] = {STR("\""), STR("'"), STR("\\"), STR("\n"), STR("\r"), STR(" "),
	STR("\t"), STR(";"), STR("{"), STR("}"), STR("#"), STR("$"), STR("${HOME}"), STR("%[src]"),
	STR("%"), STR("||"), STR("\x7f"), STR("\x01"), STR("\0"), STR("\xe2\x80\xa8"),
	STR("\xc2\x85"), STR("\xff"), STR("*."), STR("."), STR("~"), STR("^"), STR("]]"), STR("--"),
	STR("[::1]"), STR("<<"), STR("\nbackend evil\n"), STR("; evil {"), STR("/"), STR("0"),
	STR("a"), STR("#+"), STR("\n#= mode tcp\n"), STR("\\x22"), STR("-----BEGIN X-----\n"),
	STR("-----END X-----\n")};

enum { PIECE_COUNT = sizeof(pieces) / sizeof(pieces[0]) };

/* Some hostile pieces, or bytes as they come. */
static struct str wild(struct world *world)
{
	struct str parts = STR("");
	unsigned count = 1 + world_pick(world, ITEMS_MAX);
	if (world_pick(world, 4) == 0) {
		size_t len = world_pick(world, 64);
		parts = (struct str){world->rest.p, len < world->rest.len ? len : world->rest.len};
		world->rest = str_skip(world->rest, parts.len);
		return parts.len != 0 ? parts : STR("");
	}
	for (unsigned i = 0; i < count; i++) {
		struct str piece = pieces[world_pick(world, PIECE_COUNT)];
		char *text = arena_alloc(&world->arena, parts.len + piece.len);
		memcpy(text, parts.p, parts.len);
		memcpy(text + parts.len, piece.p, piece.len);
		parts = (struct str){text, parts.len + piece.len};
	}
	return parts;
}

/* What should stand there, something wild, one in the other, or very much of one byte. */
static struct str text(struct world *world, const char *good)
{
	struct str plain = str_from(good);
	unsigned how = world_pick(world, 8);
	if (how < 3)
		return world_keep(world, plain);
	if (how == 7) {
		size_t len = 64u * world_pick(world, 256);
		char *much = arena_alloc(&world->arena, len + plain.len + 1);
		memcpy(much, plain.p, plain.len);
		memset(much + plain.len, "a/\"\\x.$"[world_pick(world, 7)], len);
		return world_keep(world, (struct str){much, plain.len + len});
	}
	struct str other = wild(world);
	if (how == 3)
		return world_keep(world, other);
	size_t at = how == 4 ? plain.len : world_pick(world, (unsigned)plain.len + 1);
	char *both = arena_alloc(&world->arena, plain.len + other.len + 1);
	memcpy(both, plain.p, at);
	memcpy(both + at, other.p, other.len);
	memcpy(both + at + other.len, plain.p + at, plain.len - at);
	return world_keep(world, (struct str){both, plain.len + other.len});
}

struct str world_text(struct world *world, const char *good)
{
	return text(world, good);
}

static struct str one_of(struct world *world, const char *const *words, unsigned count)
{
	return text(world, words[world_pick(world, count)]);
}

/* Mostly one of the words, so that objects find each other. */
static struct str id_of(struct world *world, const char *const *words, unsigned count)
{
	unsigned which = world_pick(world, 4 * count + 1);
	return which < 4 * count ? world_keep(world, str_from(words[which / 4]))
				 : text(world, words[0]);
}

#define WORDS(...)                          \
	(const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define ONE_OF(world_, ...) one_of((world_), WORDS(__VA_ARGS__))
#define ID_OF(world_, ...)  id_of((world_), WORDS(__VA_ARGS__))

/* ---- bytes to objects ---- */

static void *items(struct world *world, size_t size)
{
	return arena_calloc(&world->arena, ITEMS_MAX, size);
}

static uint64_t port_of(struct world *world)
{
	static const uint64_t odd[] = {0, 65535, 65536, UINT64_MAX};
	unsigned which = world_pick(world, PORT_COUNT + 4);
	return which < PORT_COUNT ? ports[which] : odd[which - PORT_COUNT];
}

static struct str_list list_of(struct world *world, const char *good)
{
	struct str_list list = {items(world, sizeof(struct str)), world_pick(world, ITEMS_MAX)};
	for (size_t i = 0; i < list.count; i++)
		list.items[i] = text(world, good);
	return list;
}

static struct object_ref draw_ref(struct world *world)
{
	return (struct object_ref){text(world, "default"), text(world, "web"), text(world, "uid"),
		world_pick(world, 2) != 0};
}

static struct stickiness *draw_stickiness(struct world *world)
{
	struct stickiness *sticky = arena_alloc(&world->arena, sizeof(*sticky));
	*sticky = (struct stickiness){
		.name = text(world, "web"),
		.cookie = ONE_OF(world, "SLUICE", "JSESSIONID", ""),
		.domain = ONE_OF(world, "a.test", ".a.test", ""),
		.mode = (enum stickiness_mode)world_pick(world, 3),
		.indirect = world_pick(world, 2) != 0,
		.nocache = world_pick(world, 2) != 0,
		.postonly = world_pick(world, 2) != 0,
	};
	return sticky;
}

static uint64_t wide(struct world *world)
{
	uint64_t value = 0;
	for (unsigned i = world_pick(world, 9); i > 0; i--)
		value = value << 8 | world_pick(world, 256);
	return value;
}

static struct health_check *draw_check(struct world *world)
{
	struct health_check *check = arena_alloc(&world->arena, sizeof(*check));
	*check = (struct health_check){
		.service = text(world, "web"),
		.type = (enum health_check_type)world_pick(world, 2),
		.path = ONE_OF(world, "/healthz", "/", "/a%20b\"c"),
		.port = port_of(world),
		.interval_ms = wide(world),
		.timeout_ms = wide(world),
		.rise = wide(world),
		.fall = wide(world),
	};
	return check;
}

/* How handshakes are made: as usual, or one of the ways that world_fill_terms() has. */
static void draw_terms(struct world *world, struct pool_tls *tls)
{
	static const uint64_t versions[] = {12, 13, 11, UINT64_MAX};
	world_fill_terms(tls, world_pick(world, WORLD_TERMS));
	if (tls->min_version != 0)
		tls->min_version = versions[world_pick(world, 4)];
	if (tls->max_version != 0)
		tls->max_version = versions[world_pick(world, 4)];
	if (tls->ciphers.count != 0) {
		tls->ciphers.items = items(world, sizeof(struct str));
		tls->ciphers.items[0] = text(world, "AES128-SHA");
	}
}

static struct pool_tls *draw_tls(struct world *world)
{
	struct pool_tls *tls = arena_alloc(&world->arena, sizeof(*tls));
	bool has_client = world_pick(world, 2) != 0;
	*tls = (struct pool_tls){
		.http2 = world_pick(world, 2) != 0,
		.verify = (enum tls_verify)world_pick(world, 3),
		.ca = text(world, world_authority),
		.server_name = ONE_OF(world, "web.default.svc", "a.test", "", "upstream_balancer"),
		.client_chain = text(world, has_client ? world_authority : ""),
		.client_key = text(world, has_client ? world_authority_key : ""),
	};
	draw_terms(world, tls);
	return tls;
}

static void draw_endpoints(struct world *world, struct pool *pool)
{
	for (size_t i = 0; i < pool->endpoints.count; i++)
		pool->endpoints.items[i] = (struct pool_endpoint){
			.ip = ONE_OF(world, "10.0.0.1", "fd00::1", "::ffff:10.0.0.2"),
			.port = port_of(world),
			.active = world_pick(world, 2) != 0,
			.ready = world_pick(world, 2) != 0,
			.serving = world_pick(world, 2) != 0,
			.terminating = world_pick(world, 2) != 0,
			.node = text(world, "node"),
			.zone = text(world, "zone"),
		};
}

static void draw_pool(struct world *world)
{
	struct pool pool = {
		.key = {.kind = LB_POOL, .id = ID_OF(world, "p0", "p1", "p2")},
		.service = draw_ref(world),
		.port_name = text(world, "http"),
		.port = port_of(world),
		.target_port = port_of(world),
		.mixed_target_ports = world_pick(world, 2) != 0,
		.has_selector = world_pick(world, 2) != 0,
		.external_name = ONE_OF(world, "", "web.test"),
		.protocol = (enum pool_protocol)world_pick(world, 4),
		.algorithm = (enum pool_algorithm)world_pick(world, 3),
		.endpoints = {items(world, sizeof(struct pool_endpoint)),
			world_pick(world, ITEMS_MAX)},
		.stickiness = world_pick(world, 2) != 0 ? draw_stickiness(world) : NULL,
		.health_check = world_pick(world, 2) != 0 ? draw_check(world) : NULL,
		.tls = world_pick(world, 2) != 0 ? draw_tls(world) : NULL,
	};
	draw_endpoints(world, &pool);
	struct pool *kept = arena_push(
		&world->arena, (void **)&world->pools, &world->pool_count, sizeof(*kept));
	*kept = pool;
	(void)world_stage(world, &pool);
}

static void draw_host(struct world *world)
{
	struct virtual_host host = {
		.key = {.kind = LB_VIRTUAL_HOST, .id = ID_OF(world, "h0", "h1", "h2")},
		.load_balancer = ID_OF(world, "lb", "lb2"),
		.host = ONE_OF(world, "a.test", "*.a.test", ""),
		.match = (enum host_match)world_pick(world, 3),
		.rules = {items(world, sizeof(struct path_rule)), world_pick(world, ITEMS_MAX)},
		.passthrough = world_pick(world, 2) != 0,
	};
	for (size_t i = 0; i < host.rules.count; i++)
		host.rules.items[i] = (struct path_rule){
			.path = ONE_OF(world, "/", "/a", "/a/"),
			.match = (enum path_type)world_pick(world, 3),
			.pool = ID_OF(world, "p0", "p1", "p2"),
			.ingress = text(world, "default/web"),
			.tls_only = world_pick(world, 3) == 0,
		};
	for (size_t i = 0; i < host.rules.count && world->writer != NULL; i++)
		world_draw_rule(world, &host.rules.items[i]);
	host.decoded = world->writer != NULL && world_pick(world, 4) == 3;
	(void)world_stage(world, &host);
}

static void draw_listeners(struct world *world, struct load_balancer *balancer)
{
	for (size_t i = 0; i < balancer->listeners.count; i++)
		balancer->listeners.items[i] = (struct listener){
			.port = port_of(world),
			.protocol = (enum listener_protocol)world_pick(world, 5),
			.certificates = list_of(world, "c0"),
			.default_certificate = ID_OF(world, "c0", ""),
			.pool = ID_OF(world, "p0", "p1"),
			.source_ranges = list_of(world, "10.0.0.0/8"),
			.service = text(world, "default/db"),
			.idle_s = port_of(world),
			.responses = world_pick(world, 3),
			.one_way = world_pick(world, 2) == 1,
			.reads_proxy = world_pick(world, 4) == 3,
		};
}

/* A name of a header that can be one says nothing; every other one is as it was drawn. */
static struct str draw_client_header(struct world *world)
{
	struct str name = text(world, WORLD_CLIENT_HEADER);
	for (size_t i = 0; i < name.len; i++) {
		bool is_of_names = (name.p[i] >= 'a' && name.p[i] <= 'z') ||
				   (name.p[i] >= 'A' && name.p[i] <= 'Z') ||
				   (name.p[i] >= '0' && name.p[i] <= '9') || name.p[i] == '-';
		if (!is_of_names)
			return name;
	}
	return world_pick(world, 2) != 0 ? STR(WORLD_CLIENT_HEADER) : STR_NONE;
}

static struct forwarding *draw_forwarding(struct world *world)
{
	struct forwarding *forwarding = arena_calloc(&world->arena, 1, sizeof(*forwarding));
	unsigned flags = world_pick(world, WORLD_FRONTS);
	world_fill_forwarding(forwarding, flags);
	forwarding->trusted = list_of(world, "10.0.0.0/8");
	forwarding->client_header = draw_client_header(world);
	forwarding->https_port = world_pick(world, 3) * 443;
	return forwarding;
}

/* What load balancers of their own have. */
static void draw_wishes(struct world *world, struct load_balancer *balancer)
{
	for (size_t i = 0; i < balancer->owners.count; i++)
		balancer->owners.items[i] = draw_ref(world);
	for (size_t i = 0; i < balancer->labels.count; i++)
		balancer->labels.items[i] =
			(struct label){text(world, "io.rancher.x"), text(world, "y")};
	for (size_t i = 0; i < balancer->health_checks.count; i++)
		balancer->health_checks.items[i] = *draw_check(world);
}

static void draw_balancer(struct world *world)
{
	struct load_balancer balancer = {
		.key = {.kind = LB_LOAD_BALANCER, .id = ID_OF(world, "lb", "lb2")},
		.namespace = text(world, "default"),
		.name = text(world, "web"),
		.is_group = world_pick(world, 2) != 0,
		.class_name = text(world, "sluice"),
		.owners = {items(world, sizeof(struct object_ref)), world_pick(world, ITEMS_MAX)},
		.scale = wide(world),
		.listeners = {items(world, sizeof(struct listener)), world_pick(world, ITEMS_MAX)},
		.default_pool = ID_OF(world, "p0", ""),
		.stickiness = world_pick(world, 2) != 0 ? draw_stickiness(world) : NULL,
		.labels = {items(world, sizeof(struct label)), world_pick(world, ITEMS_MAX)},
		.health_checks = {items(world, sizeof(struct health_check)),
			world_pick(world, ITEMS_MAX)},
		.custom_config = text(world, ""),
		.absent = world_pick(world, 8) == 7,
		.keep = world_pick(world, 8) == 7,
	};
	draw_listeners(world, &balancer);
	draw_wishes(world, &balancer);
	balancer.forwarding = world_pick(world, 2) != 0 ? draw_forwarding(world) : NULL;
	(void)world_stage(world, &balancer);
}

static void draw_certificate(struct world *world)
{
	static const char chain[] =
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
	static const char key[] = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n";
	struct certificate certificate = {
		.key = {.kind = LB_CERTIFICATE, .id = ID_OF(world, "c0", "c1")},
		.namespace = text(world, "default"),
		.name = text(world, "web"),
		.chain = text(world, chain),
		.private_key = text(world, key),
		.names = list_of(world, "a.test"),
		.not_after = wide(world),
		.hosts = list_of(world, "a.test"),
	};
	(void)world_stage(world, &certificate);
}

bool world_draw(struct world *world)
{
	static void (*const draws[])(struct world *) = {
		draw_pool, draw_host, draw_balancer, draw_certificate, world_draw_policy};
	unsigned count = 1 + world_pick(world, OBJECTS_MAX);
	for (unsigned i = 0; i < count && world->rest.len != 0; i++)
		draws[world_pick(world, world->writer != NULL ? 5 : 4)](world);
	return world->rest.len != 0;
}
