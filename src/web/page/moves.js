// The list of moves; a click goes to the position after one.

import { sideAt } from "./words.js";

export class Moves {
  #shown = "";

  constructor(list, goTo) {
    this.list = list;
    list.addEventListener("click", (event) => {
      const { ply } = event.target.dataset;
      if (ply !== undefined) goTo(Number(ply));
    });
    // One stop for the tab key; the arrow keys go on from there.
    list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -2, ArrowRight: 1, ArrowDown: 2, Home: -Infinity, End: Infinity }[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...list.querySelectorAll("button")];
      const at = buttons.indexOf(event.target) + step;
      buttons[Math.min(buttons.length - 1, Math.max(0, at))].focus();
    });
  }

  show(state) {
    const key = JSON.stringify([state.start, state.moves]);
    if (key !== this.#shown) {
      this.#shown = key;
      this.#list(state);
    }
    for (const button of this.list.querySelectorAll("button")) {
      const ply = Number(button.dataset.ply);
      button.classList.toggle("back", ply > state.ply);
      button.tabIndex = ply === state.ply ? 0 : -1;
      if (ply === state.ply) {
        button.setAttribute("aria-current", "true");
        const { offsetTop, offsetHeight } = button;
        const { clientHeight } = this.list;
        // Not scrollIntoView, which would move the page.
        this.list.scrollTop = offsetTop - this.list.offsetTop - (clientHeight - offsetHeight) / 2;
      } else {
        button.removeAttribute("aria-current");
      }
    }
  }

  #list(state) {
    const items = [item([button(0, "Start", "first-position")])];
    let number = Number(state.start.split(" ")[5]);
    let row;
    state.moves.forEach(({ san }, i) => {
      const white = sideAt(state, i) === "white";
      if (white || !row) {
        const label = document.createElement("span");
        label.className = "number";
        label.textContent = `${number}.`;
        row = [label];
        if (!white) row.push(document.createElement("span"));
        items.push(row);
      }
      row.push(button(i + 1, san));
      if (!white) number += 1;
    });
    this.list.replaceChildren(...items.map((entry) => (Array.isArray(entry) ? item(entry) : entry)));
  }
}

function item(children) {
  const made = document.createElement("li");
  made.append(...children);
  return made;
}

function button(ply, text, className = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.dataset.ply = ply;
  made.textContent = text;
  made.className = className;
  return made;
}
