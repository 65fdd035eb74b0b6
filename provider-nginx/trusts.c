// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/trusts.h"

#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/terms.h"

struct entry {
	struct trust_view view; /* first: trusts_next() converts it back */
	RB_ENTRY(entry) node;
	struct name base; /* of its terms, if `has_base` */
	size_t users;
	bool has_base; /* it is a user of its base */
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
	free((char *)(uintptr_t)entry->view.terms.p);
	free(entry);
}

/* Names are digests of contents and terms, so these never change. */
static void keep(struct str *to, struct str text)
{
	if (to->p == NULL && text.len != 0)
		*to = (struct str){str_dup(text), text.len};
}

static void add_user(struct trusts *trusts, struct entry *entry)
{
	if (entry->users++ == 0)
		trusts->is_changed = true;
}

/* NULL: it is a CA itself, or its terms are not known. */
static struct entry *add_base(struct trusts *trusts, struct entry *entry)
{
	struct terms terms;
	if (!terms_read(entry->view.terms, &terms) || strcmp(terms.base.text, TERMS_OFF) == 0)
		return NULL;
	struct entry *base = find_or_add(trusts, &terms.base);
	if (!entry->has_base)
		add_user(trusts, base);
	entry->base = terms.base;
	entry->has_base = true;
	return base;
}

void trusts_use(
	struct trusts *trusts, const struct name *name, struct str content, struct str terms)
{
	if (name->text[0] == 0)
		return;
	struct entry *entry = find_or_add(trusts, name);
	keep(&entry->view.terms, terms);
	struct entry *base = add_base(trusts, entry);
	keep(base != NULL ? &base->view.content : &entry->view.content, content);
	add_user(trusts, entry);
}

void trusts_drop(struct trusts *trusts, const struct name *name)
{
	struct entry *entry = name->text[0] != 0 ? find(trusts, name) : NULL;
	if (entry == NULL || --entry->users != 0)
		return;
	trusts->is_changed = true;
	if (entry->has_base)
		trusts_drop(trusts, &entry->base);
	entry->has_base = false;
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
	struct str terms;
	struct name name;
	RB_FOREACH (entry, entry_tree, &trusts->tree)
		entry->is_live = false;
	for (struct str rest = conf_read_trusts(conf); conf_next_trust(&rest, &name, &terms);) {
		entry = find_or_add(trusts, &name);
		entry->is_live = true;
		keep(&entry->view.terms, terms);
		if (entry->users != 0)
			(void)add_base(trusts, entry);
	}
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
