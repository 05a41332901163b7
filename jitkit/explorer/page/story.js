// What a line is linked to, in words: the chain from Python to each target, whose links go there.
import { element } from "./paint.js";
import { model, shortFile, withInside } from "./data.js";
import { fateName } from "./fates.js";
import { count, few } from "./words.js";

export function hint() {
  return element("p", { class: "hint" },
    "Point at a line: what it came from and what became of it lights up (● linked, ○ linked by a guess). A click pins it (◆).", 
    element("span", { class: "keys" }, element("kbd", {}, "↑"), " ", element("kbd", {}, "↓"), " lines, ", element("kbd", {}, "Tab"), " panes, ",
      element("kbd", {}, "Enter"), " pins, ", element("kbd", {}, "←"), " ", element("kbd", {}, "→"), " folds, ", element("kbd", {}, "Esc"), " unpins."));
}

// `numbers` are the equations, `go(stage, target)` shows their rows.
export function story(numbers, panes, go, isGuess) {
  const own = [...numbers];
  const all = withInside(own);
  const chain = element("dl", { class: "chain" });
  let targets = 0;
  const add = (name, ...content) => chain.append(element("div", { class: model.targets.some((each) => each.name === name) && targets++ ? "link also" : "link" }, element("dt", {}, name), element("dd", {}, ...content)));
  const button = (text, stage, target) => element("button", { type: "button", onclick: () => go(stage, target) }, text);
  const places = [...new Set(own.map((number) => model.equations[number]).filter((each) => each.line !== null).map((each) => `${shortFile(each.file)}:${each.line}`))];
  add("Python", places.length ? button(few(places), "python") : "no line of yours");
  const names = [...new Set(own.map((number) => model.equations[number].primitive))];
  add(`jaxpr: ${count(own.length, "equation")}${isGuess ? ", by a guess" : ""}`, button(few(names), "jaxpr"));
  const ways = ["forward", "backward"].map((way) => [way, own.filter((number) => model.equations[number].way === way).length]).filter(([, number]) => number);
  if (ways.length) add("gradient", ways.map(([way, number]) => `${own.length > 1 ? `${number} ` : ""}${way === "backward" ? "of its reverse pass (←)" : "of its forward pass (→)"}`).join(", "));
  const written = rowsOf(panes.stablehlo.listing, all);
  add("StableHLO", written.length ? button(`${count(written.length, "line")}`, "stablehlo") : "writes nothing");
  const able = model.targets.filter((target) => !target.error);
  const told = able.map((target) => toldOf(own.filter((number) => target.fates[number]), target));
  const alike = able.length > 1 && told[0].length && told.every((spans) => textOf(spans) === textOf(told[0]));
  const left = able.map((target) => linkedTo(target, all)); // what is linked, by target
  if (alike) add(`all ${able.length} targets`, ...told[0]);
  able.forEach(({ name }, i) => {
    const content = left[i].length ? [button(`in ${few(left[i])}`, "hlo", name)] : [];
    if (!alike) content.push(...told[i]);
    if (content.length || left.some((names) => names.length)) add(name, ...(content.length ? content : ["nothing of it"]));
  });
  return chain;
}

// Why a kernel and its neighbours are not one, where it is a kernel.
export function neighboursSaid(target, listing, row) {
  const box = listing.boxes[row];
  const name = (at) => listing.lines[at].trim().replace(/^ROOT /, "").split(" = ")[0];
  const own = (target?.apart || []).filter(({ first, second }) => first === box || second === box);
  const said = own.map(({ first, second, rule, why }) => (rule ? why : `with ${name(first === box ? second : first)}, ${why}`));
  return said.length ? [element("p", { class: "apart" }, `Not fused with its neighbours: ${few([...new Set(said)], 3, "; ")}.`)] : [];
}

// The instructions of a target that equations are linked to: of those in a fusion, the fusion.
function linkedTo({ listing }, numbers) {
  const rows = rowsOf(listing, numbers).filter((row) => !listing.kinds[row]);
  return [...new Set(rows.map((row) => listing.lines[listing.boxes[row]].trim().replace(/^ROOT /, "").split(" = ")[0]))];
}

// What became of equations on a target, in words.
function toldOf(numbers, target) {
  const said = new Map();
  for (const number of numbers) {
    const { fate, why, sure } = target.fates[number];
    const key = `${fateName(fate).toLowerCase().replace("xla", "XLA")}: ${why}`;
    if (!said.has(key)) said.set(key, { sure, names: new Set() });
    said.get(key).names.add(model.equations[number].primitive);
  }
  return [...said].map(([why, { sure, names }]) => element("span", { class: sure ? "gone" : "gone unsure" }, `${few([...names])}: ${why}`));
}

const textOf = (spans) => spans.map((each) => each.textContent).join();

function rowsOf(listing, numbers) {
  const rows = new Set();
  for (const number of numbers) for (const row of listing.rows.get(number) || []) rows.add(row);
  return [...rows].sort((a, b) => a - b);
}
