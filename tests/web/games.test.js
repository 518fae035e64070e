// Whole games, by mouse, by keyboard and by nobody.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp } from "./board.js";

const given = setUp();

const END = /^(1-0|0-1|1\/2-1\/2) – /;

test("a whole game by mouse against the policy", async () => {
  const board = await given.open();
  for (let moves = 0; ; moves++) {
    await board.says(/White to move|–/);
    const state = await board.state();
    if (state.outcome) break;
    // The move that the page says the network would play; every other one is dragged.
    await board.page.waitForFunction((ply) => {
      const current = document.querySelector("#moves [aria-current]");
      return Number(current.dataset.ply) === ply && document.querySelector("#lines .move");
    }, state.ply);
    const san = await board.page.locator("#lines .move").first().textContent();
    const { uci } = state.legal.find((move) => move.san === san) ?? state.legal[0];
    const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
    await (moves % 2 ? board.click(from, to) : board.drag(from, to));
    if (uci.length > 4) await board.page.keyboard.press(uci[4]);
    await board.page.waitForFunction((ply) => Number(document.querySelector("#moves [aria-current]").dataset.ply) > ply, state.ply);
  }
  assert.match(await board.status(), END);
  await board.close();
});

test("a whole game by keyboard alone against minimax", async () => {
  const board = await given.open();
  await board.seat("black", "minimax", 2);
  const { keyboard } = board.page;
  await board.page.locator("#moves button").first().focus();
  // The board has one place in the order of the tab key.
  await board.page.locator("#new").focus();
  await keyboard.press("Tab");
  const walk = async (to) => {
    for (;;) {
      const at = await board.page.evaluate(() => document.activeElement.dataset.square);
      const [right, up] = [to.charCodeAt(0) - at.charCodeAt(0), to[1] - at[1]];
      if (!right && !up) break;
      await keyboard.press(right > 0 ? "ArrowRight" : right < 0 ? "ArrowLeft" : up > 0 ? "ArrowUp" : "ArrowDown");
    }
    await keyboard.press("Enter");
  };
  for (;;) {
    await board.says(/White to move|–/);
    const state = await board.state();
    if (state.outcome) break;
    // Whatever comes first is bad enough to be mated soon.
    const { uci } = state.legal[state.ply % state.legal.length];
    await walk(uci.slice(0, 2));
    await walk(uci.slice(2, 4));
    if (uci.length > 4) await keyboard.press(uci[4]);
    await board.page.waitForFunction((ply) => Number(document.querySelector("#moves [aria-current]").dataset.ply) > ply, state.ply);
  }
  assert.match(await board.status(), END);
  const announced = await board.page.locator("#announce").textContent();
  assert.match(announced, /(White|Black): .*\. (White|Black|draw)/);
  await board.close();
});

test("watch mode pauses, goes on and comes to the end of a game", async () => {
  const board = await given.open();
  await board.page.selectOption("#white-kind", "minimax");
  await board.seat("white", "minimax", 1);
  // On a crowded machine the page does not show every position.
  await board.page.waitForFunction(() => document.querySelector("#moves [aria-current]").dataset.ply !== "0");
  await board.page.click("#pause");
  await board.says(/^Paused: /);
  const { ply } = await board.state();
  await board.page.fill("#pace", "0");
  await board.page.dispatchEvent("#pace", "change");
  assert.equal((await board.state()).pace, 0);
  assert.equal((await board.state()).ply, ply);
  await board.page.click("#pause");
  await board.says(END);
  const { outcome, moves } = await board.state();
  assert.ok(moves.length > ply && outcome.reason.length > 10);
  await board.close();
});
