// SPDX-License-Identifier: Apache-2.0
#include "translator/graph.h"

#include "translator/queue.h"
#include "tests/unit/translator/help.h"

static void nodes_are_found_by_kind_and_key(void **state)
{
	struct graph graph;
	(void)state;
	graph_init(&graph);
	struct record *service = graph_get(&graph, NODE_SERVICE, STR("ns/web"));
	assert_ptr_equal(graph_get(&graph, NODE_SERVICE, STR("ns/web")), service);
	assert_null(graph_find(&graph, NODE_SECRET, STR("ns/web")));
	assert_null(graph_find(&graph, NODE_SERVICE, STR("ns/we")));
	assert_text(node_key(&service->node), "ns/web");
	assert_text(node_namespace(&service->node), "ns");
	assert_text(node_name(&service->node), "web");
	assert_text(node_name(&graph_get(&graph, NODE_CLASS, STR("edge"))->node), "edge");
	graph_fini(&graph);
}

static void a_node_goes_when_nobody_needs_it(void **state)
{
	struct graph graph;
	struct queue queue;
	(void)state;
	graph_init(&graph);
	queue_init(&queue, NODE_DIRTY);
	struct service_node *service =
		(struct service_node *)(void *)graph_get(&graph, NODE_SERVICE, STR("ns/web"));
	struct pool_node *pool = graph_get_pool(service, STR("80"));
	graph_settle(&graph, &service->record.node);
	assert_non_null(graph_find(&graph, NODE_SERVICE, STR("ns/web")));
	queue_push(&queue, &pool->node);
	graph_settle(&graph, &pool->node);
	assert_ptr_equal(graph_get_pool(service, STR("80")), pool);
	assert_ptr_equal(queue_pop(&queue), &pool->node);
	/* The pool takes its service with it. */
	graph_settle(&graph, &pool->node);
	assert_null(graph_find(&graph, NODE_SERVICE, STR("ns/web")));
	queue_fini(&queue);
	graph_fini(&graph);
}

static void a_host_takes_its_balancer_with_it(void **state)
{
	struct graph graph;
	(void)state;
	graph_init(&graph);
	struct balancer_node *balancer = graph_get_balancer(&graph, STR("ns/web"));
	struct host_node *one = graph_get_host(balancer, STR("one"));
	struct host_node *two = graph_get_host(balancer, STR(""));
	graph_settle(&graph, &balancer->node);
	graph_settle(&graph, &one->node);
	assert_ptr_equal(graph_find_balancer(&graph, STR("ns/web")), balancer);
	graph_settle(&graph, &two->node);
	assert_null(graph_find_balancer(&graph, STR("ns/web")));
	graph_fini(&graph);
}

static void names_are_found_by_the_wildcard_that_covers_them(void **state)
{
	static const char *const hosts[] = {"a.x.org", "x.org", "*.x.org", "a.b.x.org", "", "org",
		"passthrough/b.x.org", "passthrough/*.x.org", "c.x.org.org", "d.ax.org"};
	struct graph graph;
	unsigned found = 0;
	(void)state;
	graph_init(&graph);
	struct balancer_node *balancer = graph_get_balancer(&graph, STR("class/x"));
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		graph_get_host(balancer, str_from(hosts[i]));
	graph_get_claim(balancer, STR("name:c.x.org"));
	graph_get_claim(balancer, STR("port:80"));
	struct node *node = graph_first_below(balancer, STR("x.org"));
	for (; node != NULL; node = graph_next_below(node)) {
		struct str host = node_host(node);
		assert_int_equal(host.len, 7);
		found |= 1U << (host.p[0] - 'a');
	}
	assert_int_equal(found, 7); /* a, b and c */
	assert_null(graph_first_below(balancer, STR("y.org")));
	graph_settle(&graph, &graph_get_host(balancer, STR("a.b.x.org"))->node);
	assert_null(graph_first_below(balancer, STR("b.x.org")));
	graph_fini(&graph);
}

static void slices_move_between_services(void **state)
{
	struct graph graph;
	(void)state;
	graph_init(&graph);
	struct service_node *a = (void *)graph_get(&graph, NODE_SERVICE, STR("ns/a"));
	struct service_node *b = (void *)graph_get(&graph, NODE_SERVICE, STR("ns/b"));
	struct slice_node *slice = (void *)graph_get(&graph, NODE_SLICE, STR("ns/a-1"));
	graph_move_slice(slice, a);
	graph_settle(&graph, &a->record.node);
	assert_ptr_equal(RB_ROOT(&a->slices), slice);
	graph_move_slice(slice, b);
	assert_true(RB_EMPTY(&a->slices));
	assert_ptr_equal(RB_ROOT(&b->slices), slice);
	graph_move_slice(slice, NULL);
	assert_true(RB_EMPTY(&b->slices));
	graph_fini(&graph);
}

static void a_queue_holds_each_node_once_in_order(void **state)
{
	enum { MANY = 5000 };
	struct graph graph;
	struct queue queue;
	static struct record *records[MANY];
	char key[32];
	(void)state;
	graph_init(&graph);
	queue_init(&queue, NODE_TO_TELL);
	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "ns/%d", i);
		records[i] = graph_get(&graph, NODE_SERVICE, str_from(key));
		queue_push(&queue, &records[i]->node);
		queue_push(&queue, &records[i]->node);
	}
	assert_int_equal(queue_len(&queue), MANY);
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(queue_at(&queue, queue.popped), &records[i]->node);
		assert_ptr_equal(queue_pop(&queue), &records[i]->node);
		/* Back to the end, as something that changed meanwhile. */
		if (i % 2 == 0)
			queue_push(&queue, &records[i]->node);
	}
	assert_int_equal(queue_len(&queue), MANY / 2);
	while (queue_len(&queue) != 0)
		assert_non_null(queue_pop(&queue));
	assert_null(queue_pop(&queue));
	assert_int_equal(queue.popped, MANY + MANY / 2);
	queue_fini(&queue);
	graph_fini(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_found_by_kind_and_key),
		cmocka_unit_test(a_node_goes_when_nobody_needs_it),
		cmocka_unit_test(a_host_takes_its_balancer_with_it),
		cmocka_unit_test(names_are_found_by_the_wildcard_that_covers_them),
		cmocka_unit_test(slices_move_between_services),
		cmocka_unit_test(a_queue_holds_each_node_once_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
