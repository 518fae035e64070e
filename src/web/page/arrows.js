// What a player would play, as arrows on the board.

import { percent } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/// Arrows at most, and the least share that gets one.
const MOST = 4;
const LEAST = 0.02;

export class Arrows {
  #layer = document.createElementNS(SVG, "svg");

  constructor(frame, board) {
    this.board = board;
    this.#layer.id = "arrow-layer";
    this.#layer.setAttribute("viewBox", "0 0 8 8");
    this.#layer.setAttribute("aria-hidden", "true");
    frame.append(this.#layer);
  }

  /// Shows the candidates; the first one also where the player knows no shares.
  show(lines) {
    const shown = lines.filter(({ p }, i) => (p ?? (i === 0 ? 1 : 0)) >= LEAST).slice(0, MOST);
    // The best one lies on top, and labels over all arrows.
    shown.reverse();
    const sharing = (line) => shown.some((other) => other !== line && other.uci.slice(2, 4) === line.uci.slice(2, 4));
    this.#layer.replaceChildren(
      ...shown.map((line) => this.#arrow(line)),
      ...shown.filter(({ p }) => p != null).flatMap((line) => this.#label(line, sharing(line))),
    );
  }

  #ends(uci) {
    const [x1, y1] = this.board.place(uci.slice(0, 2)).map((at) => at + 0.5);
    const [x2, y2] = this.board.place(uci.slice(2, 4)).map((at) => at + 0.5);
    return { x1, y1, x2, y2, length: Math.hypot(x2 - x1, y2 - y1) };
  }

  #arrow({ uci, p }) {
    const { x1, y1, x2, y2, length } = this.#ends(uci);
    const share = p ?? 1;
    const half = 0.035 + 0.1 * Math.sqrt(share);
    const [head, tip] = [length - half * 2 - 0.22, length - 0.1];
    const path = document.createElementNS(SVG, "path");
    const wide = half + 0.11;
    path.setAttribute("d", `M.25 ${-half}H${head}V${-wide}L${tip} 0L${head} ${wide}V${half}H.25z`);
    const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    path.setAttribute("transform", `translate(${x1} ${y1}) rotate(${angle})`);
    path.setAttribute("opacity", (0.35 + 0.5 * Math.sqrt(share)).toFixed(2));
    return path;
  }

  /// The share, near the head; in the middle where arrows meet.
  #label({ uci, p }, meets) {
    const { x1, y1, x2, y2, length } = this.#ends(uci);
    const along = meets ? 0.5 : 1 - 0.5 / length;
    const [x, y] = [x1 + (x2 - x1) * along, y1 + (y2 - y1) * along];
    const words = percent(p).replace(" ", "");
    const text = document.createElementNS(SVG, "text");
    text.textContent = words;
    const box = document.createElementNS(SVG, "rect");
    const width = 0.17 * words.length + 0.2;
    for (const [name, value] of Object.entries({ x: x - width / 2, y: y - 0.19, width, height: 0.38, rx: 0.1 })) {
      box.setAttribute(name, value);
    }
    text.setAttribute("x", x);
    text.setAttribute("y", y + 0.01);
    return [box, text];
  }
}
