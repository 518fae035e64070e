// What a pawn becomes: a dialog with four pieces, by pointer or by the keys Q, R, B and N.

import { drawing } from "./pieces.js";
import { PIECES } from "./words.js";

const dialog = document.querySelector("#promotion");
const row = document.querySelector("#promotion-pieces");

/// Asks for a piece for `color` (`w` or `b`); gives its letter, or nothing when cancelled.
export function choosePromotion(color) {
  return new Promise((resolve) => {
    const close = (letter) => {
      dialog.onclose = null;
      dialog.close();
      resolve(letter);
    };
    row.replaceChildren(
      ...["q", "r", "b", "n"].map((letter) => {
        const button = document.createElement("button");
        button.type = "button";
        const name = PIECES[letter];
        button.append(drawing(color + letter), `${name[0].toUpperCase()}${name.slice(1)} (${letter.toUpperCase()})`);
        button.onclick = () => close(letter);
        return button;
      }),
    );
    dialog.onkeydown = (event) => {
      const letter = event.key.toLowerCase();
      if ("qrbn".includes(letter) && !event.ctrlKey && !event.metaKey && !event.altKey) close(letter);
    };
    dialog.onclick = (event) => event.target === dialog && close();
    document.querySelector("#promotion-cancel").onclick = () => close();
    dialog.onclose = () => resolve();
    dialog.showModal();
  });
}
