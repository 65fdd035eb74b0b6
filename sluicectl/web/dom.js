// SPDX-License-Identifier: Apache-2.0
// Makes and changes elements. Every text is put in as text: nothing here, and nothing on this page, reads markup.

const TEXT_MAX = 2000;
// What has no place of its own, or turns the direction of what follows: shown, so that no name can pass for another.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function clean(text) {
	const visible = String(text ?? "").slice(0, TEXT_MAX + 1).replace(INVISIBLE, "\ufffd");
	return visible.length > TEXT_MAX ? visible.slice(0, TEXT_MAX) + " …" : visible;
}

// el("p", {class: "quiet"}, "text", node, ...)
export function el(tag, attributes, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {}))
		if (value !== undefined && value !== null && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	node.append(...children.filter((child) => child !== undefined && child !== null && child !== false && child !== "")
		.map((child) => typeof child === "object" ? child : clean(child)));
	return node;
}

// A name of somebody's, which does not turn the direction of what stands beside it.
export function name(text) {
	return el("bdi", {class: "name"}, text);
}

export function mark(state, word) {
	const signs = {good: "✓", warn: "…", bad: "✗", unknown: "?"};
	return el("span", {class: "mark", "data-state": state, role: "img", "aria-label": word}, signs[state]);
}

export function ingressLink(what) {
	return el("a", {href: "#ingress/" + encodeURIComponent(what)}, name(what));
}

// What is the same stays as it is: no flicker, and the focus and the selection stay where they are.
function same(node, fresh) {
	return node.isEqualNode(fresh);
}

function update(node, fresh) {
	if (same(node, fresh))
		return;
	if (node.nodeType !== Node.ELEMENT_NODE || node.tagName !== fresh.tagName) {
		node.replaceWith(fresh);
		return;
	}
	for (const {name: attribute} of [...node.attributes])
		if (!fresh.hasAttribute(attribute))
			node.removeAttribute(attribute);
	for (const {name: attribute, value} of fresh.attributes)
		if (node.getAttribute(attribute) !== value)
			node.setAttribute(attribute, value);
	show(node, [...fresh.childNodes]);
}

// Makes these the children of an element, and changes only what is different. Children with the same data-key are the same child.
export function show(parent, children) {
	const keyed = new Map([...parent.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
	const wanted = new Set(children.map((child) => child.dataset?.key).filter(Boolean));
	let at = parent.firstChild;
	for (const fresh of children) {
		const key = fresh.dataset?.key;
		while (at?.dataset?.key && !wanted.has(at.dataset.key))
			at = drop(at);
		const old = key ? keyed.get(key) : at?.dataset?.key ? undefined : at;
		if (!old) {
			parent.insertBefore(fresh, at);
			continue;
		}
		if (old === at)
			at = at.nextSibling;
		else
			parent.insertBefore(old, at);
		update(old, fresh);
	}
	while (at)
		at = drop(at);
}

function drop(node) {
	const next = node.nextSibling;
	node.remove();
	return next;
}

export function setText(node, text) {
	const wanted = clean(text);
	if (node.textContent !== wanted)
		node.textContent = wanted;
}
