// The page is whole without this: it makes a picture one stop of the Tab key, in which the arrow
// keys move, and lets one look for a cluster.
"use strict";
const bars = (row) => [...row.querySelectorAll(".bar")];
const shown = () => [...document.querySelectorAll("tr[data-row]:not([hidden])")];
const rows = () => shown().filter((row) => bars(row).length);

function middle(bar) {
  const box = bar.getBoundingClientRect();
  return box.left + box.width / 2;
}

function stop(table, bar) {
  table.querySelectorAll(".bar").forEach((other) => { other.tabIndex = other === bar ? 0 : -1; });
}

function nearest(row, bar) {
  const distance = (other) => Math.abs(middle(other) - middle(bar));
  return bars(row).reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

function neighbour(bar, key) {
  const row = bar.closest("tr"), here = bars(row), all = rows();
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

document.querySelectorAll(".band").forEach((table) => {
  stop(table, table.querySelector(".bar"));
  table.addEventListener("focusin", ({ target }) => {
    if (target.matches(".bar")) stop(table, target);
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
