// What a line is linked to, in words: the chain from Python to each target, whose links go there.
import { element } from "./paint.js";
import { model, shortFile, withInside } from "./data.js";
import { fateName } from "./fates.js";

export const few = (items, most = 4) => items.slice(0, most).join(", ") + (items.length > most ? `, and ${items.length - most} more` : "");
export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

export function hint() {
  return element("p", { class: "hint" },
    "Point at a line: what it came from and what became of it lights up. A click pins it. ",
    element("kbd", {}, "↑"), " ", element("kbd", {}, "↓"), " lines, ", element("kbd", {}, "Tab"), " panes, ",
    element("kbd", {}, "Enter"), " pins, ", element("kbd", {}, "←"), " ", element("kbd", {}, "→"), " folds, ", element("kbd", {}, "Esc"),
    " unpins. ● linked, ○ linked by a guess, ◆ pinned.");
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
  const written = rowsOf(panes.stablehlo.listing, all);
  add("StableHLO", written.length ? button(`${count(written.length, "line")}`, "stablehlo") : "writes nothing");
  const entries = []; // a target, and what became of the equations there
  for (const target of model.targets) {
    if (target.error) continue;
    const { listing } = target;
    const rows = rowsOf(listing, all).filter((row) => !listing.kinds[row]);
    const boxes = new Set();
    for (const row of rows) {
      boxes.add(listing.lines[listing.boxes[row]].trim().replace(/^ROOT /, "").split(" = ")[0]);
    }
    const lost = own.filter((number) => target.fates[number]);
    const content = [];
    if (rows.length) content.push(button(`in ${few([...boxes])}`, "hlo", target.name));
    const said = new Map();
    for (const number of lost) {
      const { fate, why, sure } = target.fates[number];
      const key = `${fateName(fate).toLowerCase().replace("xla", "XLA")}: ${why}`;
      if (!said.has(key)) said.set(key, { sure, names: new Set() });
      said.get(key).names.add(model.equations[number].primitive);
    }
    for (const [why, { sure, names: of }] of said) {
      content.push(element("span", { class: sure ? "gone" : "gone unsure" }, `${few([...of])}: ${why}`));
    }
    entries.push([target.name, content.length ? content : ["nothing of it"], rows.length]);
  }
  const text = ([, content]) => content.map((each) => each.textContent ?? each).join();
  const alike = entries.length > 1 && entries.every((entry) => !entry[2] && text(entry) === text(entries[0]));
  if (alike) add(`all ${entries.length} targets`, ...entries[0][1]);
  else for (const [name, content] of entries) add(name, ...content);
  return chain;
}

function rowsOf(listing, numbers) {
  const rows = new Set();
  for (const number of numbers) for (const row of listing.rows.get(number) || []) rows.add(row);
  return [...rows].sort((a, b) => a - b);
}
