// The pages are whole without this: it shows the preview of a form while one types, and moves the focus.
"use strict";
const PAUSE = 500;

document.getElementById("summary")?.focus();

// No browser comes back to a page that was sent for: it comes back to the one before it.
document.querySelectorAll("[data-back]").forEach(({ dataset }) => history.replaceState(null, "", dataset.back));

function takeOver(form, answer) {
  for (const id of ["preview", "preview-status"]) {
    const here = document.getElementById(id), there = answer.getElementById(id);
    // A live region speaks when it changes: not at every letter.
    if (here && there && here.innerHTML !== there.innerHTML) here.replaceChildren(...there.childNodes);
  }
  form.querySelectorAll("[data-field]").forEach((field) => {
    const name = field.dataset.field, there = answer.querySelector(`[data-field="${name}"]`);
    if (!there) return;
    const [found, input] = [`#${name}-found`, `[aria-describedby~="${name}-found"]`];
    field.querySelector(found).replaceChildren(...there.querySelector(found).childNodes);
    field.classList.toggle("has-found", there.classList.contains("has-found"));
    // A group of choices has no such state of its own (WAI-ARIA 1.2).
    if (there.querySelector(`${input}[aria-invalid]`)) field.querySelector(input).ariaInvalid = "true";
    else field.querySelector(input)?.removeAttribute("aria-invalid");
    // What was wrong when it was sent is no longer said above.
    if (!there.classList.contains("has-found")) document.querySelector(`#summary [href="#${name}"]`)?.closest("li").remove();
  });
  if (!document.querySelector("#summary li")) document.getElementById("summary")?.remove();
}

// Among a thousand boxes those are shown whose words hold what is sought, and those that are ticked.
document.querySelectorAll("[data-filter]").forEach((sought) => {
  const labels = [...document.getElementById(sought.dataset.filter).querySelectorAll("label")];
  const status = sought.parentElement.querySelector("[role=status]");
  function has(label) {
    return label.textContent.toLowerCase().includes(sought.value.trim().toLowerCase());
  }
  function count() {
    const ticked = labels.filter(({ control }) => control.checked).length;
    const said = `${ticked.toLocaleString("en")} of ${labels.length.toLocaleString("en")} ticked`;
    status.textContent = labels.some(has) ? said : `No cluster has that in its name; ${said}`;
  }
  sought.hidden = status.hidden = false;
  sought.addEventListener("input", (event) => {
    event.stopPropagation();
    labels.forEach((label) => { label.hidden = !label.control.checked && !has(label); });
    count();
  });
  // After what follows from it: who chooses all clusters ticks none.
  sought.closest("form").addEventListener("input", () => setTimeout(count));
  count();
});

// A list is of what was chosen before.
document.querySelectorAll("[data-lists]").forEach((choice) => {
  const list = document.getElementById(choice.dataset.lists);
  if (!list) return;
  choice.addEventListener("change", () => { list.hidden = true; });
  // In another region of the country, what was ticked stays so: the form with it is asked.
  choice.addEventListener("submit", (event) => {
    const { country, region } = list.querySelector("form").elements;
    if (choice.elements.country.value !== country.value) return;
    event.preventDefault();
    region.value = choice.elements.region.value;
    list.querySelector("[data-preview]").click();
  });
});

document.querySelectorAll("[data-tick]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    const boxes = document.querySelectorAll(`${button.dataset.tick} input`);
    boxes.forEach((box) => { box.checked = true; box.parentElement.hidden = false; });
    boxes[0]?.dispatchEvent(new Event("input", { bubbles: true }));
  });
});

document.querySelectorAll("form[data-live]").forEach((form) => {
  const [all, some] = form.querySelectorAll("[name=scope]");
  const status = document.getElementById("preview-status");
  const address = form.querySelector("[data-preview]").formAction;
  let timer, asked;
  async function preview() {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    // What was said of the form before is no answer to what was asked last.
    const waits = setTimeout(() => { status.textContent = "Working it out…"; }, 1000);
    try {
      const response = await fetch(address, { method: "POST", body, signal: asked.signal });
      const answer = new DOMParser().parseFromString(await response.text(), "text/html");
      if (answer.getElementById("preview")) takeOver(form, answer);
      else status.textContent = answer.querySelector(".lead")?.textContent ?? "No preview just now.";
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = "The service cannot be reached.";
    } finally {
      clearTimeout(waits);
    }
  }
  // A suggestion is taken here; without scripts the service takes it.
  form.addEventListener("click", (event) => {
    const use = event.target.closest("[name=use]");
    if (!use) return;
    event.preventDefault();
    const [name, ...rest] = use.value.split("="), text = rest.join("=");
    const fields = [...form.querySelectorAll(`[name="${name}"]`)];
    const field = fields.find(({ type, value }) => type !== "radio" || value === text);
    if (field.type === "radio") field.checked = true;
    else field.value = text;
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  form.addEventListener("input", ({ target }) => {
    // Who ticks a cluster means some of them, and of all none is ticked.
    if (target.name?.startsWith("on:")) some.checked = true;
    if (target === all) form.querySelectorAll("[name^='on:']").forEach((box) => { box.checked = false; });
    // What repeats ends on no date: that choice is no longer there.
    const ends = form.querySelector("[name=ends-on]");
    if (["week", "month"].includes(target.value) && ends?.value === "date") ends.value = "same";
    // A reason moves no hours, and stops no preview that is on its way.
    if (["reason", "why"].includes(target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(preview, PAUSE);
  });
});

// The older way to copy: `navigator.clipboard` is not there without TLS, and may have to ask.
document.querySelectorAll("button[data-copy]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    document.getElementById(button.dataset.copy).select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it";
  });
});

document.querySelectorAll("[data-print]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => print());
});
