// A listing on the screen: rows in view only, a cursor, folds, and the marks of what is linked.
import { meaningOf } from "./opcodes.js";
import { element, words, wordsOfColours } from "./paint.js";
import { hue, model, wayOf } from "./data.js";

const OVERSCAN = 30;
const WAYS = { forward: "→", backward: "←", both: "⇄" };
const MOST_PRINTED = 2000;

export class Pane {
  constructor(id, title, listing, on) {
    this.id = id;
    this.title = title;
    this.on = on; // { hover(pane, row), pin(pane, row) }
    this.cursor = 0;
    this.folded = new Set();
    this.hits = new Set();
    this.guesses = new Set();
    this.pinned = -1;
    this.printing = false;
    this.range = [0, 0];
    this.heading = element("h2", {}, title);
    this.meta = element("span", { class: "meta" });
    this.far = element("span", { class: "far" });
    this.head = element("header", {}, this.heading, this.meta, this.far);
    this.window = element("div", { class: "window", role: "presentation" });
    this.sizer = element("div", { class: "sizer", role: "presentation" }, this.window);
    this.scroll = element("div", { class: "scroll", role: "tree", tabindex: "0", "aria-label": title, id: `scroll-${id}` }, this.sizer);
    this.empty = element("div", { class: "empty", tabindex: "0" });
    this.root = element("section", { class: "pane", id: `pane-${id}`, "aria-label": title }, this.head, this.scroll, this.empty);
    this.scroll.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.scroll.addEventListener("keydown", (event) => this.key(event));
    this.window.addEventListener("mouseover", (event) => {
      const row = this.rowOf(event.target);
      if (row !== null && row !== this.over) this.on.hover(this, (this.over = row));
    });
    this.over = null;
    this.scroll.addEventListener("mouseleave", () => { this.over = null; this.on.hover(this, null); });
    this.window.addEventListener("click", (event) => {
      const row = this.rowOf(event.target);
      if (row === null) return;
      this.cursor = row;
      if (event.target.classList.contains("fold") && event.target.textContent.trim()) this.toggle(row);
      else this.on.pin(this, row);
    });
    this.scroll.addEventListener("focus", () => this.draw());
    this.scroll.addEventListener("blur", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroll);
    this.show(listing);
  }

  show(listing, message = null) {
    this.listing = listing;
    this.folded.clear();
    if (listing.lines.length > 400) {
      listing.ends.forEach((end, row) => { if (end > row + 1 && listing.notes[row]?.startsWith("fusion of")) this.folded.add(row); });
    }
    this.cursor = Math.min(this.cursor, Math.max(0, listing.lines.length - 1));
    this.empty.replaceChildren(...(message ? [message] : []));
    this.empty.hidden = !message;
    this.scroll.hidden = Boolean(message) || !listing.lines.length;
    this.layout();
  }

  // What is shown of the rows, once some are folded.
  layout() {
    const { lines, ends } = this.listing;
    this.visible = [];
    for (let row = 0; row < lines.length; row = this.folded.has(row) ? ends[row] : row + 1) this.visible.push(row);
    this.place = new Int32Array(lines.length).fill(-1);
    this.visible.forEach((row, at) => { this.place[row] = at; });
    for (let row = 1; row < lines.length; row++) if (this.place[row] < 0) this.place[row] = this.place[row - 1]; // folded: where its fold is
    this.sizer.style.height = `calc(${this.visible.length} * var(--row))`;
    this.sizer.style.width = `${Math.max(this.listing.width + 18, 10)}ch`;
    this.drawn = null;
    this.draw();
  }

  rowHeight() {
    this.height ||= parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 20;
    return this.height;
  }

  // Most steps of a scroll stay within the rows that are there.
  scrolled() {
    const top = this.scroll.scrollTop / this.rowHeight();
    const bottom = top + this.scroll.clientHeight / this.rowHeight();
    const [first, end] = this.range;
    if (!this.drawn || (top < first && first > 0) || (bottom > end && end < this.visible.length)) this.draw();
    else if (this.hits.size || this.guesses.size) this.count();
  }

  draw() {
    if (this.scroll.hidden) return;
    const height = this.rowHeight();
    const first = this.printing ? 0 : Math.max(0, Math.floor(this.scroll.scrollTop / height) - OVERSCAN);
    const count = this.printing ? MOST_PRINTED : Math.ceil(this.scroll.clientHeight / height) + 2 * OVERSCAN;
    const rows = this.visible.slice(first, first + count);
    this.range = [first, first + rows.length];
    this.window.style.transform = `translateY(${first * height}px)`;
    // Rows that stay are left where they are: one that is replaced under the pointer would not be clicked, but entered again.
    const known = this.drawn || new Map();
    const wanted = new Set(rows);
    for (const [row, made] of known) if (!wanted.has(row)) { made.remove(); known.delete(row); }
    if (!this.drawn) this.window.replaceChildren();
    let next = this.window.firstChild;
    for (const row of rows) {
      let made = known.get(row);
      if (made && made === next) next = next.nextSibling;
      else {
        if (!made) known.set(row, (made = this.draw_row(row)));
        this.window.insertBefore(made, next);
      }
      this.paint(row, made);
    }
    while (next) { const after = next.nextSibling; next.remove(); next = after; }
    this.drawn = known;
    if (this.printing && this.visible.length > MOST_PRINTED) {
      this.window.append(element("div", { class: "row", role: "treeitem" }, `... ${this.visible.length - MOST_PRINTED} rows more are not printed`));
    }
    const active = document.getElementById(`${this.id}-${this.cursor}`);
    if (active) this.scroll.setAttribute("aria-activedescendant", active.id);
    else this.scroll.removeAttribute("aria-activedescendant");
    this.count();
  }

  draw_row(row) {
    const { listing } = this;
    const line = listing.lines[row];
    const numbers = listing.equations[row];
    const end = listing.ends[row];
    const folds = end > row + 1;
    const kind = listing.kinds[row];
    const shade = numbers.length ? hue(numbers[0]) : null;
    const classes = ["row"];
    if (shade !== null) classes.push("lit");
    if (kind) classes.push(kind);
    if (listing.language === "python" && listing.numbers[row] !== null && !numbers.length) classes.push("unlit");
    if (listing.notes[row]?.startsWith("fusion of")) classes.push("box");
    const made = element("div", {
      class: classes.join(" "), role: "treeitem", id: `${this.id}-${row}`, "data-row": row,
      "aria-level": Math.floor(listing.indents[row] / 2) + 1, "aria-label": line.trim() ? null : `${this.gutter(row)} an empty line`.trim(),
      "aria-expanded": folds ? String(!this.folded.has(row)) : null,
      "aria-setsize": listing.lines.length, "aria-posinset": row + 1,
      style: shade !== null ? `--hue:${shade}` : null,
    });
    made.append(
      element("span", { class: "gutter", title: this.gutterTitle(row) }, this.gutter(row)),
      element("span", { class: "mark" }),
      this.way(numbers),
      element("span", { class: "fold", title: folds ? "fold or open" : null }, folds ? (this.folded.has(row) ? "▸" : "▾") : " "),
      this.code(row, line),
    );
    return made;
  }

  // Whether a row is of a gradient's forward pass, of its reverse pass, or of both.
  way(numbers) {
    const ways = wayOf(numbers);
    return element("span", { class: "way", title: ways ? `of the gradient's ${ways === "both" ? "forward pass, and of its reverse pass" : ways === "backward" ? "reverse pass" : "forward pass"}` : null }, WAYS[ways] || "");
  }

  // What changes while the pointer moves.
  paint(row, made) {
    const { classList } = made;
    const hit = this.hits.has(row);
    const guess = !hit && this.guesses.has(row);
    classList.toggle("hit", hit);
    classList.toggle("guess", guess);
    classList.toggle("cursor", row === this.cursor && document.activeElement === this.scroll);
    classList.toggle("pinned", row === this.pinned);
    made.setAttribute("aria-selected", String(row === this.pinned));
    const mark = row === this.pinned ? "◆" : hit ? "●" : guess ? "○" : "";
    if (made.children[1].textContent !== mark) made.children[1].textContent = mark;
    const note = this.noteOf(row, this.listing.guesses[row]);
    let place = made.children[5];
    if (!note && place) place.remove();
    else if (note && !place) made.append((place = element("span", { class: "note" })));
    if (note && place.textContent !== note) place.textContent = place.title = note;
  }

  noteOf(row, guessed) {
    const { listing } = this;
    const parts = [];
    if (this.folded.has(row)) parts.push(`${listing.ends[row] - row - 1} lines folded`);
    if (listing.notes[row]) parts.push(listing.notes[row]);
    if (guessed && !listing.equations[row].length && this.guesses.has(row)) parts.push("a guess, from the data");
    return parts.join(" · ");
  }

  code(row, line) {
    const { listing } = this;
    const parts = listing.colours ? wordsOfColours(listing.colours[row], line) : listing.kinds[row] ? [["", line.slice(0, listing.indents[row])], ["", line.trimStart()]] : words(listing.language, line);
    const code = element("code", { title: listing.language === "hlo" ? meaningOf(line) : null });
    for (const [kind, text] of parts) {
      const type = kind === "variable" && listing.types ? listing.types.get(text) : null;
      code.append(kind ? element("span", { class: kind, title: type ? `${text}: ${type}` : null }, text) : element("span", {}, text));
    }
    return code;
  }

  // At the left of each row: the number of its line of Python.
  gutter(row) {
    const { listing } = this;
    if (listing.language === "python") return listing.numbers[row] === null ? "" : String(listing.numbers[row]);
    const lines = this.linesOf(row);
    return lines.length ? `${lines[0]}${lines.length > 1 ? "+" : ""}` : "";
  }

  gutterTitle(row) {
    if (this.listing.language === "python") return null;
    const lines = this.linesOf(row);
    return lines.length ? `from line ${lines.join(", ")}` : null;
  }

  // What is not there is of a line, though its fate may be a guess.
  linesOf(row) {
    const { equations, guesses, kinds } = this.listing;
    const numbers = equations[row].length || !kinds[row] ? equations[row] : guesses[row] || [];
    return [...new Set(numbers.map((number) => model.equations[number].line))].filter((line) => line !== null);
  }

  rowOf(target) {
    const found = target.closest?.("[data-row]");
    return found ? Number(found.dataset.row) : null;
  }

  mark(hits, guesses, pinned) {
    this.hits = hits;
    this.guesses = guesses;
    this.pinned = pinned;
    this.draw();
  }

  // How many linked rows are out of view, as buttons that go there.
  count() {
    const height = this.rowHeight();
    const top = this.scroll.scrollTop / height;
    const bottom = (this.scroll.scrollTop + this.scroll.clientHeight) / height;
    const places = [...this.hits, ...this.guesses].map((row) => this.place[row]).sort((a, b) => a - b);
    const above = places.filter((place) => place < top - 0.5);
    const below = places.filter((place) => place > bottom - 0.5);
    const made = [];
    if (above.length) made.push(element("button", { type: "button", onclick: () => this.center(above.at(-1)) }, `▲ ${above.length}`));
    if (below.length) made.push(element("button", { type: "button", onclick: () => this.center(below[0]) }, `▼ ${below.length}`));
    made.forEach((button, i) => button.setAttribute("aria-label", `${this.title}: linked rows ${i || !above.length ? "below" : "above"}`));
    const said = made.map((button) => button.textContent).join();
    if (said !== this.said) this.far.replaceChildren(...made);
    this.said = said;
  }

  center(place) {
    const height = this.rowHeight();
    this.scroll.scrollTop = Math.max(0, place * height - this.scroll.clientHeight / 3);
    this.draw();
  }

  // Into view, opening what is folded around it.
  reveal(row, always = false) {
    if (row < 0 || row >= this.listing.lines.length) return;
    let opened = false;
    for (const fold of [...this.folded]) {
      if (fold < row && row < this.listing.ends[fold]) { this.folded.delete(fold); opened = true; }
    }
    if (opened) this.layout();
    const height = this.rowHeight();
    const y = this.place[row] * height;
    const { scrollTop, clientHeight } = this.scroll;
    if (always || y < scrollTop || y + height > scrollTop + clientHeight) this.center(this.place[row]);
  }

  toggle(row) {
    if (this.listing.ends[row] <= row + 1) return;
    if (!this.folded.delete(row)) this.folded.add(row);
    this.layout();
  }

  go(place) {
    const at = Math.min(Math.max(place, 0), this.visible.length - 1);
    this.cursor = this.visible[at];
    this.reveal(this.cursor);
    this.draw();
    this.on.hover(this, this.cursor, true);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.place[this.cursor];
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / this.rowHeight()) - 2);
    const foldable = this.listing.ends[this.cursor] > this.cursor + 1;
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.visible.length - 1 };
    if (event.key in steps) this.go(steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.on.pin(this, this.cursor);
    else if (event.key === "ArrowLeft") {
      if (foldable && !this.folded.has(this.cursor)) this.toggle(this.cursor);
      else this.go(this.place[this.around(this.cursor)]);
    } else if (event.key === "ArrowRight" && foldable && this.folded.has(this.cursor)) this.toggle(this.cursor);
    else return;
    event.preventDefault();
  }

  around(row) {
    for (let above = row - 1; above >= 0; above--) if (this.listing.ends[above] > row) return above;
    return row;
  }

  print(is) {
    this.printing = is;
    this.drawn = null;
    this.height = 0; // another one on paper
    this.draw();
  }
}
