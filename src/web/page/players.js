// Who plays each side and who looks on: a choice, and a number for those that want one.

import { KINDS } from "./words.js";

/// What a kind of player wants to know: its name in a seat, label, range and what is usual.
const NUMBERS = {
  mcts: { key: "nodes", label: "playouts", min: 1, max: 1_000_000, usual: 800 },
  minimax: { key: "depth", label: "plies", min: 1, max: 12, usual: 4 },
  "from-to": { key: "depth", label: "plies", min: 1, max: 12, usual: 3 },
};

export class Seat {
  #select = document.createElement("select");
  #number = document.createElement("input");
  #shown;

  /// `change` is called with a seat such as `{"kind": "mcts", "nodes": 800}`.
  constructor(root, name, kinds, change) {
    const label = document.createElement("label");
    label.textContent = name;
    this.#select.id = `${root.id}-kind`;
    label.htmlFor = this.#select.id;
    for (const [kind, words] of Object.entries(kinds)) this.#select.add(new Option(words, kind));
    this.#number.type = "number";
    this.#number.required = true;
    root.append(label, this.#select, this.#number);
    this.name = name;
    this.#select.addEventListener("change", () => {
      this.#label(NUMBERS[this.#select.value]?.usual);
      change(this.seat());
    });
    this.#number.addEventListener("change", () => this.#number.reportValidity() && change(this.seat()));
    // A number that was refused does not stay.
    this.#number.addEventListener("blur", () => this.#number.validity.valid || this.show(...this.#shown));
  }

  seat() {
    const kind = this.#select.value;
    const number = NUMBERS[kind];
    return number ? { kind, [number.key]: Number(this.#number.value) } : { kind };
  }

  /// Shows who sits, of those who could.
  show(seat, players) {
    this.#shown = [seat, players];
    for (const option of this.#select.options) option.hidden = option.disabled = ![...players, "person"].includes(option.value);
    const number = NUMBERS[seat.kind];
    this.#select.value = seat.kind;
    // Depth 0 leaves it to the player.
    const value = number && (seat[number.key] || number.usual);
    if (document.activeElement !== this.#number || !number) this.#label(value);
  }

  #label(value) {
    const number = NUMBERS[this.#select.value];
    this.#number.hidden = !number;
    if (!number) return;
    this.#number.min = number.min;
    this.#number.max = Math.max(number.max, value);
    this.#number.value = value;
    this.#number.title = number.label;
    this.#number.setAttribute("aria-label", `${this.name}: ${number.label}`);
  }
}

export const PLAYERS = KINDS;

export const ANALYSTS = { ...KINDS, person: "Off" };
