// The page is whole without this: it makes a picture one stop of the Tab key, in which the arrow
// keys move, and lets one look for a cluster.
"use strict";
const every = () => [...document.querySelectorAll(".bar")];
const bars = (row) => [...row.querySelectorAll(".bar")];
const shown = () => [...document.querySelectorAll("tr[data-row]:not([hidden])")];
const rows = () => shown().filter((row) => bars(row).length);
// A row goes on in the next week.
const along = (row) => shown().filter((other) => other.dataset.row === row.dataset.row).flatMap(bars);

function middle(bar) {
  const box = bar.getBoundingClientRect();
  return box.left + box.width / 2;
}

function stop(bar) {
  every().forEach((other) => { other.tabIndex = other === bar ? 0 : -1; });
}

function nearest(row, bar) {
  const distance = (other) => Math.abs(middle(other) - middle(bar));
  return bars(row).reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

function neighbour(bar, key) {
  const row = bar.closest("tr"), here = along(row), all = rows();
  const i = here.indexOf(bar), r = all.indexOf(row);
  const above = all[r - 1], below = all[r + 1];
  switch (key) {
    case "ArrowRight": return here[i + 1];
    case "ArrowLeft": return here[i - 1];
    case "ArrowDown": return below && nearest(below, bar);
    case "ArrowUp": return above && nearest(above, bar);
    case "Home": return here[0];
    case "End": return here[here.length - 1];
    default: return undefined;
  }
}

stop(every()[0]);
// The names of the first week lead to all words: those of a year would be hundreds of stops.
[...document.querySelectorAll(".band")].slice(1).forEach((table) => {
  table.querySelectorAll("th a").forEach((link) => { link.tabIndex = -1; });
});
document.querySelectorAll(".band").forEach((table) => {
  table.addEventListener("focusin", ({ target }) => {
    if (target.matches(".bar")) stop(target);
  });
  table.addEventListener("keydown", (event) => {
    const next = event.target.matches(".bar") && neighbour(event.target, event.key);
    if (next) { event.preventDefault(); next.focus(); }
  });
});

const search = document.getElementById("search");
search.closest("p").hidden = document.querySelectorAll(".words").length < 2;
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  document.querySelectorAll(".words").forEach((words, i) => {
    const names = words.querySelector(".names") || words.querySelector("h3");
    words.hidden = !names.textContent.toLowerCase().includes(wanted);
    document.querySelectorAll(`tr[data-row="${i}"]`).forEach((row) => {
      row.hidden = words.hidden;
    });
  });
});
