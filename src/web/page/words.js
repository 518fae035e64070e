// Chess in words.

export const PIECES = { k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn" };

export const SIDES = { white: "White", black: "Black" };

export const other = (side) => (side === "white" ? "black" : "white");

/// What kinds of player are called.
export const KINDS = {
  person: "Person",
  policy: "Policy",
  mcts: "Tree search",
  minimax: "Minimax",
  "from-to": "From/to",
};

/// The side that moves after `ply` moves.
export function sideAt(state, ply) {
  return (state.ply - ply) % 2 === 0 ? state.turn : other(state.turn);
}

/// Squares and their pieces, such as `wn`, from Forsyth-Edwards notation.
export function placement(fen) {
  const pieces = new Map();
  fen.split(" ")[0].split("/").forEach((row, i) => {
    let file = 0;
    for (const letter of row) {
      if (letter >= "1" && letter <= "8") {
        file += Number(letter);
        continue;
      }
      const kind = letter.toLowerCase();
      pieces.set("abcdefgh"[file] + (8 - i), (letter === kind ? "b" : "w") + kind);
      file += 1;
    }
  });
  return pieces;
}

/// A move in algebraic notation as one says it.
export function spoken(san) {
  const end = san.endsWith("#") ? ", checkmate" : san.endsWith("+") ? ", check" : "";
  const move = san.replace(/[+#]$/, "");
  if (move === "O-O") return `castles kingside${end}`;
  if (move === "O-O-O") return `castles queenside${end}`;
  const [, piece, from, takes, to, promotion] = move.match(/^([KQRBN]?)([a-h]?[1-8]?)(x?)([a-h][1-8])(?:=([QRBN]))?$/) ?? [];
  if (!to) return san;
  const name = PIECES[(piece || "p").toLowerCase()];
  const becomes = promotion ? `, becomes a ${PIECES[promotion.toLowerCase()]}` : "";
  return `${name}${from ? ` ${from}` : ""} ${takes ? "takes " : "to "}${to}${becomes}${end}`;
}

/// A seat in words, such as `Tree search, 800 playouts`.
export function seatName(seat) {
  if (seat.nodes) return `${KINDS[seat.kind]}, ${seat.nodes} playouts`;
  if (seat.depth) return `${KINDS[seat.kind]}, depth ${seat.depth}`;
  return KINDS[seat.kind];
}

/// How the game stands.
export function status(state) {
  if (state.outcome) return `${state.outcome.result} – ${state.outcome.reason}`;
  const side = SIDES[state.turn];
  const seat = state[state.turn];
  const check = state.check ? ", in check" : "";
  if (seat.kind === "person") return `${side} to move${check}`;
  const name = `${side} (${seatName(seat)})`;
  if (state.problem) return `${name} cannot move`;
  if (state.paused) return `Paused: ${name} to move${check}`;
  return `${name} is thinking${check}…`;
}

/// A score in pawns from White's side, or the mate that is coming.
export function score({ cp, mate }) {
  if (mate != null) return mate === 0 ? "mate" : `${mate > 0 ? "+" : "−"}M${Math.abs(mate)}`;
  if (cp == null) return "";
  return `${cp < 0 ? "−" : "+"}${Math.abs(cp / 100).toFixed(2)}`;
}

export function percent(share) {
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
}
