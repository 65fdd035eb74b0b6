// SPDX-License-Identifier: Apache-2.0
#include "translator/class.h"

static struct str class_word(const struct ingress_record *ingress)
{
	for (size_t i = 0; i < ingress->annotations.count; i++) {
		if (str_eq_c(ingress->annotations.items[i].key, CLASS_ANNOTATION))
			return ingress->annotations.items[i].value;
	}
	return STR_NONE;
}

bool class_is_unnamed(const struct ingress_record *ingress)
{
	return str_is_empty(ingress->class_name) && str_is_empty(class_word(ingress));
}

static bool named_is_ours(const struct ingress_record *ingress, const struct class_context *context)
{
	if (!context->classes_are_synced)
		return str_eq(ingress->class_name, context->settings->ingress_class);
	return context->named != NULL &&
	       str_eq(context->named->controller, context->settings->controller_name);
}

static bool take_named(const struct ingress_record *ingress, const struct class_context *context,
	struct str word, struct str *ret_class, struct diag_list *diags)
{
	if (!named_is_ours(ingress, context))
		return false;
	if (!str_is_empty(word) && !str_eq(word, context->settings->ingress_class) &&
		!str_eq(word, ingress->class_name)) {
		struct object_ref self = {.namespace = ingress->key.namespace,
			.name = ingress->key.name,
			.uid = ingress->key.uid};
		diag_add(diags, &self, "ClassConflict",
			"metadata.annotations[" CLASS_ANNOTATION "]",
			"spec.ingressClassName counts, and this annotation says something else; "
			"remove it");
	}
	*ret_class = ingress->class_name;
	return true;
}

bool class_is_nginx(const struct ingress_record *ingress, const struct class_context *context,
	struct str *ret_class)
{
	bool is_nginx = false;
	if (!context->takes_nginx)
		return false;
	*ret_class = !str_is_empty(ingress->class_name) ? ingress->class_name : class_word(ingress);
	if (str_is_empty(ingress->class_name) || !context->classes_are_synced)
		is_nginx = str_eq_c(*ret_class, CLASS_NGINX_WORD);
	else if (context->named != NULL)
		is_nginx = str_eq_c(context->named->controller, CLASS_NGINX_CONTROLLER);
	return is_nginx;
}

bool class_is_ours(const struct ingress_record *ingress, const struct class_context *context,
	struct str *ret_class, struct diag_list *diags)
{
	const struct source_settings *settings = context->settings;
	struct str word = class_word(ingress);
	if (!str_is_empty(ingress->class_name))
		return take_named(ingress, context, word, ret_class, diags);
	if (!str_is_empty(word)) {
		if (!str_eq(word, settings->ingress_class))
			return false;
		*ret_class = settings->ingress_class;
		return true;
	}
	bool is_default = !str_is_empty(context->our_default);
	if (!is_default && !settings->without_class)
		return false;
	*ret_class = is_default ? context->our_default : settings->ingress_class;
	return true;
}
