// SPDX-License-Identifier: Apache-2.0
// Asks sluicectl, which asks the line.

const PATIENCE_MS = 40000;

export class Unanswered extends Error {} // sluicectl itself has not answered

// Parameters without a value are left out. Throws Error with what is wrong in words, or Unanswered.
export async function ask(what, parameters, signal) {
	const query = new URLSearchParams(Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== ""));
	const limit = AbortSignal.timeout(PATIENCE_MS);
	let answer, text;
	try {
		answer = await fetch(`api/${what}?${query}`, {cache: "no-store", credentials: "omit", signal: signal ? either(signal, limit) : limit});
		text = await answer.text();
	} catch (error) {
		if (signal?.aborted)
			throw error;
		throw new Unanswered("sluicectl web does not answer");
	}
	if (answer.headers.get("Content-Type")?.startsWith("text/plain"))
		throw new Unanswered(text.trim());
	if (!answer.ok)
		throw new Error(JSON.parse(text).error);
	if (answer.headers.get("Content-Type") === "application/x-ndjson")
		return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
	return JSON.parse(text);
}

function either(one, other) {
	const both = new AbortController();
	for (const signal of [one, other])
		signal.addEventListener("abort", () => both.abort(), {once: true});
	if (one.aborted)
		both.abort();
	return both.signal;
}

// Calls work() now and then every so often, for as long as somebody looks. The last call counts: now() gives up one that is under way.
export class Poll {
	constructor(work, everyMs) {
		this.work = work;
		this.everyMs = everyMs;
		document.addEventListener("visibilitychange", () => this.active && !document.hidden && this.now());
	}

	start() {
		this.active = true;
		this.now();
	}

	stop() {
		this.active = false;
		clearTimeout(this.timer);
		this.controller?.abort();
	}

	async now() {
		clearTimeout(this.timer);
		this.controller?.abort();
		const controller = this.controller = new AbortController();
		try {
			await this.work(controller.signal);
		} catch (error) {
			if (!controller.signal.aborted)
				throw error;
		} finally {
			if (this.active && controller === this.controller && !document.hidden)
				this.timer = setTimeout(() => this.now(), this.everyMs);
		}
	}
}
