// SPDX-License-Identifier: Apache-2.0
#include "render_world.h"

#include "common/must.h"
#include "tests/unit/authority.h"

const char world_authority[] = AUTHORITY_PEM;
const char world_authority_key[] = AUTHORITY_KEY_PEM;

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
		.service = {.namespace = which == 1 ? STR("") : STR("default"), .name = STR("web")},
		.protocol = (enum pool_protocol)(which % 4),
		.algorithm = (enum pool_algorithm)(which / 4 % 3),
		.endpoints = {endpoints, which == 100 ? 0 : 3},
		.stickiness = sticky,
		.health_check = check,
		.tls = tls,
	};
	must(world_stage(world, &pool));
}

void world_fill_terms(struct pool_tls *tls, unsigned which)
{
	static struct str cipher = STR("AES128-SHA");
	tls->nameless = which == 1 || which == 2;
	tls->min_version = which >= 2 ? (which == 4 ? 13 : 12) : 0;
	tls->max_version = which >= 2 ? 13 : 0;
	if (which == 3)
		tls->ciphers = (struct str_list){&cipher, 1};
	tls->max_depth = which == 3 ? 1 : 0;
}

/* Every way to speak TLS, with what can stand before it in the line of a server. */
static void fill_tls_pools(struct world *world)
{
	static const char *const ids[WORLD_TERMS] = {"tls", "tls-n", "tls-v", "tls-c", "tls-o"};
	for (unsigned k = 0; k < 4 * 4 * 2 * 2 * 3 * WORLD_TERMS; k++) {
		unsigned i = k / WORLD_TERMS;
		unsigned how = i / 4 % 4;
		bool has_client = i / 32 % 2 != 0;
		struct health_check check = {
			.type = i / 64 == 2 ? HEALTH_CHECK_HTTP : HEALTH_CHECK_TCP,
			.port = i / 64 == 2 ? 80 : 0,
		};
		struct pool_tls tls = {
			.verify = (enum tls_verify)(how < 3 ? how : TLS_VERIFY_OFF),
			.ca = str_from(world_authority),
			.server_name = how < 3 ? STR("a.test") : STR(""),
			.http2 = i / 16 % 2 != 0,
			.client_chain = str_from(has_client ? world_authority : ""),
			.client_key = str_from(has_client ? world_authority_key : ""),
		};
		world_fill_terms(&tls, k % WORLD_TERMS);
		fill_pool(world, ids[k % WORLD_TERMS], i, NULL, i / 64 != 0 ? &check : NULL, &tls);
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
	must(world_stage(world, &host));
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
		{.port = 5353, .protocol = LISTENER_UDP, .pool = STR("p3"), .responses = 1},
		{.port = 5354, .protocol = LISTENER_UDP, .source_ranges = {ranges, 2}},
	};
	struct load_balancer balancers[] = {
		{.key = {.kind = LB_LOAD_BALANCER, .id = STR("lb")}, .listeners = {first, 4}},
		{.key = {.kind = LB_LOAD_BALANCER, .id = STR("lb2")}, .listeners = {second, 5}},
	};
	must(world_stage(world, &balancers[0]));
	must(world_stage(world, &balancers[1]));
}

void world_fill_forwarding(struct forwarding *forwarding, unsigned which)
{
	forwarding->believes_scheme = (which & 1) != 0;
	forwarding->believes_port = (which & 2) != 0;
	forwarding->believes_host = (which & 4) != 0;
	forwarding->appends = (which & 8) != 0;
	forwarding->keeps_claims = (which & 16) != 0;
	forwarding->request_id = (which & 32) != 0;
}

/* With each header, with and without the PROXY protocol, and with hosts whose TLS is passed through and without them. */
static void fill_fronts_of(struct world *world, unsigned which, unsigned more)
{
	static struct str trusted[] = {STR("10.0.0.0/8")};
	bool reads_proxy = (more & 1) != 0;
	uint16_t port = (uint16_t)(20000 + 2 * (which * 8 + more));
	struct forwarding forwarding = {.trusted = {trusted, 1}, .https_port = 443};
	struct listener listeners[] = {
		{.port = port, .protocol = LISTENER_HTTP, .reads_proxy = reads_proxy},
		{.port = port + 1, .protocol = LISTENER_HTTPS, .reads_proxy = reads_proxy},
	};
	char name[32];
	(void)snprintf(name, sizeof(name), "lb-%u-%u", which, more);
	struct str id = arena_str(&world->arena, str_from(name));
	struct load_balancer balancer = {.key = {.kind = LB_LOAD_BALANCER, .id = id},
		.forwarding = &forwarding,
		.listeners = {listeners, 2}};
	/* Ids of requests are lines of their own; there are no more ports for all of it. */
	world_fill_forwarding(&forwarding, reads_proxy ? which : which + WORLD_FRONTS / 2);
	if ((more & 2) != 0)
		forwarding.client_header = STR(WORLD_CLIENT_HEADER);
	must(world_stage(world, &balancer));
	if ((more & 4) != 0)
		fill_host(world, id.p, "b.test", "p3");
}

/* What is no HTTP, behind a proxy that speaks the PROXY protocol. */
static void fill_fronts_of_connections(struct world *world)
{
	static struct str trusted[] = {STR("10.0.0.0/8")};
	struct forwarding forwarding = {.trusted = {trusted, 1}};
	for (unsigned i = 0; i < 2; i++) {
		uint16_t port = (uint16_t)(30000 + 10 * i);
		struct listener listeners[] = {
			{.port = port,
				.protocol = LISTENER_TCP,
				.pool = STR("p3"),
				.reads_proxy = true},
			{.port = port + 1,
				.protocol = LISTENER_TLS_PASSTHROUGH,
				.reads_proxy = true},
			{.port = port + 2,
				.protocol = LISTENER_UDP,
				.pool = STR("p3"),
				.reads_proxy = true},
			{.port = port + 3, .protocol = LISTENER_HTTP, .reads_proxy = true},
			{.port = port + 4, .protocol = LISTENER_HTTPS, .reads_proxy = true},
		};
		struct load_balancer balancer = {
			.key = {.kind = LB_LOAD_BALANCER, .id = i == 0 ? STR("lb-a") : STR("lb-b")},
			.forwarding = i == 0 ? &forwarding : NULL,
			.listeners = {listeners, 5}};
		must(world_stage(world, &balancer));
		fill_host(world, i == 0 ? "lb-a" : "lb-b", "b.test", "p3");
	}
}

void world_fill_plain(struct world *world)
{
	static const struct str words[] = {STR("A"), STR("/a"), STR("a.test"), STR("*.a.test"),
		STR("b.test"), STR("*.b.test"), STR("c.test"), STR("d.test")};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		world_keep(world, words[i]);
	fill_pools(world);
	fill_balancers(world);
	fill_fronts_of_connections(world);
	for (unsigned which = 0; which < WORLD_FRONTS / 2; which++) {
		for (unsigned more = 0; more < 8; more++)
			fill_fronts_of(world, which, more);
	}
	fill_host(world, "lb", "a.test", NULL);
	fill_host(world, "lb2", "*.a.test", NULL);
	fill_host(world, "lb", "b.test", "p3");
	fill_host(world, "lb", "*.b.test", "p100");
	/* To pools of each algorithm. */
	fill_host(world, "lb", "c.test", "p7");
	fill_host(world, "lb", "d.test", "p11");
}
