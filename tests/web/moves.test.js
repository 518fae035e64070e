// Single moves and what surrounds them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp } from "./board.js";

const given = setUp();

const CASTLING = "r3k2r/pppq1ppp/8/8/8/8/PPPQ1PPP/R3K2R w KQkq - 0 1";
const PROMOTION = "7k/P7/8/8/8/8/8/K7 w - - 0 1";

test("legal moves are shown, the last move is marked, the policy replies", async () => {
  const board = await given.open();
  await board.square("e2").click();
  assert.deepEqual(await board.page.$$eval(".target", (cells) => cells.map((cell) => cell.dataset.square).sort()), ["e3", "e4"]);
  await board.page.keyboard.press("Escape");
  assert.equal(await board.page.locator(".target").count(), 0);
  await board.click("e2", "e4");
  await board.atPly(2);
  const state = await board.state();
  assert.equal(state.moves[0].uci, "e2e4");
  const last = state.moves[1].uci;
  assert.deepEqual(
    new Set(await board.page.$$eval(".last", (cells) => cells.map((cell) => cell.dataset.square))),
    new Set([last.slice(0, 2), last.slice(2, 4)]),
  );
  // Nothing happens by a move that is not legal.
  await board.drag("d2", "d5");
  assert.equal((await board.state()).ply, 2);
  await board.close();
});

test("a pawn becomes a knight, by click or by key, or stays", async () => {
  const board = await given.open();
  await board.begun("both", PROMOTION);
  await board.drag("a7", "a8");
  await board.page.click("#promotion-cancel");
  assert.equal((await board.state()).ply, 0);
  await board.click("a7", "a8");
  await board.page.keyboard.press("Escape");
  await board.page.waitForSelector("#promotion", { state: "hidden" });
  assert.equal((await board.state()).ply, 0);
  await board.drag("a7", "a8");
  await board.page.keyboard.press("n");
  await board.atPly(1);
  assert.equal(await board.placement(), "N6k/8/8/8/8/8/8/K7");
  await board.begun("both", PROMOTION);
  await board.click("a7", "a8");
  await board.page.click("#promotion-pieces button:has-text('Rook')");
  await board.atPly(1);
  assert.equal(await board.placement(), "R6k/8/8/8/8/8/8/K7");
  await board.close();
});

test("castling to both sides, by the king's two squares and onto the rook", async () => {
  const board = await given.open();
  await board.begun("both", CASTLING);
  await board.drag("e1", "g1");
  await board.atPly(1);
  await board.drag("e8", "a8");
  await board.atPly(2);
  assert.equal(await board.placement(), "2kr3r/pppq1ppp/8/8/8/8/PPPQ1PPP/R4RK1");
  await board.begun("both", CASTLING);
  await board.click("e1", "a1");
  await board.atPly(1);
  await board.click("e8", "g8");
  await board.atPly(2);
  assert.equal(await board.placement(), "r4rk1/pppq1ppp/8/8/8/8/PPPQ1PPP/2KR3R");
  await board.close();
});

test("undo and redo", async () => {
  const board = await given.open();
  for (const [ply, from, to] of [[2, "g1", "f3"], [4, "g2", "g3"]]) {
    await board.click(from, to);
    await board.atPly(ply);
  }
  const played = (await board.state()).moves;
  await board.page.click("#undo");
  await board.atPly(2);
  await board.page.click("#undo");
  await board.atPly(0);
  assert.equal(await board.page.locator("#undo").isDisabled(), true);
  await board.page.click(`#moves button[data-ply="3"]`);
  await board.atPly(3);
  await board.says(/^Paused: Black/);
  await board.page.click("#redo");
  await board.atPly(4);
  assert.deepEqual((await board.state()).moves, played);
  // Another move than before: what followed is gone.
  await board.page.click("#undo");
  await board.atPly(2);
  await board.click("d2", "d4");
  await board.atPly(4);
  const { moves } = await board.state();
  assert.deepEqual([moves.length, moves[2].uci], [4, "d2d4"]);
  await board.close();
});

test("the board flips, and lies on Black's side for Black", async () => {
  const board = await given.open();
  const topLeft = () => board.page.locator(".square").first().getAttribute("data-square");
  assert.equal(await topLeft(), "a8");
  await board.page.click("#flip");
  assert.equal(await topLeft(), "h1");
  await board.click("e2", "e4");
  await board.atPly(2);
  await board.begun("black");
  await board.atPly(1);
  assert.equal(await topLeft(), "h1");
  const reply = (await board.state()).legal[0].uci;
  await board.drag(reply.slice(0, 2), reply.slice(2, 4));
  await board.atPly(3);
  await board.close();
});

test("moves are typed in either notation, and refused with a reason", async () => {
  const board = await given.open();
  const type = async (text) => {
    await board.page.fill("#typed-move", text);
    await board.page.press("#typed-move", "Enter");
  };
  await type("Nf3");
  await board.atPly(2);
  await type("g2g3");
  await board.atPly(4);
  await type("Ke3");
  await board.page.waitForFunction(() => document.querySelector("#typed-error").textContent.includes("not legal"));
  assert.equal((await board.state()).ply, 4);
  await board.close();
});

test("two tabs have a game each; a reload keeps it; what is sent twice is refused", async () => {
  const [one, two] = [await given.open(), await given.open()];
  await one.click("e2", "e4");
  await two.click("d2", "d4");
  await one.atPly(2);
  await two.atPly(2);
  const states = await Promise.all([one.state(), two.state()]);
  assert.deepEqual(states.map((state) => state.moves[0].uci), ["e2e4", "d2d4"]);
  await one.page.reload();
  await one.atPly(2);
  assert.equal((await one.state()).id, states[0].id);
  const statuses = await one.page.evaluate(async (id) => {
    const play = () => fetch(`/api/games/${id}/move`, { method: "POST", body: JSON.stringify({ ply: 2, move: "a2a3" }) });
    return (await Promise.all([play(), play()])).map((answer) => answer.status).sort();
  }, states[0].id);
  assert.deepEqual(statuses, [200, 409]);
  await one.atPly(4);
  await one.close();
  await two.close();
});
