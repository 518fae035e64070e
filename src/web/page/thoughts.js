// What the players think: the evaluation bar, the candidate moves and the arrows.

import { percent, score } from "./words.js";

const element = (id) => document.querySelector(`#${id}`);

function cell(row, kind, text, className) {
  const made = document.createElement(kind);
  made.textContent = text;
  made.className = className;
  row.append(made);
  return made;
}

export class Thoughts {
  #state;
  #thoughts;

  constructor(arrows) {
    this.arrows = arrows;
    const box = element("arrows");
    box.checked = localStorage.getItem("fianchetto-arrows") === "yes";
    box.addEventListener("change", () => {
      localStorage.setItem("fianchetto-arrows", box.checked ? "yes" : "no");
      this.#draw();
    });
  }

  setState(state) {
    this.#state = state;
    this.#draw();
  }

  setThoughts(thoughts) {
    this.#thoughts = thoughts;
    this.#draw();
  }

  #draw() {
    const state = this.#state;
    if (!state) return;
    // Thoughts on a position that is not on the board any more are no news.
    const { mover, analyst } = this.#thoughts?.position === state.position ? this.#thoughts : {};
    const thought = mover ?? analyst;
    this.#bar(state, [mover, analyst]);
    const lines = thought?.lines ?? [];
    this.arrows.show(element("arrows").checked ? lines : []);
    element("thought").textContent = words(state, thought);
    const table = element("lines");
    table.hidden = lines.length === 0;
    table.classList.toggle("unvisited", !lines.some((line) => line.visits != null));
    table.classList.toggle("shareless", !lines.some((line) => line.p != null));
    // The policy gives all moves the score of the position.
    table.classList.toggle("scoreless", new Set(lines.map(score)).size < 2);
    table.tBodies[0].replaceChildren(
      ...lines.map((line) => {
        const row = document.createElement("tr");
        const [san, ...rest] = line.line.split(" ");
        const move = cell(row, "td", san, "move");
        if (rest.length) cell(move, "span", rest.join(" "), "line");
        cell(row, "td", line.p == null ? "" : percent(line.p), "number share");
        cell(row, "td", line.visits ?? "", "number visits");
        cell(row, "td", score(line), "number score");
        return row;
      }),
    );
  }

  /// The bar shows the value, from White's side.
  #bar(state, thoughts) {
    const ends = { "1-0": 1, "0-1": -1, "1/2-1/2": 0 };
    const value = state.outcome ? ends[state.outcome.result] : thoughts.find((thought) => thought?.value != null)?.value;
    const bar = element("bar");
    bar.classList.toggle("unknown", value == null);
    element("bar-white").style.height = `${50 + 50 * (value ?? 0)}%`;
    bar.setAttribute("aria-valuenow", Math.round(100 * (value ?? 0)));
    bar.setAttribute("aria-valuetext", value == null ? "unknown" : `${signed(value)} for White`);
    bar.title = value == null ? "no evaluation" : `value ${signed(value)} for White`;
  }
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

function words(state, thought) {
  if (state.outcome) return "The game is over.";
  if (!thought) return state.analysis.kind === "person" ? "Nobody looks at the position." : "…";
  if (thought.error) return thought.error;
  const value = thought.value == null ? "No value" : `Value ${signed(thought.value)} for White`;
  const work = thought.nodes === 1 ? "1 position" : `${thought.nodes} positions, depth ${thought.depth}`;
  return `${value}, ${work}`;
}
