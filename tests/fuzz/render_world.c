// SPDX-License-Identifier: Apache-2.0
#include "render_world.h"

#include "common/log.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "provider-local/ports.h"

#include <search.h>
#include <stdlib.h>

enum { OBJECTS_MAX = 12, ITEMS_MAX = 4, PORT_COUNT = 8 };

/* Self-signed, for tests alone. */
static const char authority[] = "-----BEGIN CERTIFICATE-----\n"
				"MIIBTzCB9qADAgECAhR+9jIaBM/XoCmNaq76QKi0DBXnTTAKBggqhkjOPQQDAjAY\n"
				"MRYwFAYDVQQDDA1hLmV4YW1wbGUuY29tMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAw\n"
				"MTAxMDAwMDAwWjAYMRYwFAYDVQQDDA1hLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0C\n"
				"AQYIKoZIzj0DAQcDQgAERWAMcCp7/fR2NbmFghzGOQW5Y/5LMfyN1n3Xc4a7hrJX\n"
				"l651idWzSoW5UUUmTqjueRh+7pUdR8U+iVDByvTQa6McMBowGAYDVR0RBBEwD4IN\n"
				"YS5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNIADBFAiA9/UMUleju7K1JJxqQUsSs\n"
				"xUTnC/NfoDnR6XkFrKsjUQIhAJGmN43nWkvWl1OyHNy4cs2ToeI1chhdBv0vsC1b\n"
				"exWQ\n"
				"-----END CERTIFICATE-----\n";
static const char authority_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGtx0Z1IuaDMxzU3C\n"
	"h8g54qRxfoB+wkRhhhurPgzQOs6hRANCAARFYAxwKnv99HY1uYWCHMY5Bblj/ksx\n"
	"/I3WfddzhruGsleXrnWJ1bNKhblRRSZOqO55GH7ulR1HxT6JUMHK9NBr\n"
	"-----END PRIVATE KEY-----\n";

static const uint16_t ports[PORT_COUNT] = {80, 443, 5432, 6379, 8443, 9000, 9443, 10000};

/* ---- in place of provider-local/local.c ---- */

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

struct ports *world_ports(void)
{
	struct port items[PORT_COUNT] = {0};
	for (size_t i = 0; i < PORT_COUNT; i++)
		items[i].port = ports[i];
	return ports_copy(&(struct ports){items, PORT_COUNT});
}

/* ---- in place of provider-local/externals.c: every name has been looked up ---- */

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

static struct str keep(struct world *world, struct str text)
{
	struct str *place = arena_push(
		&world->arena, (void **)&world->texts, &world->text_count, sizeof(*place));
	*place = text;
	return text;
}

void world_init(struct world *world, const uint8_t *data, size_t len)
{
	static const struct state_config config = {0};
	log_set_sink(ignore_line, NULL);
	*world = (struct world){
		.state = state_new(&config),
		.rows = rows_new(),
		.notices = notices_new(NULL, NULL),
		.reader = message_reader_new(),
		.rest = {(const char *)data, len},
	};
	world->routes = routes_new(world->rows, world->notices);
	arena_init(&world->arena);
	buf_init(&world->frame, FRAME_LEN_MAX);
	/* What stands for a cookie and a path that nobody has named. */
	keep(world, STR("SLUICE"));
	keep(world, STR("/"));
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

/* What breaks a limit of the protocol never reaches a provider. */
static bool stage(struct world *world, const void *object)
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
		return keep(world, plain);
	if (how == 7) {
		size_t len = 64u * world_pick(world, 256);
		char *much = arena_alloc(&world->arena, len + plain.len + 1);
		memcpy(much, plain.p, plain.len);
		memset(much + plain.len, "a/\"\\x.$"[world_pick(world, 7)], len);
		return keep(world, (struct str){much, plain.len + len});
	}
	struct str other = wild(world);
	if (how == 3)
		return keep(world, other);
	size_t at = how == 4 ? plain.len : world_pick(world, (unsigned)plain.len + 1);
	char *both = arena_alloc(&world->arena, plain.len + other.len + 1);
	memcpy(both, plain.p, at);
	memcpy(both + at, other.p, other.len);
	memcpy(both + at + other.len, plain.p + at, plain.len - at);
	return keep(world, (struct str){both, plain.len + other.len});
}

static struct str one_of(struct world *world, const char *const *words, unsigned count)
{
	return text(world, words[world_pick(world, count)]);
}

/* Mostly one of the words, so that objects find each other. */
static struct str id_of(struct world *world, const char *const *words, unsigned count)
{
	unsigned which = world_pick(world, 4 * count + 1);
	return which < 4 * count ? keep(world, str_from(words[which / 4])) : text(world, words[0]);
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

static struct pool_tls *draw_tls(struct world *world)
{
	struct pool_tls *tls = arena_alloc(&world->arena, sizeof(*tls));
	bool has_client = world_pick(world, 2) != 0;
	*tls = (struct pool_tls){
		.http2 = world_pick(world, 2) != 0,
		.verify = (enum tls_verify)world_pick(world, 3),
		.ca = text(world, authority),
		.server_name = ONE_OF(world, "web.default.svc", "a.test", ""),
		.client_chain = text(world, has_client ? authority : ""),
		.client_key = text(world, has_client ? authority_key : ""),
	};
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
	(void)stage(world, &pool);
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
	(void)stage(world, &host);
}

static void draw_listeners(struct world *world, struct load_balancer *balancer)
{
	for (size_t i = 0; i < balancer->listeners.count; i++)
		balancer->listeners.items[i] = (struct listener){
			.port = port_of(world),
			.protocol = (enum listener_protocol)world_pick(world, 4),
			.certificates = list_of(world, "c0"),
			.default_certificate = ID_OF(world, "c0", ""),
			.pool = ID_OF(world, "p0", "p1"),
			.source_ranges = list_of(world, "10.0.0.0/8"),
			.service = text(world, "default/db"),
		};
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
	(void)stage(world, &balancer);
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
	(void)stage(world, &certificate);
}

bool world_draw(struct world *world)
{
	static void (*const draws[])(struct world *) = {
		draw_pool, draw_host, draw_balancer, draw_certificate};
	unsigned count = 1 + world_pick(world, OBJECTS_MAX);
	for (unsigned i = 0; i < count && world->rest.len != 0; i++)
		draws[world_pick(world, 4)](world);
	return world->rest.len != 0;
}

/* ---- everything, harmless ---- */

static void fill_pool(struct world *world, const char *id, unsigned which,
	struct stickiness *sticky, struct health_check *check, struct pool_tls *tls)
{
	struct pool_endpoint endpoints[] = {
		{.ip = STR("10.0.0.1"), .port = 80, .active = true},
		{.ip = STR("fd00::1"), .port = 80, .active = true},
		{.ip = STR("fd00::2"), .port = 80},
	};
	struct pool pool = {
		.key = {.kind = LB_POOL, .id = arena_printf(&world->arena, "%s%u", id, which)},
		.protocol = (enum pool_protocol)(which % 4),
		.algorithm = (enum pool_algorithm)(which / 4 % 3),
		.endpoints = {endpoints, which == 100 ? 0 : 3},
		.stickiness = sticky,
		.health_check = check,
		.tls = tls,
	};
	must(stage(world, &pool));
}

/* Every way to speak TLS, with what can stand before it in the line of a server. */
static void fill_tls_pools(struct world *world)
{
	for (unsigned i = 0; i < 4 * 4 * 2 * 2 * 3; i++) {
		unsigned how = i / 4 % 4;
		bool has_client = i / 32 % 2 != 0;
		struct health_check check = {.port = i / 64 == 2 ? 80 : 0};
		struct pool_tls tls = {
			.verify = (enum tls_verify)(how < 3 ? how : TLS_VERIFY_OFF),
			.ca = str_from(authority),
			.server_name = how < 3 ? STR("a.test") : STR(""),
			.http2 = i / 16 % 2 != 0,
			.client_chain = str_from(has_client ? authority : ""),
			.client_key = str_from(has_client ? authority_key : ""),
		};
		fill_pool(world, "tls", i, NULL, i / 64 != 0 ? &check : NULL, &tls);
	}
}

static void fill_pools(struct world *world)
{
	for (unsigned i = 0; i < 12; i++)
		fill_pool(world, "p", i, NULL, NULL, NULL);
	fill_pool(world, "p", 100, NULL, NULL, NULL);
	fill_tls_pools(world);
	/* With stickiness in HTTP and in HTTPS, and with its domain or without. */
	for (unsigned i = 0; i < 48; i++) {
		struct stickiness sticky = {
			.cookie = STR("A"),
			.domain = i % 2 != 0 ? STR("a.test") : STR(""),
			.mode = (enum stickiness_mode)(i / 2 % 3),
			.nocache = i / 6 % 2 != 0,
			.postonly = i / 12 % 2 != 0,
			.indirect = i / 24 != 0,
		};
		fill_pool(world, "sticky", i * 4, &sticky, NULL, NULL);
	}
	for (unsigned i = 0; i < 16; i++) {
		struct health_check check = {
			.type = (enum health_check_type)(i / 4 % 2),
			.path = STR("/a"),
			.port = i / 8 != 0 ? 80 : 0,
		};
		fill_pool(world, "check", i, NULL, &check, NULL);
	}
}

/* Passed through to the pool `passed` if there is one. */
static void fill_host(
	struct world *world, const char *balancer, const char *name, const char *passed)
{
	bool is_passed = passed != NULL;
	struct path_rule rules[] = {
		{.path = STR("/a"), .pool = STR("p0"), .tls_only = true},
		{.path = STR("/"),
			.match = PATH_PREFIX,
			.pool = is_passed ? str_from(passed) : STR("p1")},
	};
	struct str id = arena_printf(&world->arena, "%s/%s/%d", balancer, name, is_passed);
	struct virtual_host host = {
		.key = {.kind = LB_VIRTUAL_HOST, .id = id},
		.load_balancer = str_from(balancer),
		.host = str_from(name),
		.match = *name == '*' ? HOST_WILDCARD : HOST_EXACT,
		.rules = {rules + is_passed, 2 - is_passed},
		.passthrough = is_passed,
	};
	must(stage(world, &host));
}

/* The first balancer passes some hosts through, the second opens all. */
static void fill_balancers(struct world *world)
{
	static struct str ranges[] = {STR("10.0.0.0/8"), STR("fd00::/8")};
	static struct str wrong[] = {STR("everybody")};
	struct listener first[] = {
		{.port = 80, .protocol = LISTENER_HTTP},
		{.port = 443, .protocol = LISTENER_HTTPS, .source_ranges = {ranges, 2}},
		{.port = 5432, .protocol = LISTENER_TCP, .pool = STR("p3")},
		{.port = 6379, .protocol = LISTENER_TCP, .source_ranges = {wrong, 1}},
	};
	struct listener second[] = {
		{.port = 8443,
			.protocol = LISTENER_HTTPS,
			.default_certificate = STR("c0"),
			.source_ranges = {wrong, 1}},
		{.port = 9000, .protocol = LISTENER_TCP, .pool = STR("p100")},
		{.port = 9443, .protocol = LISTENER_TLS_PASSTHROUGH, .source_ranges = {ranges, 2}},
	};
	struct load_balancer balancers[] = {
		{.key = {.kind = LB_LOAD_BALANCER, .id = STR("lb")}, .listeners = {first, 4}},
		{.key = {.kind = LB_LOAD_BALANCER, .id = STR("lb2")}, .listeners = {second, 3}},
	};
	must(stage(world, &balancers[0]));
	must(stage(world, &balancers[1]));
}

void world_fill_plain(struct world *world)
{
	static const struct str words[] = {STR("A"), STR("/a"), STR("a.test"), STR("*.a.test"),
		STR("b.test"), STR("*.b.test"), STR("c.test"), STR("d.test")};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		keep(world, words[i]);
	fill_pools(world);
	fill_balancers(world);
	fill_host(world, "lb", "a.test", NULL);
	fill_host(world, "lb2", "*.a.test", NULL);
	fill_host(world, "lb", "b.test", "p3");
	fill_host(world, "lb", "*.b.test", "p100");
	/* To pools of each algorithm. */
	fill_host(world, "lb", "c.test", "p7");
	fill_host(world, "lb", "d.test", "p11");
}

/* ---- forms ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

void forms_check(struct forms *forms, struct str form)
{
	char *text = str_dup(form);
	bool is_whole = strlen(text) == form.len;
	must(is_whole);
	if (forms->is_learning) {
		char **place = tsearch(text, &forms->tree, compare_texts);
		if (*place != text)
			free(text);
		return;
	}
	bool is_known = tfind(text, &forms->tree, compare_texts) != NULL;
	if (!is_known)
		fprintf(stderr, "none of our forms: %s\n", text);
	free(text);
	must(is_known);
}

static bool is_address(struct str word)
{
	struct check_ip ip;
	struct check_cidr range;
	int64_t port;
	const char *end = word.len != 0 ? memrchr(word.p, ':', word.len) : NULL;
	if (check_cidr(word, &range))
		return true;
	if (end == NULL)
		return false;
	struct str host = {word.p, (size_t)(end - word.p)};
	if (!str_to_int(str_skip(word, host.len + 1), 1, 65535, &port))
		return false;
	if (host.len < 2 || host.p[0] != '[' || host.p[host.len - 1] != ']')
		return memchr(host.p, ':', host.len) == NULL && check_ip(host, &ip);
	return check_ip((struct str){host.p + 1, host.len - 2}, &ip);
}

static size_t name_at(struct str word, size_t at)
{
	static const char letters[] = {NAME_LOAD_BALANCER, NAME_HOST, NAME_POOL, NAME_CERTIFICATE,
		NAME_AUTHORITY, NAME_CLIENT, 0};
	struct str name = {word.p + at, NAME_LEN};
	if (word.len - at < NAME_LEN || strchr(letters, word.p[at]) == NULL)
		return 0;
	return name_is_one(word.p[at], name) ? NAME_LEN : 0;
}

static size_t digits_at(struct str word, size_t at)
{
	size_t len = 0;
	while (at + len < word.len && word.p[at + len] >= '0' && word.p[at + len] <= '9')
		len++;
	return len;
}

void forms_word(struct buf *form, struct str word)
{
	if (is_address(word))
		word = STR("<address>");
	for (size_t i = 0; i < word.len;) {
		size_t name = word.p[i] != 0 ? name_at(word, i) : 0;
		size_t digits = digits_at(word, i);
		char c = name != 0 ? '@' : digits != 0 ? '0' : word.p[i];
		must(buf_append(form, &c, 1) == 0);
		i += name + digits == 0 ? 1 : name != 0 ? name : digits;
	}
	must(buf_append(form, " ", 1) == 0);
}

void forms_check_pem(struct str content)
{
	must(str_starts_with(content, STR("-----BEGIN ")));
	must(str_ends_with(content, STR("\n")));
	must(memmem(content.p, content.len, "\n\n", 2) == NULL);
	for (size_t i = 0; i < content.len; i++)
		must(content.p[i] == '\n' || (content.p[i] >= ' ' && content.p[i] < 0x7f));
}

/* ---- rows ---- */

static bool take(struct str *text, struct str prefix)
{
	if (!str_starts_with(*text, prefix))
		return false;
	*text = str_skip(*text, prefix.len);
	return true;
}

static bool take_name(struct str *text, char letter)
{
	if (text->len < NAME_LEN || !name_is_one(letter, (struct str){text->p, NAME_LEN}))
		return false;
	*text = str_skip(*text, NAME_LEN);
	return true;
}

static bool is_host_key(struct str key)
{
	return take_name(&key, NAME_LOAD_BALANCER) && take(&key, STR(":")) &&
	       (check_host(key) || check_wildcard(key) || str_eq_c(key, "*"));
}

static bool is_tcp_key(struct str key)
{
	int64_t port;
	return take_name(&key, NAME_LOAD_BALANCER) && take(&key, STR(":")) &&
	       str_to_int(key, 1, 65535, &port);
}

/* As the table in provider-local/routes.h has them. */
static char value_of_key(enum row_table table, struct str key)
{
	if (take_name(&key, NAME_HOST)) {
		/* A prefix ends in a slash that its path need not have had. */
		bool is_prefix = table == ROW_PREFIX && str_ends_with(key, STR("/"));
		key.len -= is_prefix && key.len > 1;
		return check_path(key) ? NAME_POOL : 0;
	}
	if (table == ROW_PREFIX)
		return 0;
	if (take(&key, STR("host:")))
		return is_host_key(key) ? NAME_HOST : 0;
	if (take(&key, STR("sni:")))
		return is_host_key(key) ? NAME_POOL : 0;
	if (take(&key, STR("tcp:")))
		return is_tcp_key(key) ? NAME_POOL : 0;
	if (take(&key, STR("default:")))
		return name_is_one(NAME_LOAD_BALANCER, key) ? NAME_POOL : 0;
	if (take(&key, STR("plain:")))
		return name_is_one(NAME_HOST, key) ? NAME_HOST : 0;
	return 0;
}

static void check_row(const struct row *row, bool has_slots)
{
	struct str key = row_key(row);
	struct str value = row_wanted(row);
	for (size_t i = 0; i < key.len; i++)
		must(key.p[i] > ' ' && key.p[i] < 0x7f);
	if (value.p == NULL)
		return;
	if (has_slots && take(&key, STR("pool:"))) {
		must(name_is_one(NAME_POOL, key) && value.len == 7 && value.p[0] == 's' &&
			digits_at(value, 1) == 6);
		return;
	}
	char letter = value_of_key(row_table(row), key);
	must(letter != 0 && name_is_one(letter, value));
}

void forms_check_rows(struct world *world, bool has_slots)
{
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row = rows_first(world->rows, (enum row_table)table);
		for (; row != NULL; row = rows_next(row))
			check_row(row, has_slots);
	}
}
