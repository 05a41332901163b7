"use strict";
const table = document.querySelector(".students"), body = table.tBodies[0], find = document.querySelector("#find");
const boxes = [...document.querySelectorAll(".tools input[type=checkbox]")], shown = document.querySelector("#shown");
function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = boxes.filter(b => b.checked).map(b => b.value);
  let count = 0;
  for (const row of body.rows) {
    const has = (row.dataset.is || "").split(" "), text = row.textContent.toLowerCase();
    row.hidden = !(words.every(w => text.includes(w)) && (!wanted.length || wanted.some(w => has.includes(w))));
    count += !row.hidden;
  }
  shown.textContent = count + " of " + body.rows.length;
}
function sort(head) {
  const i = head.cellIndex, down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
  const key = row => row.cells[i].dataset.v ?? row.cells[i].textContent.trim();
  const compare = (a, b) => {
    const x = key(a), y = key(b);
    if (x === "" || y === "") return (x === "") - (y === "");
    const apart = Number(x) - Number(y);
    return down * (Number.isNaN(apart) ? x.localeCompare(y, undefined, { numeric: true }) : apart);
  };
  body.append(...[...body.rows].sort(compare));
}
for (const head of table.tHead.rows[0].cells) head.querySelector("button")?.addEventListener("click", () => sort(head));
for (const input of [find, ...boxes]) input.addEventListener("input", filter);
filter();
