// The board: 64 squares that are buttons, worked by mouse, touch, keyboard or screen reader.

import { draggable } from "./drag.js";
import { drawing } from "./pieces.js";
import { choosePromotion } from "./promotion.js";
import { PIECES, placement } from "./words.js";

export class Board {
  #cells = [];
  #state;
  #pieces = new Map();
  #chosen;
  #focus = "e2";
  #asking = false;
  flipped = false;

  /// `onMove` is called with a legal move in UCI notation.
  constructor(root, onMove) {
    this.root = root;
    this.onMove = onMove;
    for (let row = 0; row < 8; row++) {
      const line = document.createElement("div");
      line.setAttribute("role", "row");
      for (let column = 0; column < 8; column++) {
        const cell = document.createElement("button");
        cell.type = "button";
        cell.setAttribute("role", "gridcell");
        cell.className = (row + column) % 2 ? "square dark" : "square";
        if (row === 7) {
          const file = document.createElement("span");
          file.className = "file";
          cell.append(file);
        }
        this.#cells.push(cell);
        line.append(cell);
      }
      root.append(line);
    }
    root.addEventListener("click", (event) => this.#click(event.target.closest(".square")));
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("focusin", (event) => this.#rove(event.target.dataset.square));
    draggable(root, {
      begin: (square) => this.#movable(square) && !this.#asking,
      begun: (square) => this.#choose(square),
      dropped: (from, to) => this.#put(from, to),
    });
    this.#name();
  }

  /// Shows a state of the game.
  show(state) {
    const before = this.#state;
    this.#state = state;
    if (before?.position !== state.position || before?.id !== state.id) {
      this.#chosen = undefined;
      this.#pieces = placement(state.fen);
      this.#draw();
      const follows = before && before.id === state.id && state.ply === before.ply + 1;
      if (follows) this.#slide(state.moves[state.ply - 1].uci);
    } else {
      this.#draw();
    }
  }

  flip(flipped) {
    this.flipped = flipped;
    this.#name();
    if (this.#state) this.#draw();
  }

  /// Column and row of a square, from the top left as it lies.
  place(square) {
    const [column, row] = ["abcdefgh".indexOf(square[0]), 8 - square[1]];
    return this.flipped ? [7 - column, 7 - row] : [column, row];
  }

  #cell(square) {
    const [column, row] = this.place(square);
    return this.#cells[8 * row + column];
  }

  /// Names the squares as they lie now.
  #name() {
    this.#cells.forEach((cell, i) => {
      const [column, row] = this.flipped ? [7 - (i % 8), 7 - (i >> 3)] : [i % 8, i >> 3];
      cell.dataset.square = "abcdefgh"[column] + (8 - row);
      if (i % 8 === 0) cell.dataset.rank = 8 - row;
      const file = cell.querySelector(".file");
      if (file) file.textContent = "abcdefgh"[column];
    });
    this.#rove(this.#focus);
  }

  /// Makes a square the one that the tab key goes to.
  #rove(square) {
    if (!square) return;
    this.#focus = square;
    for (const cell of this.#cells) cell.tabIndex = cell.dataset.square === square ? 0 : -1;
  }

  /// The moves that the person may make from a square.
  #movesFrom(square) {
    const { legal, turn } = this.#state ?? {};
    if (this.#state?.[turn]?.kind !== "person") return [];
    return legal.filter((move) => move.uci.startsWith(square));
  }

  #movable(square) {
    return this.#movesFrom(square).length > 0;
  }

  #choose(square) {
    this.#chosen = square;
    this.#draw();
  }

  #click(cell) {
    if (!cell || this.#asking) return;
    const square = cell.dataset.square;
    if (this.#chosen === square) this.#choose(undefined);
    else if (this.#chosen) this.#put(this.#chosen, square);
    else if (this.#movable(square)) this.#choose(square);
  }

  /// Puts the piece of one square on another, if it may go there; takes another piece up instead, if that is what is
  /// there.
  async #put(from, to) {
    const moves = this.#movesFrom(from).filter((move) => move.uci.slice(2, 4) === to || move.rook === to);
    if (moves.length === 0) {
      this.#choose(from !== to && this.#movable(to) ? to : undefined);
      return;
    }
    let uci = moves[0].uci;
    if (moves.length > 1) {
      this.#asking = true;
      const position = this.#state.position;
      const piece = await choosePromotion(this.#state.turn[0]);
      this.#asking = false;
      if (!piece || this.#state.position !== position) return this.#choose(undefined);
      uci = uci.slice(0, 4) + piece;
    }
    this.#choose(undefined);
    this.onMove(uci);
  }

  #key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const at = this.#cells.indexOf(event.target.closest(".square"));
    let [column, row] = [at % 8, at >> 3];
    if (event.key === "Escape") {
      this.#choose(undefined);
      return;
    } else if (event.key === "Home") {
      column = 0;
    } else if (event.key === "End") {
      column = 7;
    } else if (steps[event.key]) {
      column = Math.min(7, Math.max(0, column + steps[event.key][0]));
      row = Math.min(7, Math.max(0, row + steps[event.key][1]));
    } else {
      return;
    }
    event.preventDefault();
    this.#cells[8 * row + column].focus();
  }

  #draw() {
    const state = this.#state;
    const targets = new Map();
    for (const move of this.#chosen ? this.#movesFrom(this.#chosen) : []) {
      targets.set(move.uci.slice(2, 4), move);
      if (move.rook) targets.set(move.rook, move);
    }
    const last = state.ply > 0 ? state.moves[state.ply - 1].uci : "";
    for (const cell of this.#cells) {
      const square = cell.dataset.square;
      const piece = this.#pieces.get(square);
      const drawn = cell.querySelector(".piece");
      if (drawn?.dataset.piece !== piece) {
        drawn?.remove();
        if (piece) {
          const svg = drawing(piece);
          svg.dataset.piece = piece;
          cell.append(svg);
        }
      }
      const isCheck = state.check && piece === `${state.turn[0]}k`;
      const marks = {
        occupied: piece,
        movable: this.#movable(square),
        chosen: square === this.#chosen,
        target: targets.has(square),
        last: last.slice(0, 2) === square || last.slice(2, 4) === square,
        check: isCheck,
      };
      for (const [name, is] of Object.entries(marks)) cell.classList.toggle(name, Boolean(is));
      const label = [square, piece ? `${piece[0] === "w" ? "white" : "black"} ${PIECES[piece[1]]}` : "empty"];
      if (isCheck) label.push("in check");
      if (marks.target) label.push("can go here");
      cell.setAttribute("aria-label", label.join(", "));
      cell.setAttribute("aria-selected", String(marks.chosen));
    }
  }

  /// Shows by a short slide which piece has moved.
  #slide(uci) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)].map((square) => this.#cell(square).getBoundingClientRect());
    const piece = this.#cell(uci.slice(2, 4)).querySelector(".piece");
    const start = `translate(${from.x - to.x}px, ${from.y - to.y}px)`;
    piece?.animate([{ transform: start }, { transform: "none" }], { duration: 80, easing: "ease-out" });
  }
}
