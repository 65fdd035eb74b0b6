// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/certs.h"

#include "common/buf.h"
#include "fake_acm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../provider-common/stage.h"

static const double REMOVE_DELAY_S = 600;
static double clock_ahead_s;

/* Time passes when a test says so. */
[[gnu::visibility("default")]] int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	long result = syscall(SYS_clock_gettime, id, ret_time);
	ret_time->tv_sec += (time_t)clock_ahead_s;
	return (int)result;
}

struct fixture {
	struct ev_loop *loop;
	struct stage stage;
	struct call_queue *queue;
	struct certs *certs;
	struct settings settings;
	size_t changes;    /* calls of on_change() */
	size_t known;      /* calls of on_known() */
	struct buf pem[4]; /* a.crt, a.key, b.crt, b.key */
};

static void load(struct buf *buf, const char *name)
{
	char path[256];
	char block[4096];
	size_t len;
	snprintf(path, sizeof(path), "%s/%s", CERTS_DIR, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	buf_init(buf, 64 * 1024);
	while ((len = fread(block, 1, sizeof(block), file)) != 0)
		assert_int_equal(buf_append(buf, block, len), 0);
	fclose(file);
}

static void on_change(void *ctx, struct str id)
{
	struct fixture *f = ctx;
	f->changes++;
}

static void on_known(void *ctx)
{
	struct fixture *f = ctx;
	assert_true(certs_are_known(f->certs));
	f->known++;
}

/* What a process does when it starts. */
static void start(struct fixture *f)
{
	static const struct state_config state_config = {.want_touched = false};
	struct call_queue_config queue_config = {.loop = f->loop, .parallel_max = 4};
	for (size_t i = 0; i < CALL_CLASS_COUNT; i++)
		queue_config.rates[i] = (struct call_rate){.per_s = 1000, .burst = 1000};
	f->queue = call_queue_new(&queue_config);
	stage_init(&f->stage, &state_config);
	struct certs_config config = {
		.loop = f->loop,
		.client = NULL,
		.queue = f->queue,
		.state = f->stage.state,
		.settings = &f->settings,
		.remove_delay_s = REMOVE_DELAY_S,
		.on_change = on_change,
		.on_known = on_known,
		.ctx = f,
	};
	f->certs = certs_new(&config);
	acm.log[0] = '\0';
}

static void stop(struct fixture *f)
{
	certs_free(f->certs);
	call_queue_free(f->queue);
	stage_fini(&f->stage);
}

static int set_up(void **ret_fixture)
{
	static const char *const names[] = {"a.crt", "a.key", "b.crt", "b.key"};
	struct fixture *f = calloc(1, sizeof(*f));
	f->loop = ev_loop_new(EVFLAG_AUTO);
	f->settings.cluster = STR("demo");
	for (size_t i = 0; i < 4; i++)
		load(&f->pem[i], names[i]);
	start(f);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	stop(f);
	fake_reset();
	for (size_t i = 0; i < 4; i++)
		buf_fini(&f->pem[i]);
	ev_loop_destroy(f->loop);
	free(f);
	return 0;
}

/* Until nothing happens any more. */
static void run(struct fixture *f)
{
	for (int quiet = 0; quiet < 5; quiet++) {
		ev_run(f->loop, EVRUN_NOWAIT);
		while (fake_answer())
			quiet = 0;
	}
}

static void wait_s(struct fixture *f, double seconds)
{
	clock_ahead_s += seconds;
	run(f);
}

static void commit(struct fixture *f)
{
	struct state_commit told;
	state_commit(f->stage.state, &told);
	certs_on_commit(f->certs, &told);
	state_commit_done(f->stage.state);
	run(f);
}

/* `pem`: 0 is a, 2 is b. */
static void stage_certificate(struct fixture *f, const char *id, size_t pem)
{
	struct cert_info info;
	struct arena arena;
	struct certificate certificate = make_certificate(id, "");
	arena_init(&arena);
	certificate.namespace = STR("shop");
	certificate.chain = buf_str(&f->pem[pem]);
	certificate.private_key = buf_str(&f->pem[pem + 1]);
	assert_null(cert_check(certificate.chain, certificate.private_key, &arena, &info));
	certificate.not_after = (uint64_t)info.not_after;
	stage_upsert(&f->stage, &certificate);
	arena_fini(&arena);
}

static void stage_balancer(struct fixture *f, const char *id, const char *certificate)
{
	struct listener https = {.port = 443,
		.protocol = LISTENER_HTTPS,
		.certificates = {.items = (struct str[]){str_from(certificate)}, .count = 1}};
	struct load_balancer lb = make_load_balancer(id, id);
	lb.listeners.items = &https;
	lb.listeners.count = 1;
	stage_upsert(&f->stage, &lb);
}

/* What discovery does: everything with our cluster's tag. */
static void list(struct fixture *f)
{
	for (size_t i = 0; i < acm.count; i++) {
		const struct fake_certificate *there = &acm.all[i];
		if (there->cluster != NULL && strcmp(there->cluster, "demo") == 0)
			certs_take_row(f->certs, str_from(there->arn), str_from(there->identity),
				str_from(there->applied));
	}
	certs_listed(f->certs);
	run(f);
}

/* A snapshot with one load balancer that uses certificate c. */
static void begin(struct fixture *f, size_t pem)
{
	list(f);
	state_begin_snapshot(f->stage.state);
	stage_certificate(f, "c", pem);
	stage_balancer(f, "lb", "c");
	commit(f);
}

/* The process ends, and starts again. */
static void restart(struct fixture *f)
{
	stop(f);
	start(f);
}

static void assert_arn(struct fixture *f, unsigned number)
{
	char want[100] = "";
	bool is_refused = true;
	struct str arn = certs_arn(f->certs, STR("c"), &is_refused);
	assert_false(is_refused);
	if (number != 0)
		snprintf(want, sizeof(want), "arn:aws:acm:us-east-1:123456789012:certificate/%u",
			number);
	assert_true(str_eq_c(arn, want));
}

static void assert_log(const char *want)
{
	assert_string_equal(acm.log, want);
	acm.log[0] = '\0';
}

static void imports_what_a_load_balancer_uses(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	stage_certificate(f, "c", 0);
	stage_certificate(f, "unused", 2);
	commit(f);
	assert_log("");
	assert_arn(f, 0);
	list(f);
	assert_log("ListCertificates 0\n");
	stage_balancer(f, "lb", "c");
	commit(f);
	assert_log("ImportCertificate 0\n");
	assert_arn(f, 1);
	assert_null(certs_problem(f->certs, STR("c")));
	assert_int_equal(f->changes, 1);
	assert_string_equal(acm.all[0].cluster, "demo");
	bool is_refused = false;
	assert_null(certs_arn(f->certs, STR("none"), &is_refused).p);
	assert_true(is_refused);
	list(f);
	assert_log("ListCertificates 0\n");
}

static void finds_what_it_has_imported(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	restart(f);
	begin(f, 0);
	assert_log("ListCertificates 0\n");
	assert_arn(f, 1);
}

static void finds_what_the_tagging_api_does_not_tell_yet(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	restart(f);
	certs_listed(f->certs);
	run(f);
	state_begin_snapshot(f->stage.state);
	stage_certificate(f, "c", 0);
	stage_balancer(f, "lb", "c");
	commit(f);
	assert_log("ListCertificates 0\nListTagsForCertificate 1\n");
	assert_arn(f, 1);
}

static void renews_in_place(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	acm.log[0] = '\0';
	stage_certificate(f, "c", 2);
	commit(f);
	assert_log("ImportCertificate 1\nAddTagsToCertificate 1\n");
	assert_arn(f, 1);
	restart(f);
	begin(f, 2);
	assert_log("ListCertificates 0\n");
}

static void compares_what_has_a_late_tag(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	stage_certificate(f, "c", 2);
	acm.fault = (struct fake_fault){"AddTagsToCertificate", AWS_FAILED, true, false};
	commit(f);
	restart(f);
	begin(f, 2);
	assert_log("ListCertificates 0\nDescribeCertificate 1\nAddTagsToCertificate 1\n");
	restart(f);
	begin(f, 0);
	assert_log("ListCertificates 0\nDescribeCertificate 1\nImportCertificate 1\n"
		   "AddTagsToCertificate 1\n");
	assert_arn(f, 1);
}

static void imports_anew_what_cannot_be_replaced(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	acm.log[0] = '\0';
	acm.all[0].is_used = true;
	size_t changes = f->changes;
	stage_certificate(f, "c", 2);
	acm.fault = (struct fake_fault){"ImportCertificate", AWS_REFUSED, false, false};
	commit(f);
	assert_log("ImportCertificate 1\nImportCertificate 0\nDeleteCertificate 1\n");
	assert_arn(f, 2);
	assert_int_equal(f->changes, changes + 1);
	acm.all[0].is_used = false;
	wait_s(f, 10);
	assert_log("DeleteCertificate 1\n");
	assert_arn(f, 2);
	assert_null(certs_problem(f->certs, STR("c")));
}

static void looks_for_an_import_without_an_answer(void **fixture)
{
	struct fixture *f = *fixture;
	struct fake_certificate *other = fake_add();
	fake_set_content(other, buf_str(&f->pem[0]));
	acm.fault = (struct fake_fault){"ImportCertificate", AWS_FAILED, true, true};
	begin(f, 0);
	assert_log("ListCertificates 0\nListTagsForCertificate 1\nImportCertificate 0\n");
	assert_arn(f, 0);
	assert_non_null(certs_problem(f->certs, STR("c")));
	wait_s(f, 10);
	assert_log("ListCertificates 0\nListTagsForCertificate 2\n");
	assert_arn(f, 2);
	assert_null(certs_problem(f->certs, STR("c")));
}

static void repeats_an_import_that_did_not_arrive(void **fixture)
{
	struct fixture *f = *fixture;
	acm.fault = (struct fake_fault){"ImportCertificate", AWS_FAILED, true, false};
	begin(f, 0);
	wait_s(f, 10);
	assert_log("ListCertificates 0\nImportCertificate 0\nListCertificates 0\n"
		   "ImportCertificate 0\n");
	assert_arn(f, 1);
}

static void compares_after_a_renewal_without_an_answer(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	acm.log[0] = '\0';
	acm.fault = (struct fake_fault){"ImportCertificate", AWS_FAILED, true, true};
	stage_certificate(f, "c", 2);
	commit(f);
	wait_s(f, 10);
	assert_log("ImportCertificate 1\nDescribeCertificate 1\nAddTagsToCertificate 1\n");
}

static void removes_what_nothing_uses_for_long(void **fixture)
{
	struct fixture *f = *fixture;
	struct fake_certificate *other = fake_add();
	fake_set_content(other, buf_str(&f->pem[2]));
	begin(f, 0);
	acm.log[0] = '\0';
	stage_remove(&f->stage, LB_LOAD_BALANCER, "lb");
	commit(f);
	wait_s(f, REMOVE_DELAY_S / 2);
	stage_balancer(f, "lb", "c");
	commit(f);
	stage_remove(&f->stage, LB_LOAD_BALANCER, "lb");
	stage_remove(&f->stage, LB_CERTIFICATE, "c");
	commit(f);
	wait_s(f, REMOVE_DELAY_S - 10);
	assert_log("");
	wait_s(f, 20);
	assert_log("DeleteCertificate 2\n");
	assert_string_not_equal(other->arn, "");
}

static void removes_nothing_before_a_snapshot(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	restart(f);
	list(f);
	wait_s(f, REMOVE_DELAY_S * 10);
	assert_log("ListCertificates 0\n");
	state_begin_snapshot(f->stage.state);
	commit(f);
	wait_s(f, REMOVE_DELAY_S - 10);
	assert_log("");
	wait_s(f, 20);
	assert_log("DeleteCertificate 1\n");
	list(f);
	assert_log("ListCertificates 0\n");
}

static void leaves_the_default_certificate_alone(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	restart(f);
	f->settings.default_certificate = str_from(acm.all[0].arn);
	list(f);
	state_begin_snapshot(f->stage.state);
	commit(f);
	wait_s(f, REMOVE_DELAY_S * 2);
	assert_log("ListCertificates 0\n");
}

static void tells_what_is_refused(void **fixture)
{
	struct fixture *f = *fixture;
	bool is_refused = false;
	acm.fault = (struct fake_fault){"ImportCertificate", AWS_QUOTA, false, false};
	begin(f, 0);
	assert_null(certs_arn(f->certs, STR("c"), &is_refused).p);
	assert_true(is_refused);
	assert_string_equal(certs_problem(f->certs, STR("c")), "ACM says no");
	assert_int_equal(f->changes, 1);
	wait_s(f, 100);
	assert_log("ListCertificates 0\nImportCertificate 0\n");
	stage_certificate(f, "c", 2);
	commit(f);
	assert_log("ImportCertificate 0\n");
	assert_arn(f, 1);
	assert_null(certs_problem(f->certs, STR("c")));
}

static void imports_again_what_somebody_has_removed(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	wait_s(f, 100);
	struct fake_certificate gone = acm.all[0];
	certs_take_row(
		f->certs, str_from(gone.arn), str_from(gone.identity), str_from(gone.applied));
	fake_clear(&acm.all[0]);
	acm.log[0] = '\0';
	certs_listed(f->certs);
	run(f);
	assert_log("ListCertificates 0\nDescribeCertificate 1\nImportCertificate 0\n");
	assert_arn(f, 2);
}

static void puts_back_what_somebody_has_replaced(void **fixture)
{
	struct fixture *f = *fixture;
	begin(f, 0);
	list(f);
	fake_set_content(&acm.all[0], buf_str(&f->pem[2]));
	acm.all[0].not_after++;
	acm.log[0] = '\0';
	list(f);
	assert_log("ListCertificates 0\nDescribeCertificate 1\nImportCertificate 1\n");
	list(f);
	assert_log("ListCertificates 0\n");
	assert_arn(f, 1);
}

static void waits_for_a_list_after_another_replica(void **fixture)
{
	struct fixture *f = *fixture;
	list(f);
	assert_int_equal(f->known, 1);
	certs_take_over(f->certs);
	state_begin_snapshot(f->stage.state);
	stage_certificate(f, "c", 0);
	stage_balancer(f, "lb", "c");
	commit(f);
	assert_log("ListCertificates 0\n");
	list(f);
	assert_log("ListCertificates 0\nImportCertificate 0\n");
	assert_int_equal(f->known, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(imports_what_a_load_balancer_uses),
		TEST(finds_what_it_has_imported),
		TEST(finds_what_the_tagging_api_does_not_tell_yet),
		TEST(renews_in_place),
		TEST(compares_what_has_a_late_tag),
		TEST(imports_anew_what_cannot_be_replaced),
		TEST(looks_for_an_import_without_an_answer),
		TEST(repeats_an_import_that_did_not_arrive),
		TEST(compares_after_a_renewal_without_an_answer),
		TEST(removes_what_nothing_uses_for_long),
		TEST(removes_nothing_before_a_snapshot),
		TEST(leaves_the_default_certificate_alone),
		TEST(tells_what_is_refused),
		TEST(imports_again_what_somebody_has_removed),
		TEST(puts_back_what_somebody_has_replaced),
		TEST(waits_for_a_list_after_another_replica),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
