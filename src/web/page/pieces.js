// The drawings of the pieces, from one file.

import { PIECES } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

const sprite = await (await fetch("/pieces.svg")).text();
const shapes = new DOMParser().parseFromString(sprite, "image/svg+xml").querySelector("defs");
const store = document.createElementNS(SVG, "svg");
store.setAttribute("class", "unseen");
store.setAttribute("aria-hidden", "true");
store.append(shapes);
document.body.append(store);

/// The drawing of a piece such as `wn`.
export function drawing(piece) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `piece ${piece[0] === "w" ? "white" : "black"}-piece`);
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${PIECES[piece[1]]}`);
  svg.append(use);
  return svg;
}
