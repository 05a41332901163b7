// The page: panes side by side, one state, and that state in the address.
import { element, typesOf } from "./paint.js";
import { finish, model, prepare, targetNamed, withInside } from "./data.js";
import { Pane } from "./pane.js";
import { Calls } from "./calls.js";
import { fateName, listFates } from "./fates.js";
import { Lines, amount, quantities, said } from "./lines.js";
import { neighboursSaid, count, hint, story } from "./story.js";
import { Search } from "./search.js";
import { summary } from "./summary.js";

const narrow = matchMedia("screen and (max-width: 899px)");
const state = { show: null, target: null, beside: null, pin: null, call: null };
let pinned = null; // { pane, row }
let hovered = null;

// --- listings ---

for (const target of model.targets) {
  if (target.error) continue;
  target.listing = prepare(target.hlo);
  listFates(target);
  finish(target.listing);
  target.machineListing = finish(prepare(target.machine));
  target.passesListing = finish(prepare(target.passes ?? {}));
  target.passesListing.lines.forEach((line, row) => { if (!line.startsWith(" ")) target.passesListing.kinds[row] = "head"; });
}
const python = finish(prepare(model.python));
python.numbers.forEach((number, row) => {
  if (number !== null || !python.lines[row]) return;
  python.kinds[row] = "head";
  python.ends[row] = row + 1; // it is not what it stands over
});
if (model.failure && model.failure.row !== null) python.kinds[model.failure.row] = "error";
const jaxpr = finish(prepare(model.jaxpr, { types: typesOf(model.jaxpr.lines) }));
const stablehlo = finish(prepare(model.stablehlo));
const none = finish(prepare({}));
const ownC = { c: finish(prepare(model.c?.listing ?? {})), assembly: finish(prepare(model.c?.assembly ?? {})) };

// --- panes ---

const on = { hover, pin };
const panes = {
  python: new Pane("python", "Python", python, on),
  jaxpr: new Pane("jaxpr", "jaxpr", jaxpr, on),
  stablehlo: new Pane("stablehlo", "StableHLO", stablehlo, on),
  hlo: new Pane("hlo", "Optimised HLO", none, on),
  beside: new Pane("beside", "Second target", none, on),
  passes: new Pane("passes", "XLA's passes", none, on),
  machine: new Pane("machine", "Machine code", none, on),
  c: new Pane("c", "C of our own compiler", ownC.c, on),
  assembly: new Pane("assembly", "Assembly of the C", ownC.assembly, on),
};
// Of several calls, each with a program: which of them the panes show.
const ofCall = model.calls?.shown ? `program of call #${model.calls.shown}` : "";
panes.jaxpr.meta.textContent = said(ofCall, count(model.equations.length, "equation"));
panes.stablehlo.meta.textContent = said(ofCall, "as it is given to XLA");
panes.python.meta.textContent = "pale lines were not traced";
for (const [name, what] of [["python", "source"], ["jaxpr", "jaxpr"], ["stablehlo", "StableHLO"]]) {
  const pane = panes[name];
  if (!pane.listing.lines.length) pane.show(pane.listing, element("p", {}, model.failure ? `The function did not come as far as ${what}.` : `There is no ${what} to show.`));
}
const failed = model.failure !== null;
if (model.c && !model.c.error) {
  const { loops, bytes, flops } = model.c.costs;
  panes.c.meta.textContent = said(ofCall, `jit(f, backend="c"): ${count(loops, "loop")}, ${amount(bytes)}B, ${amount(flops)}flops`);
  panes.assembly.meta.textContent = said(ofCall, "what the C compiler made of it; at the side the line of C");
} else panes.c.show(none, element("p", {}, model.c?.error || "There is no C to show."));
if (!ownC.assembly.lines.length) panes.assembly.show(none, element("pre", {}, model.c?.no_assembly || "There is no C that could be compiled."));
const BUTTONS = [["python", "Python"], ["jaxpr", "jaxpr"], ["stablehlo", "StableHLO"], ["hlo", "Optimised HLO"], ["beside", "two targets"], ["lines", "by line"], ["passes", "passes"], ["machine", "machine code"], ["c", "C"], ["assembly", "its assembly"], ["calls", "calls"]];
const command = `jitkit explore FILE.py:${model.function} --calls${model.library === "jax" ? " --jax" : ""}`;

function tabs(pane, key) {
  const list = element("div", { role: "tablist", "aria-label": `${pane.title}: target` });
  pane.scroll.setAttribute("aria-label", pane.title);
  list.append(...model.targets.map((target) => element("button", {
    type: "button", role: "tab", class: target.error ? "absent" : null, "data-target": target.name, onclick: () => choose(key, target.name),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const names = model.targets.map((each) => each.name);
      const next = names[(names.indexOf(target.name) + step + names.length) % names.length];
      choose(key, next);
      list.querySelector(`[data-target="${next}"]`).focus();
    },
  }, target.name)));
  pane.heading.after(list);
  return list;
}
const tabLists = [["target", tabs(panes.hlo, "target")], ["beside", tabs(panes.beside, "beside")]];

function choose(key, name) {
  state[key] = name;
  drawTargets();
  refresh();
  remember();
}

function drawTargets() {
  for (const [key, list] of tabLists) {
    for (const tab of list.children) {
      const chosen = tab.dataset.target === state[key];
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
  }
  showTarget(panes.hlo, targetNamed(state.target), "listing");
  showTarget(panes.beside, targetNamed(state.beside), "listing");
  showTarget(panes.passes, targetNamed(state.target), "passesListing");
  showTarget(panes.machine, targetNamed(state.target), "machineListing");
  const target = targetNamed(state.target);
  panes.passes.meta.textContent = target && !target.error ? said(ofCall, `what each pass of ${target.name}'s compiler took away (-) and wrote (+)`) : "";
  panes.machine.meta.textContent = target && !target.error ? said(ofCall, `${target.code} of ${target.name}`) : "";
  noteFates(target);
}

// What is not there on the chosen target as it was written says so in the jaxpr.
function noteFates(target) {
  jaxpr.notes = { ...model.jaxpr.notes };
  if (target && !target.error) {
    for (const [number, { fate, why, sure }] of Object.entries(target.fates)) {
      const [row] = jaxpr.rows.get(Number(number)) || [];
      if (row !== undefined) jaxpr.notes[row] = `${target.name}: ${fateName(fate)}: ${why}${sure ? "" : "; a guess"}`;
    }
  }
  panes.jaxpr.draw();
}

function showTarget(pane, target, part) {
  if (!target) {
    pane.show(none, element("p", {}, failed ? "The function did not come as far as a compiler." : "No target was asked for."));
    return;
  }
  if (target.error) {
    const [first, ...rest] = target.error.split("\n");
    pane.show(none, element("div", {}, element("p", {}, first), rest.length ? element("pre", {}, rest.join("\n")) : null));
    pane.meta.textContent = "";
    return;
  }
  if (!target[part].lines.length && part === "passesListing") {
    pane.show(none, element("p", {}, `The compiler for ${target.name} did not write down what its passes do: libtpu never does, and XLA's not of a large program.`));
    return;
  }
  if (!target[part].lines.length) {
    pane.show(none, element("p", {}, `The compiler for ${target.name} shows no ${part === "listing" ? "HLO" : target.code} for this program: all of it is left to library calls, or to constants.`));
    return;
  }
  pane.show(target[part]);
  if (part === "listing") {
    pane.meta.textContent = said(ofCall, quantities(target));
    pane.meta.title = `${target.chip}; ${target.compiler}; compiled in ${target.seconds.toFixed(2)} s. Costs: ${target.cost.source}.`;
  }
}

const calls = new Calls(model.calls, command, null);

const lines = new Lines((row, target) => {
  showLine(row);
  go("hlo", target);
});
const rootOf = (name) => ({ calls, lines })[name]?.root || panes[name].root;

// --- links ---

function equationsOf(pane, row) {
  if (pane === panes.machine) while (row > 0 && !pane.listing.equations[row].length && pane.listing.indents[row] > 0) row--; // its kernel's
  const sure = pane.listing.equations[row] || [];
  return sure.length ? { numbers: sure, guess: false } : { numbers: pane.listing.guesses[row] || [], guess: true };
}

// Rows that come to lie under a pointer that has not moved are not pointed at.
let still = false;
let where = "";
addEventListener("mousemove", ({ screenX, screenY }) => {
  const now = `${screenX},${screenY}`;
  if (now !== where) still = false;
  where = now;
}, { capture: true });

function hover(pane, row, fromKeys = false) {
  if (still && !fromKeys) return;
  hovered = row === null ? null : { pane, row };
  refresh(fromKeys);
}

function pin(pane, row) {
  const again = pinned && pinned.pane === pane && pinned.row === row;
  pinned = again || !equationsOf(pane, row).numbers.length ? null : { pane, row };
  refresh(true);
  remember(true);
}

let asked = 0;
function refresh(scroll = false) {
  const from = hovered && equationsOf(hovered.pane, hovered.row).numbers.length ? hovered : pinned;
  const { numbers, guess } = from ? equationsOf(from.pane, from.row) : { numbers: [], guess: false };
  const all = withInside(numbers);
  for (const pane of Object.values(panes)) {
    const hits = new Set();
    const guesses = new Set();
    for (const number of all) {
      for (const row of pane.listing.rows.get(number) || []) (guess ? guesses : hits).add(row);
      for (const row of pane.listing.guessRows.get(number) || []) guesses.add(row);
    }
    pane.mark(hits, guesses, pinned && pinned.pane === pane ? pinned.row : -1);
    if (scroll && from && pane !== from.pane && !pane.root.hidden) {
      const first = [...(hits.size ? hits : guesses)].sort((a, b) => a - b)[0];
      if (first !== undefined) pane.reveal(first);
    }
  }
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => {
    const at = hovered || pinned;
    const target = { hlo: targetNamed(state.target), beside: targetNamed(state.beside) }[at?.pane.id];
    const apart = target && !target.error ? neighboursSaid(target, at.pane.listing, at.row) : [];
    document.getElementById("story").replaceChildren(...apart, numbers.length ? story(numbers, panes, go, guess) : hint());
  });
}

// A line of Python, pinned, from elsewhere on the page.
function showLine(row) {
  pinned = { pane: panes.python, row };
  hovered = null;
  still = true;
  panes.python.cursor = row;
  panes.python.reveal(row);
  refresh();
}

// A pane beside those that are shown; on a phone, in their place.
function open(...names) {
  if (narrow.matches) state.show = [names.at(-1)];
  else state.show = [...new Set([...state.show, ...names])];
  drawPanes();
  const root = rootOf(names.at(-1));
  root.scrollIntoView?.({ block: "nearest" });
}

const to = {
  call(number) {
    open("calls");
    calls.choose(number);
  },
  fate(name, title) {
    choose("target", name);
    open("hlo");
    const { listing } = panes.hlo;
    const row = listing.lines.findIndex((line, i) => listing.kinds[i] === "head" && line.startsWith(`${title}:`));
    if (row < 0) return;
    panes.hlo.cursor = row;
    panes.hlo.reveal(row, true);
    panes.hlo.scroll.focus();
  },
  lines() {
    open("lines");
    lines.body.focus();
    remember();
  },
  beside(one, other, row) {
    state.target = one;
    state.beside = other;
    drawTargets();
    state.show = [];
    open("python", "beside", "hlo"); // these alone, so that there is room
    showLine(row);
    refresh(true);
    remember(true);
  },
};

// From the story: to the rows of a stage.
function go(stage, target) {
  still = true;
  if (target && state.target !== target && state.beside !== target) { state.target = target; drawTargets(); }
  const name = stage === "hlo" && target && state.beside === target && state.target !== target ? "beside" : stage;
  if (narrow.matches || !state.show.includes(name)) {
    state.show = narrow.matches ? [name] : [...state.show, name];
    drawPanes();
  }
  refresh();
  const pane = panes[name];
  const [row] = [...(pane.hits.size ? pane.hits : pane.guesses)].sort((a, b) => a - b);
  if (row !== undefined) { pane.cursor = row; pane.reveal(row, true); }
  pane.scroll.focus();
  remember(true);
}

const search = new Search(
  () => Object.values(panes).filter((pane) => !pane.root.hidden && !pane.scroll.hidden),
  (pane, row) => {
    still = true;
    pane.cursor = row;
    pane.reveal(row, true);
    hover(pane, row, true);
  });

// --- the head ---

function drawTop() {
  const top = document.getElementById("top");
  const nav = element("nav", { "aria-label": "What is shown" });
  for (const [name, title] of BUTTONS) {
    const able = model.targets.filter((target) => !target.error).length;
    if ((name === "beside" && able < 2) || (name === "lines" && !able) || (failed && isEmpty(name))) continue;
    nav.append(element("button", { type: "button", "data-pane": name, onclick: () => toggle(name) }, title));
  }
  nav.append(search.root);
  nav.append(element("span", { class: "made" }, `${model.library === "jax" ? "a function of JAX's" : "a function of jitkit's"} · ${model.made_with}`));
  const notes = [...model.notes, ...model.python.sentences];
  const signature = failed && model.signature === `${model.function}()` ? "" : model.signature.slice(model.function.length);
  top.append(element("h1", {}, model.function), element("span", { class: "signature", tabindex: "0", role: "note", "aria-label": "signature" }, signature));
  if (ofCall) top.append(element("span", { class: "of-call", title: "All panes but Calls show this program, whichever call is chosen there." }, `shown: ${ofCall}`));
  if (failed) {
    top.append(element("div", { class: "failure", role: "alert" }, element("strong", {}, `${model.failure.type} while ${model.failure.stage}. `), `${model.equations.length} equation${model.equations.length === 1 ? " was" : "s were"} written before it.`, element("pre", { tabindex: "0" }, model.failure.text)));
  }
  if (notes.length) top.append(element("ul", { class: "notes" }, ...notes.map((note) => element("li", {}, note))));
  top.append(nav);
  const short = failed ? null : summary(to);
  if (short) top.append(short);
}

function toggle(name) {
  if (narrow.matches) state.show = [name];
  else if (state.show.includes(name)) state.show = state.show.filter((each) => each !== name);
  else state.show = [...state.show, name];
  if (!state.show.length) state.show = [name];
  drawPanes();
  remember();
}

function drawPanes() {
  const shown = BUTTONS.map(([name]) => name).filter((name) => state.show.includes(name));
  const visible = narrow.matches ? shown.slice(0, 1) : shown;
  for (const [name] of BUTTONS) {
    const root = rootOf(name);
    root.hidden = !visible.includes(name);
    root.style.display = root.hidden ? "none" : "";
    document.querySelector(`nav [data-pane="${name}"]`)?.setAttribute("aria-pressed", String(visible.includes(name)));
  }
  const texts = visible.filter((name) => name in panes).length;
  const grid = document.getElementById("panes");
  grid.style.gridTemplateColumns = "";
  grid.style.setProperty("--columns", String(texts <= 1 ? 1 : texts === 3 || texts > 4 ? 3 : 2));
  const holes = { 5: 1 }[texts] || 0;
  for (const name of Object.keys(panes)) panes[name].root.classList.toggle("wide", false);
  if (holes) grid.style.setProperty("--columns", "3");
  for (const pane of Object.values(panes)) if (!pane.root.hidden) pane.draw();
}

// The right edge of a pane is dragged: its column takes from the next one, or gives to it.
function resizable({ root }) {
  const grip = element("div", { class: "grip", title: "drag: the width of this column; a double click: all the same" });
  const grid = document.getElementById("panes");
  grip.addEventListener("pointerdown", (down) => {
    const sizes = getComputedStyle(grid).gridTemplateColumns.split(" ").map(parseFloat);
    const lefts = [...grid.children].filter((each) => !each.hidden).map((each) => Math.round(each.getBoundingClientRect().left));
    const at = [...new Set(lefts)].sort((one, other) => one - other).indexOf(Math.round(root.getBoundingClientRect().left));
    if (at < 0 || at + 1 >= sizes.length) return;
    grip.setPointerCapture(down.pointerId);
    grip.onpointermove = (event) => {
      const moved = Math.min(Math.max(event.clientX - down.clientX, NARROWEST - sizes[at]), sizes[at + 1] - NARROWEST);
      const now = sizes.map((size, column) => size + (column === at ? moved : column === at + 1 ? -moved : 0));
      grid.style.gridTemplateColumns = now.map((size) => `minmax(0, ${size}fr)`).join(" ");
    };
    down.preventDefault();
  });
  grip.addEventListener("pointerup", () => { grip.onpointermove = null; });
  grip.addEventListener("dblclick", () => { grid.style.gridTemplateColumns = ""; });
  root.append(grip);
}
const NARROWEST = 120; // pixels of a column

// --- the address ---

// A step that the reader can go back from gets an entry of its own in the browser's history.
function remember(step = false) {
  const words = new URLSearchParams();
  if (pinned) words.set("pin", `${pinned.pane.id}.${pinned.row}`);
  if (state.target && state.target !== model.targets[0]?.name) words.set("target", state.target);
  if (state.show.includes("beside") && state.beside) words.set("beside", state.beside);
  if (state.show.join() !== usual().join()) words.set("show", state.show.join());
  if (calls.chosen !== null && state.call !== null) words.set("call", calls.chosen);
  if (theme) words.set("theme", theme);
  const text = decodeURIComponent(words.toString());
  const address = text ? `#${text}` : "#";
  const same = decodeURIComponent(location.hash || "#") === address;
  try { history[step && !same ? "pushState" : "replaceState"](null, "", address); } catch { /* a frame without an address */ }
}

const isEmpty = (name) => (name === "calls" ? !model.calls?.entries?.length : !panes[name]?.listing.lines.length);

function usual() {
  if (failed && !narrow.matches) return ["python", "jaxpr"].filter((name) => name === "python" || !isEmpty(name));
  if (narrow.matches) return [model.calls?.entries?.length ? "calls" : "python"];
  return model.calls?.entries?.length ? ["python", "hlo", "calls"] : ["python", "jaxpr", "stablehlo", "hlo"];
}

const given = document.documentElement.dataset.theme ?? null; // by the page that this one is a part of
let theme = null;
function recall() {
  const words = new URLSearchParams(location.hash.slice(1));
  theme = ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : given;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const there = (name) => Boolean(targetNamed(name));
  const able = model.targets.filter((target) => !target.error).map((target) => target.name);
  state.target = there(words.get("target")) ? words.get("target") : able[0] || model.targets[0]?.name || null;
  state.beside = there(words.get("beside")) ? words.get("beside") : able.find((name) => name !== state.target) || state.target;
  const asked = (words.get("show") || "").split(",").filter((name) => BUTTONS.some(([each]) => each === name));
  state.show = asked.length ? asked : usual();
  const [id, row] = (words.get("pin") || "").split(".");
  if (panes[id] && !(narrow.matches ? asked.length === 1 : state.show.includes(id))) state.show = narrow.matches ? [id] : [...state.show, id]; // a pinned row is seen
  if (!narrow.matches && words.get("beside") && there(words.get("beside")) && !state.show.includes("beside") && !asked.length) state.show.push("beside");
  if (words.get("call") && model.calls) { state.call = Number(words.get("call")); calls.choose(state.call, false); }
  drawTargets();
  drawPanes();
  pinned = panes[id] && Number(row) >= 0 && Number(row) < panes[id].listing.lines.length ? { pane: panes[id], row: Number(row) } : null;
  hovered = null;
  if (pinned) { pinned.pane.cursor = pinned.row; pinned.pane.reveal(pinned.row); }
  refresh(true);
}

calls.onchoose = () => { state.call = calls.chosen; remember(true); };
drawTop();
document.getElementById("panes").append(...BUTTONS.map(([name]) => rootOf(name)));
Object.values(panes).forEach(resizable);
recall();
addEventListener("hashchange", recall);
narrow.addEventListener("change", () => { state.show = usual(); drawPanes(); });
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && pinned) { pinned = null; hovered = null; refresh(); remember(true); }
});
const printing = (is) => { for (const pane of Object.values(panes)) if (!pane.root.hidden) pane.print(is); };
addEventListener("beforeprint", () => printing(true));
addEventListener("afterprint", () => printing(false));
matchMedia("print").addEventListener("change", (event) => printing(event.matches));
const start = panes[state.show.find((name) => panes[name]) || "python"];
if (window === window.top) start.scroll.focus({ preventScroll: true }); // the keys work at once; a frame does not take them
document.documentElement.dataset.ready = "yes";
