// Pieces drawn across the board by mouse, pen or finger.

/// Pixels that a pointer may tremble within a click.
const TREMBLE = 5;

/// `begin(square)` says whether a piece may be dragged, `begun(square)` hears that it is, `dropped(from, to)` where it was put
/// down. A finger that drags anything else scrolls the page; see `touch-action` in the style sheet.
export function draggable(board, { begin, begun, dropped }) {
  let drag;

  const squareAt = (event) => {
    const cell = document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.matches(".square"));
    return board.contains(cell) ? cell : undefined;
  };

  const end = () => {
    if (!drag) return;
    const { piece, cell, over } = drag;
    piece.style.transform = "";
    piece.classList.remove("dragged");
    cell.classList.remove("dragging");
    over?.classList.remove("over");
    drag = undefined;
  };

  board.addEventListener("pointerdown", (event) => {
    if (drag || !event.isPrimary || event.button !== 0) return;
    const cell = event.target.closest(".square");
    const piece = cell?.querySelector(".piece");
    if (!piece || !begin(cell.dataset.square)) return;
    drag = { id: event.pointerId, x: event.clientX, y: event.clientY, cell, piece, from: cell.dataset.square };
  });

  board.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.id) return;
    const { x, y, cell, piece, from } = drag;
    const [right, down] = [event.clientX - x, event.clientY - y];
    if (!drag.moving) {
      if (Math.hypot(right, down) < TREMBLE) return;
      drag.moving = true;
      board.setPointerCapture(event.pointerId);
      begun(from);
      piece.classList.add("dragged");
      cell.classList.add("dragging");
    }
    // The piece may be gone: a move was taken back, or the game is another one.
    if (!piece.isConnected) return end();
    const box = cell.getBoundingClientRect();
    const [middleX, middleY] = [box.x + box.width / 2, box.y + box.height / 2];
    piece.style.transform = `translate(${event.clientX - middleX}px, ${event.clientY - middleY}px) scale(1.12)`;
    const over = squareAt(event);
    if (over !== drag.over) {
      drag.over?.classList.remove("over");
      over?.classList.add("over");
      drag.over = over;
    }
  });

  board.addEventListener("pointerup", (event) => {
    if (event.pointerId !== drag?.id) return;
    const { moving, from, piece, cell } = drag;
    const to = squareAt(event)?.dataset.square ?? from;
    const there = piece.isConnected;
    end();
    if (!moving) return;
    // A mouse that was captured clicks the board, which means nothing; a finger clicks the square it left.
    if (event.pointerType !== "mouse") swallowClick(cell);
    if (there) dropped(from, to);
  });

  board.addEventListener("pointercancel", end);
  addEventListener("keydown", (event) => event.key === "Escape" && end());
}

/// Ignores a click on the square that a piece has just left, and on no other one.
function swallowClick(cell) {
  const swallow = (event) => event.stopPropagation();
  cell.addEventListener("click", swallow);
  setTimeout(() => cell.removeEventListener("click", swallow), 60);
}
