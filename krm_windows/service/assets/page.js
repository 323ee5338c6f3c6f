// The pages are whole without this: it shows the preview of a form while one types, and moves the focus.
"use strict";
const PAUSE = 500;

document.getElementById("summary")?.focus();

function takeOver(form, answer) {
  for (const id of ["preview", "preview-status"]) {
    const here = document.getElementById(id), there = answer.getElementById(id);
    // A live region speaks when it changes: not at every letter.
    if (here && there && here.innerHTML !== there.innerHTML) here.replaceChildren(...there.childNodes);
  }
  form.querySelectorAll(".field[data-field]").forEach((field) => {
    const name = field.dataset.field, there = answer.getElementById(name);
    const found = answer.getElementById(`${name}-found`);
    if (!there || !found) return;
    field.querySelector(".found").replaceChildren(...found.childNodes);
    field.classList.toggle("has-found", there.hasAttribute("aria-invalid"));
    const input = field.querySelector("input");
    if (there.hasAttribute("aria-invalid")) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  });
}

document.querySelectorAll("form[data-live]").forEach((form) => {
  const status = document.getElementById("preview-status");
  const address = form.querySelector("[data-preview]").formAction;
  let timer, asked;
  async function preview() {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    try {
      const response = await fetch(address, { method: "POST", body, signal: asked.signal });
      const answer = new DOMParser().parseFromString(await response.text(), "text/html");
      if (answer.getElementById("preview")) takeOver(form, answer);
      else status.textContent = answer.querySelector(".lead")?.textContent ?? "No preview just now.";
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = "The service cannot be reached.";
    }
  }
  form.addEventListener("input", ({ target }) => {
    clearTimeout(timer);
    if (target.name !== "reason") timer = setTimeout(preview, PAUSE);
  });
});
