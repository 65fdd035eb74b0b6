// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/trusts.h"

#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-nginx/conf.h"

struct entry {
	struct trust_view view; /* first: trusts_next() converts it back */
	RB_ENTRY(entry) node;
	size_t users;
	bool is_live;
};

RB_HEAD(entry_tree, entry);

struct trusts {
	struct entry_tree tree;
	bool is_changed;
};

static int compare_entries(const struct entry *a, const struct entry *b)
{
	return strcmp(a->view.name.text, b->view.name.text);
}

RB_GENERATE_LOCAL(entry_tree, entry, node, compare_entries)

static struct entry *find(const struct trusts *trusts, const struct name *name)
{
	struct entry wanted = {.view.name = *name};
	return RB_FIND(entry_tree, (struct entry_tree *)(uintptr_t)&trusts->tree, &wanted);
}

static struct entry *find_or_add(struct trusts *trusts, const struct name *name)
{
	struct entry *entry = find(trusts, name);
	if (entry != NULL)
		return entry;
	entry = xcalloc(1, sizeof(*entry));
	entry->view.name = *name;
	RB_INSERT(entry_tree, &trusts->tree, entry);
	return entry;
}

static void settle(struct trusts *trusts, struct entry *entry)
{
	if (entry->users != 0 || entry->is_live)
		return;
	RB_REMOVE(entry_tree, &trusts->tree, entry);
	free((char *)(uintptr_t)entry->view.content.p);
	free(entry);
}

void trusts_use(struct trusts *trusts, const struct name *name, struct str content)
{
	if (name->text[0] == 0)
		return;
	struct entry *entry = find_or_add(trusts, name);
	/* The name is a digest of the content, so the content never changes. */
	if (entry->view.content.p == NULL && content.p != NULL)
		entry->view.content = (struct str){str_dup(content), content.len};
	if (entry->users++ == 0)
		trusts->is_changed = true;
}

void trusts_drop(struct trusts *trusts, const struct name *name)
{
	struct entry *entry = name->text[0] != 0 ? find(trusts, name) : NULL;
	if (entry == NULL || --entry->users != 0)
		return;
	trusts->is_changed = true;
	settle(trusts, entry);
}

bool trusts_has(const struct trusts *trusts, const struct name *name)
{
	return find(trusts, name) != NULL;
}

bool trusts_is_live(const struct trusts *trusts, const struct name *name)
{
	const struct entry *entry = find(trusts, name);
	return entry != NULL && entry->is_live;
}

void trusts_set_live(struct trusts *trusts, struct str conf)
{
	struct entry *entry;
	struct entry *next;
	struct name name;
	RB_FOREACH (entry, entry_tree, &trusts->tree)
		entry->is_live = false;
	for (struct str rest = conf_read_trusts(conf); conf_next_trust(&rest, &name);)
		find_or_add(trusts, &name)->is_live = true;
	RB_FOREACH_SAFE (entry, entry_tree, &trusts->tree, next)
		settle(trusts, entry);
}

bool trusts_take_change(struct trusts *trusts)
{
	bool is_changed = trusts->is_changed;
	trusts->is_changed = false;
	return is_changed;
}

const struct trust_view *trusts_next(const struct trusts *trusts, const struct trust_view *after)
{
	struct entry *entry =
		after == NULL ? RB_MIN(entry_tree, (struct entry_tree *)(uintptr_t)&trusts->tree)
			      : entry_tree_RB_NEXT((struct entry *)(uintptr_t)after);
	while (entry != NULL && entry->users == 0)
		entry = entry_tree_RB_NEXT(entry);
	return entry != NULL ? &entry->view : NULL;
}

struct trusts *trusts_new(void)
{
	struct trusts *trusts = xcalloc(1, sizeof(*trusts));
	RB_INIT(&trusts->tree);
	return trusts;
}

void trusts_free(struct trusts *trusts)
{
	struct entry *entry;
	if (trusts == NULL)
		return;
	while ((entry = RB_ROOT(&trusts->tree)) != NULL) {
		entry->users = 0;
		entry->is_live = false;
		settle(trusts, entry);
	}
	free(trusts);
}
