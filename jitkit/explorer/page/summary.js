// The answers that most readers come for, as sentences at the top whose links lead to what they say.
import { element } from "./paint.js";
import { model } from "./data.js";
import { amount, compiledTargets, differing, kernelsOf, moved } from "./lines.js";
import { count, few } from "./story.js";


// `to` has call(number), gone(target), lines() and beside(one, other, row).
export function summary(to) {
  const link = (text, onclick) => element("button", { type: "button", onclick }, text);
  const items = [...callsSaid(to, link), ...goneSaid(to, link), ...differencesSaid(to, link)];
  if (!items.length) return null;
  return element("details", { class: "summary", open: !matchMedia("(max-width: 899px)").matches },
    element("summary", {}, "In short"), element("ul", {}, ...items.map((parts) => element("li", {}, ...parts))));
}

function callsSaid(to, link) {
  const entries = model.calls?.entries || [];
  const misses = entries.filter((entry) => !entry.hit);
  if (!misses.length) return [];
  const parts = [`${count(entries.length, "call")}, ${misses.length} of them missed the cache: `];
  misses.slice(0, 4).forEach((entry, i) => {
    parts.push(i ? "; " : "", link(`call #${entry.number}`, () => to.call(entry.number)), ` ${entry.reason === "first call" ? "was the first" : `(${entry.reason}): ${whyOf(entry)}`}`);
  });
  if (misses.length > 4) parts.push(`; and ${misses.length - 4} more`);
  return [[...parts, "."]];
}

// The first thing that was different, and what to do about it, which stands below it, deeper.
function whyOf({ sentences: [first = "", ...rest] }) {
  const [reason, advice] = rest.filter((line) => line.trim() && !line.startsWith("Closest"));
  if (!reason) return first.trim();
  const depth = (line) => line.search(/\S/);
  return reason.trim() + (advice && depth(advice) > depth(reason) ? `. ${advice.trim().replace(/\.$/, "")}` : "");
}

function goneSaid(to, link) {
  const said = [];
  for (const target of compiledTargets) {
    const whys = new Map();
    for (const [number, { why, sure }] of Object.entries(target.gone)) {
      const { primitive, line } = model.equations[number];
      const kind = `${why.split(":")[0]}${sure ? "" : " (a guess)"}`;
      const name = line === null ? primitive : `${primitive} (line ${line})`;
      if (!whys.has(kind)) whys.set(kind, new Map());
      whys.get(kind).set(name, (whys.get(kind).get(name) || 0) + 1);
    }
    const surest = [...whys].sort(([one], [other]) => one.endsWith("(a guess)") - other.endsWith("(a guess)"));
    const text = surest.map(([why, names]) => `${[...names.values()].reduce((one, other) => one + other)} ${why}: ${few([...names].map(([name, times]) => (times > 1 ? `${name} ${times} times` : name)), 3)}`).join("; ");
    const same = said.find((each) => each.text === text);
    if (same) same.targets.push(target);
    else said.push({ text, targets: [target] });
  }
  return said.filter(({ text }) => text).map(({ text, targets }) => [
    "Gone, or under another name, on ", ...targets.flatMap((target, i) => [i ? ", " : "", link(target.name, () => to.gone(target.name))]), `: ${text}.`,
  ]);
}

function differencesSaid(to, link) {
  if (compiledTargets.length < 2) return [];
  const totals = few(compiledTargets.map(({ name, by_line: all }) => `${name} ${count(all.kernels, "kernel")} and ${amount(moved(all))}B`));
  const rows = model.python.equations.flatMap((numbers, row) => (numbers.length && differing(row) ? [row] : []));
  const pair = ["gpu:h100", "tpu:v5e"].every((name) => compiledTargets.some((target) => target.name === name)) ? ["gpu:h100", "tpu:v5e"] : compiledTargets.slice(0, 2).map((target) => target.name);
  const parts = [link("By line", () => to.lines()), `: ${totals}.`];
  if (!rows.length) return [[...parts, " Each line needs as many kernels on all of them."]];
  const ofPair = rows.filter((row) => kernelsOf(pair[0], row) !== kernelsOf(pair[1], row));
  if (!ofPair.length) return [[...parts, ` ${pair.join(" and ")} need as many kernels for each line; others do not.`]];
  parts.push(` ${pair.join(" and ")} differ, side by side, in line${ofPair.length === 1 ? "" : "s"} `);
  ofPair.slice(0, 6).forEach((row, i) => parts.push(i ? ", " : "", link(String(model.python.numbers[row]), () => to.beside(...pair, row)), ` (${count(kernelsOf(pair[0], row), "kernel")} and ${kernelsOf(pair[1], row)})`));
  return [[...parts, `${ofPair.length > 6 ? `, and ${ofPair.length - 6} more` : ""}.`]];
}
