// The pages are whole without this: it shows instants on the clock of who reads, and keeps a page up to date.
"use strict";
const MINUTE = 60_000;
const main = document.getElementById("main");
const news = document.getElementById("news");
let source, timer, shown = performance.now();

const pad = (number) => String(number).padStart(2, "0");
const here = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** Whether the reader's own clock shows something else than is written of an instant. */
function differs(time) {
  const at = new Date(time.dateTime);
  const day = [at.getFullYear(), pad(at.getMonth() + 1), pad(at.getDate())].join("-");
  return !time.dateTime.startsWith(`${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`);
}

/** Say behind instants, from a beginning to an end, what the reader's own clock shows then. */
function translate() {
  main.querySelectorAll(".clock").forEach((clock) => {
    const times = [...clock.querySelectorAll("time")];
    if (!times.some(differs)) return;
    clock.closest(".answer")?.querySelector(".place")?.removeAttribute("hidden");
    const words = document.createElement("span");
    words.className = "yours";
    const said = times.map((time) => here.format(new Date(time.dateTime)).replace(",", ""));
    words.textContent = `${said.join(" to ")} for you`;
    clock.append(" ", words);
  });
}

/** Say again how far away instants are, by the clock of the service, which may be another than this machine's. */
function tick() {
  const now = Date.parse(main.dataset.now) + performance.now() - shown;
  main.querySelectorAll(".away[data-at]").forEach((away) => {
    const minutes = Math.floor((Date.parse(away.dataset.at) - now) / MINUTE);
    const parts = { d: Math.floor(minutes / 1440), h: Math.floor(minutes / 60) % 24, m: minutes < 2880 ? minutes % 60 : 0 };
    const words = Object.entries(parts).filter(([, number]) => number > 0).map(([unit, number]) => `${number}\u00a0${unit}`);
    away.textContent = minutes < 1 ? "within a minute" : `in ${words.join("\u00a0")}`;
  });
}

/** Return the keys by which parts of a page are the same in two versions of it. */
function key(part) {
  return part.id || part.getAttribute("aria-labelledby") || part.getAttribute("aria-label") || part.localName;
}

function isBusy(part) {
  if (!part.querySelector("input, select, textarea")) return false;
  const fields = [...part.querySelectorAll("input, textarea")];
  return part.contains(document.activeElement) || fields.some((field) => field.value !== field.defaultValue);
}

function said(of) {
  return [...of.querySelectorAll("[data-said]")].map((each) => {
    const verdict = each.querySelector(".verdict") ?? each;
    return `${each.dataset.said} ${verdict.textContent}`.replace(/\s+/g, " ").trim();
  });
}

/** Put a newer version of the page in the place of this one; what somebody types in stays as it is. */
function takeOver(page) {
  const next = page.getElementById("main");
  const before = said(main), focus = document.activeElement;
  const kept = new Map([...main.children].filter(isBusy).map((part) => [key(part), part]));
  const open = new Map([...main.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  main.replaceChildren(...[...next.children].map((part) => kept.get(key(part)) ?? part));
  open.forEach((isOpen, id) => document.getElementById(id)?.toggleAttribute("open", isOpen));
  if (!main.contains(focus) && focus !== document.body) refocus(focus);
  else if (focus !== document.activeElement) focus.focus({ preventScroll: true });
  Object.assign(main.dataset, next.dataset);
  shown = performance.now();
  document.title = page.title;
  translate();
  const changed = said(main).filter((each) => !before.includes(each));
  news.textContent = changed.length ? `Now: ${changed.join("; ")}` : "The page is up to date again.";
}

function refocus(gone) {
  const named = gone.id && document.getElementById(gone.id);
  const linked = gone.href && [...main.querySelectorAll("a")].find((each) => each.href === gone.href);
  const same = gone.localName === "summary" && document.getElementById(gone.parentElement.id)?.firstElementChild;
  (named || linked || same || main).focus({ preventScroll: true });
}

async function renew() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.getElementById("main")?.dataset.live) takeOver(page);
    else if (response.status === 401) return void (news.textContent = "You are signed out: load the page again.");
    follow();
  } catch {
    timer = setTimeout(renew, MINUTE);
  }
}

function follow() {
  source?.close();
  clearTimeout(timer);
  if (document.hidden) return;
  source = new EventSource(main.dataset.live);
  source.addEventListener("changed", () => {
    source.close();
    // Not all readers at once.
    timer = setTimeout(renew, 2000 * Math.random());
  });
  source.addEventListener("error", () => {
    // It comes again by itself, unless it was refused.
    if (source.readyState === EventSource.CLOSED) timer = setTimeout(renew, MINUTE);
  });
}

// A page that nobody sees keeps no connection, of which a browser has six.
document.addEventListener("visibilitychange", follow);
translate();
follow();
setInterval(tick, MINUTE / 4);
