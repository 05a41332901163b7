// A search field: rows of all shown panes whose text or note has the words, folded ones too. Enter goes on, Shift+Enter back.
import { element } from "./paint.js";

export class Search {
  // shown(): the panes that are visible; arrive(pane, row): go there
  constructor(shown, arrive) {
    this.shown = shown;
    this.arrive = arrive;
    this.at = -1;
    this.found = [];
    this.field = element("input", { type: "search", placeholder: "search (/)", "aria-label": "Search in the shown panes", size: "14", autocomplete: "off", spellcheck: "false" });
    this.said = element("output", { class: "found", "aria-live": "polite" });
    this.root = element("span", { class: "search" }, this.field, this.said);
    this.field.addEventListener("input", () => this.look());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") { this.field.value = ""; this.look(); this.field.blur(); }
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === this.field) return;
      this.field.focus();
      event.preventDefault();
    });
  }

  look() {
    const words = this.field.value.trim().toLowerCase();
    this.at = -1;
    this.found = !words ? [] : this.shown().flatMap((pane) => pane.listing.lines.flatMap((line, row) =>
      (line.toLowerCase().includes(words) || (pane.listing.notes[row] || "").toLowerCase().includes(words) ? [{ pane, row }] : [])));
    this.say(words);
  }

  say(words) {
    const [count, at] = [this.found.length, this.at];
    this.said.textContent = !words ? "" : !count ? "nothing" : at < 0 ? `${count} row${count === 1 ? "" : "s"}, Enter` : `${at + 1} of ${count}: ${this.found[at].pane.title}`;
  }

  step(by) {
    const words = this.field.value.trim().toLowerCase();
    const before = this.found[this.at];
    this.look(); // other panes may be shown since
    const place = before ? this.found.findIndex(({ pane, row }) => pane === before.pane && row === before.row) : by > 0 ? -1 : 0;
    const { length } = this.found;
    if (length) {
      this.at = (place + by + length) % length;
      this.arrive(this.found[this.at].pane, this.found[this.at].row);
    }
    this.say(words);
  }
}
