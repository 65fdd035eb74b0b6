// SPDX-License-Identifier: Apache-2.0
/* What the tests of answers share: one balancer and two target groups of the object shop/web, and XML from text. */
#pragma once

#include "provider-elb/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define XN "xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\""
#define RM "<ResponseMetadata><RequestId>a1b2</RequestId></ResponseMetadata>"
#define LB "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/sl-web/50dc"
#define LS "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/sl-web/50dc/f2f7"
#define RULE                                                                                      \
	"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/sl-web/50dc/f2f7/" \
	"9683"
#define TG   "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/sl-pool/73e2"
#define TG2  "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/sl-next/73e3"
#define CERT "arn:aws:acm:us-east-1:123456789012:certificate/a3e6"

#define ANSWER(action, result)                                                                    \
	"<?xml version=\"1.0\"?><" action "Response " XN "><" action "Result>" result "</" action \
	"Result>" RM "</" action "Response>"

struct fixture {
	struct arena arena;
	struct observed *observed;
	struct observed_balancer *balancer;
	struct observed_group *group;
	struct observed_group *next;
};

static inline int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	arena_init(&f->arena);
	f->observed = observed_new();
	f->balancer = observed_add_balancer(f->observed, STR(LB), STR("shop/web"));
	f->group = observed_add_group(f->observed, STR(TG), STR("shop/web"));
	f->next = observed_add_group(f->observed, STR(TG2), STR("shop/web"));
	observed_set_balancer_name(f->observed, f->balancer, STR("sl-web"));
	observed_set_group_name(f->observed, f->group, STR("sl-pool"));
	observed_set_group_name(f->observed, f->next, STR("sl-next"));
	*ret_fixture = f;
	return 0;
}

static inline int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	observed_free(f->observed);
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static inline const struct xml *parse(struct fixture *f, const char *text)
{
	const char *problem = NULL;
	const struct xml *xml = xml_parse(str_from(text), &f->arena, &problem);
	if (xml == NULL)
		fail_msg("%s: %s", text, problem);
	return xml;
}

static inline void assert_str(struct str got, const char *want)
{
	if (!str_eq_c(got, want) || (got.p == NULL) != (want == NULL))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(got), want != NULL ? want : "(none)");
}

static inline void assert_texts(const struct str_list *list, const char *want)
{
	char got[512] = "";
	for (size_t i = 0; i < list->count; i++) {
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%s%.*s", i != 0 ? " " : "",
			STR_FMT(list->items[i]));
	}
	assert_string_equal(got, want);
}
