// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

// "90s", "5m", "3h", as sluicectl says it.
export function age(since) {
	if (!since)
		return "-";
	const seconds = Math.max(0, Math.floor(Date.now() / 1000 - since));
	const [unit, letter] = UNITS.find(([size]) => seconds >= 2 * size || size === 1);
	return `${Math.floor(seconds / unit)}${letter}`;
}

export function clock(at) {
	return new Date(at * 1000).toLocaleTimeString([], {hour12: false});
}

export function count(number, what, many) {
	return `${number.toLocaleString("en")} ${number === 1 ? what : many ?? what + "s"}`;
}

// Changes a second since the last look; undefined when there is nothing to compare with.
export class Rates {
	constructor() {
		this.last = new Map();
	}

	of(program) {
		const now = performance.now();
		const before = this.last.get(program.program);
		this.last.set(program.program, {changes: program.changes, started: program.started, now});
		if (!before || before.started !== program.started || program.changes === undefined || before.changes === undefined)
			return undefined;
		return Math.max(0, program.changes - before.changes) / ((now - before.now) / 1000);
	}
}

export function rate(number) {
	return number >= 10 || number === 0 ? number.toFixed(0) : number.toFixed(1);
}
