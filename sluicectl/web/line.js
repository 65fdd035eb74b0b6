// SPDX-License-Identifier: Apache-2.0
// The line as a picture: each program a card, each connection between them a pipe.
import {el, mark, name, show} from "./dom.js";
import {age, count, rate} from "./words.js";

const STATES = {
	ready: ["good", "ready"],
	waiting: ["warn", "waits"],
	ended: ["bad", "does not run"],
	away: ["bad", "does not answer"],
};
const SOURCES = {watcher: "changes", translator: "sent", provider: "commits"};

// A killed provider leaves its socket; if another has replaced it, that does not matter.
export function isReplaced(status, program) {
	const provider = status.line?.peers?.[1];
	return program.state === "ended" && program.program.startsWith("provider-") && Boolean(provider?.up);
}

// Whether all is well, in a word for the mark and some for people.
export function health(status) {
	const programs = status.programs.filter((program) => !isReplaced(status, program));
	const bad = programs.filter((program) => STATES[program.state][0] === "bad").map((program) => program.program);
	if (bad.length)
		return ["bad", `${bad.join(", ")}: ${bad.length === 1 ? "does not answer" : "do not answer"}`];
	if (!status.line?.peers?.[1]?.up)
		return ["bad", "no provider is connected"];
	if (status.line.trouble)
		return ["bad", "a load balancer has failed"];
	const waiting = programs.filter((program) => program.state === "waiting").map((program) => program.program);
	return waiting.length ? ["warn", `${waiting.join(", ")}: not ready yet`] : ["good", "the line is whole"];
}

function fact(list, what, value) {
	if (value !== undefined && value !== "")
		list.append(el("dt", {}, what), el("dd", {}, value));
}

function counts(status, program) {
	if (program.program === "translator")
		return (status.line?.counts ?? []).map((item) => [item.what, item.count ?? 0]);
	return Object.entries(program.counts ?? {});
}

function facts(status, program, perSecond) {
	const list = el("dl", {});
	const role = program.program.split("-")[0];
	fact(list, "up", program.started && program.state !== "ended" ? age(program.started) : "");
	if (perSecond !== undefined)
		fact(list, SOURCES[role] ?? "changes", `${rate(perSecond)}/s`);
	fact(list, "version", program.version);
	fact(list, "behind", program.lag_s ? `at most ${program.lag_s} s` : "");
	fact(list, "waiting", program.waiting ? count(program.waiting, "change") : "");
	for (const [what, number] of counts(status, program))
		if (number)
			fact(list, what, number.toLocaleString("en"));
	for (const [state, number] of Object.entries(program.load_balancers ?? {}))
		if (number)
			fact(list, state, number.toLocaleString("en"));
	return list;
}

// The last error, unless the program has become ready since.
function lastProblem(program) {
	if (!program.problem || (program.ready && program.problem_at <= program.ready))
		return undefined;
	return el("p", {class: "problem"}, `last error ${age(program.problem_at)} ago: `, name(program.problem),
		program.remedy && el("span", {class: "remedy"}, `→ ${program.remedy}`));
}

function card(status, program, perSecond) {
	const replaced = isReplaced(status, program);
	const [state, word] = replaced ? ["unknown", "has ended, another provider is connected"] : STATES[program.state];
	return el("li", {class: "card", "data-key": program.program, "data-health": state},
		el("h3", {}, program.program),
		el("p", {"data-state": state}, mark(state, word), ` ${word}`),
		...(replaced ? [] : (program.message ?? "").split("\n").filter(Boolean).map((line) => el("p", {class: "quiet"}, name(line)))),
		facts(status, program, perSecond), lastProblem(program));
}

function pipe(key, peer, flows) {
	const up = peer?.up;
	const text = !peer ? "not known" : up ? `connected for ${age(peer.since)}` : peer.since ? `lost ${age(peer.since)} ago` : "never connected";
	return el("li", {class: "link", "data-key": key, "data-up": up ? "yes" : "no", "data-flows": up && flows ? "yes" : "no"},
		el("span", {class: "pipe", "aria-hidden": "true"}), el("span", {}, text, peer?.waiting ? `, ${count(peer.waiting, "update")} waiting` : ""));
}

function end(key, title, state, text) {
	return el("li", {class: "card end", "data-key": key, "data-health": state}, el("h3", {}, title), el("p", {class: "quiet"}, text));
}

function kubernetes(watcher) {
	if (!watcher || watcher.state === "ended" || watcher.state === "away")
		return [end("kubernetes", "Kubernetes", "unknown", "nobody watches it"), {up: false, since: 0}];
	const follows = !watcher.lag_s;
	return [end("kubernetes", "Kubernetes", follows ? "good" : "bad", follows ? "is followed" : "is not followed"),
		{up: follows, since: follows ? watcher.ready : 0}];
}

export function showLine(status, rates) {
	const speeds = new Map(status.programs.map((program) => [program.program, rates.of(program)]));
	const [watcher, translator, ...providers] = status.programs;
	const [origin, followed] = kubernetes(watcher);
	const items = [origin, pipe("to-watcher", followed, speeds.get("watcher") > 0), card(status, watcher, speeds.get("watcher")),
		pipe("to-translator", status.line?.peers?.[0], speeds.get("watcher") > 0), card(status, translator, speeds.get("translator")),
		pipe("to-provider", status.line?.peers?.[1], speeds.get("translator") > 0),
		...providers.map((program) => card(status, program, speeds.get(program.program)))];
	if (!providers.length)
		items.push(end("no-provider", "provider", "bad", "there is none on this machine"));
	show(document.getElementById("line"), items);
	show(document.getElementById("trouble"), status.line?.trouble ? [el("p", {class: "problem"}, "A load balancer has failed: ", name(status.line.trouble))] : []);
}
