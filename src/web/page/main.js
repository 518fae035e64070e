// The page: what the game tells is shown, what the person does is told to the game.

import { Game } from "./api.js";
import { Arrows } from "./arrows.js";
import { Board } from "./board.js";
import { Moves } from "./moves.js";
import { ANALYSTS, PLAYERS, Seat } from "./players.js";
import { Thoughts } from "./thoughts.js";
import { SIDES, other, sideAt, spoken, status } from "./words.js";

const element = (id) => document.querySelector(`#${id}`);

let state;

const game = new Game({ onState: show, onThoughts: (thoughts) => views.thoughts.setThoughts(thoughts), onLost: lost });
const board = new Board(element("board"), (uci) => ask(game.play(state.ply, uci)));
const views = {
  thoughts: new Thoughts(new Arrows(element("frame"), board)),
  moves: new Moves(element("moves"), (ply) => ask(game.goTo(ply))),
  white: new Seat(element("white"), "White", PLAYERS, (white) => ask(game.set({ white }))),
  black: new Seat(element("black"), "Black", PLAYERS, (black) => ask(game.set({ black }))),
  analysis: new Seat(element("analysis"), "Ask", ANALYSTS, (analysis) => ask(game.set({ analysis }))),
};

/// Waits for a change; what was refused is said.
async function ask(change) {
  try {
    await change;
    complain("");
    return true;
  } catch (error) {
    complain(error.message);
    return false;
  }
}

function complain(message) {
  element("typed-error").textContent = message;
}

function say(text) {
  element("announce").textContent = text;
}

const isPerson = (side) => state[side].kind === "person";

/// Whether two engines play each other.
const watching = () => !isPerson("white") && !isPerson("black");

function show(next) {
  // An answer may come later than the news of what followed.
  if (next.id === state?.id && next.version < state.version) return;
  const before = state;
  state = next;
  const isOther = before?.id !== state.id || before.start !== state.start;
  if (isOther) face();
  board.show(state);
  views.thoughts.setState(state);
  views.moves.show(state);
  views.white.show(state.white, state.players);
  views.black.show(state.black, state.players);
  views.analysis.show(state.analysis, state.players);
  announce(before);

  element("status").textContent = status(state);
  element("problem").hidden = !state.problem;
  element("problem-text").textContent = state.problem ?? "";
  element("undo").disabled = undoTo() === undefined;
  element("redo").disabled = state.ply === state.moves.length;
  const pause = element("pause");
  pause.hidden = Boolean(state.outcome || state.problem || !(state.paused || watching()));
  pause.textContent = state.paused ? "Continue" : "Pause";
  element("pace-row").hidden = !watching();
  if (document.activeElement !== element("pace")) showPace(state.pace);
  element("fen").value = state.fen;
  element("pgn").href = game.path("pgn");
  element("notes").textContent = state.notes.length ? `Note: ${state.notes.join("; ")}` : "";
}

/// Turns the board to the person's side.
function face() {
  setFlipped(isPerson("black") && !isPerson("white"));
}

function setFlipped(flipped) {
  board.flip(flipped);
  element("bar").classList.toggle("flipped", flipped);
  if (state) views.thoughts.setState(state);
}

/// Tells a screen reader what has happened.
function announce(before) {
  if (!before || before.id !== state.id || before.position === state.position) {
    if (state.problem && before?.problem !== state.problem) say("");
    return;
  }
  const end = state.outcome ? `. ${state.outcome.reason}` : "";
  const common = state.moves.slice(0, Math.min(before.ply, state.ply));
  const isSame = before.start === state.start && common.every(({ uci }, i) => uci === before.moves[i].uci);
  if (state.ply === 0) {
    say(`Start of the game. ${status(state)}`);
  } else if (!isSame) {
    say(`Another game, ${state.ply} moves long. ${status(state)}`);
  } else {
    const move = spoken(state.moves[state.ply - 1].san);
    const side = SIDES[sideAt(state, state.ply - 1)];
    say(state.ply > before.ply ? `${side}: ${move}${end}` : `Back to ${move}. ${status(state)}`);
  }
}

function lost(is) {
  const text = "The program does not answer. Is it still running?";
  if (is) {
    element("status").textContent = text;
  } else if (state) {
    element("status").textContent = status(state);
    complain("");
  }
}

/// The ply that undo goes to: against an engine, where the person was to move last.
function undoTo() {
  for (let ply = state.ply - 1; ply >= 0; ply--) {
    if (watching() || isPerson(sideAt(state, ply))) return ply;
  }
  return undefined;
}

function redoTo() {
  for (let ply = state.ply + 1; ply < state.moves.length; ply++) {
    if (watching() || isPerson(sideAt(state, ply))) return ply;
  }
  return state.moves.length;
}

function showPace(pace) {
  element("pace").value = pace;
  element("pace-text").textContent = `${(pace / 1000).toFixed(1)} s`;
}

element("undo").addEventListener("click", () => ask(game.goTo(undoTo())));
element("redo").addEventListener("click", () => ask(game.goTo(redoTo())));
element("flip").addEventListener("click", () => setFlipped(!board.flipped));
element("pause").addEventListener("click", () => ask(game.set({ paused: !state.paused })));
element("retry").addEventListener("click", () => ask(game.set({ paused: false })));
element("pace").addEventListener("input", (event) => showPace(event.target.value));
element("pace").addEventListener("change", (event) => ask(game.set({ pace: Number(event.target.value) })));

element("typed").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = element("typed-move");
  const text = field.value.trim();
  if (!text) return complain("Type a move, such as Nf3 or g1f3.");
  if (await ask(game.play(state.ply, text))) field.value = "";
});

element("copy").addEventListener("click", async () => {
  element("fen").select();
  await navigator.clipboard.writeText(state.fen).catch(() => document.execCommand("copy"));
  say("The position was copied");
});

const dialog = element("new-game");

/// Bytes of a file that are read. Only the first game counts: of a collection this is enough, and no more than the program takes.
const READ = 100_000;

/// What was read of a file that is longer.
let cut;

/// A text in UTF-8, or in Latin-1 as the PGN standard has it.
function decoded(bytes) {
  const [first, second] = new Uint8Array(bytes);
  if (first + second === 0xff + 0xfe) return new TextDecoder(first === 0xff ? "utf-16le" : "utf-16be").decode(bytes);
  try {
    // A character may be cut at the end.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
}

element("new").addEventListener("click", () => {
  const person = watching() ? "none" : isPerson("white") ? (isPerson("black") ? "both" : "white") : "black";
  dialog.querySelector(`[value="${person}"]`).checked = true;
  element("new-text").value = "";
  element("new-file").value = "";
  element("new-error").hidden = true;
  dialog.showModal();
});
element("new-cancel").addEventListener("click", () => dialog.close());
element("new-file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) element("new-text").value = decoded(await file.slice(0, READ).arrayBuffer());
  cut = file?.size > READ ? element("new-text").value.trim() : undefined;
});
element("new-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const person = new FormData(event.target).get("person") ?? dialog.querySelector("[name=person]:checked").value;
  const text = element("new-text").value.trim();
  // A position begins with seven strokes in a row of letters and digits.
  const isFen = /^[^\s[{(;%]*(\/\S*){3}/.test(text);
  const beginning = text === "" ? {} : isFen || text === "startpos" ? { fen: text } : { pgn: text };
  try {
    await game.begin({ ...beginning, ...seats(person) });
    dialog.close();
    complain("");
    face();
  } catch (error) {
    const why = text === cut ? `Only the first ${READ} bytes of the file are read, enough for one game. ` : "";
    element("new-error").textContent = why + error.message;
    element("new-error").hidden = false;
  }
});

/// The seats of a new game; engines that sit stay.
function seats(person) {
  const engines = [state.white, state.black].filter((seat) => seat.kind !== "person");
  const engine = engines[0] ?? { kind: "policy" };
  const at = (side) => {
    if (person === side || person === "both") return { kind: "person" };
    return isPerson(side) ? engine : state[side];
  };
  return { white: at("white"), black: at(other("white")) };
}

game.open().catch((error) => {
  element("status").textContent = error.message;
});
