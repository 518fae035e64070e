// What the players think, and what is said when one cannot.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setUp, start, Board } from "./board.js";

const given = setUp();

test("the policy's moves: arrows and percentages", async () => {
  const board = await given.open();
  await board.page.check("#arrows");
  await board.page.waitForSelector("#arrow-layer path", { state: "attached" });
  const shares = await board.page.$$eval("#lines .share", (cells) => cells.slice(1).map((cell) => parseFloat(cell.textContent)));
  assert.equal(shares.length, 6);
  assert.ok(shares.every((share, i) => i === 0 || share <= shares[i - 1]), shares.join());
  assert.match(await board.page.locator("#thought").textContent(), /^Value [+−]0\.\d\d for White, 1 position$/);
  await board.page.uncheck("#arrows");
  await board.page.waitForSelector("#arrow-layer path", { state: "detached" });
  await board.close();
});

test("the tree search's visits grow, and undo ends a search", async () => {
  const board = await given.open();
  await board.seat("black", "mcts", 1_000_000);
  await board.click("e2", "e4");
  const visits = () => board.page.$eval("#lines .visits:not(th)", (cell) => Number(cell.textContent));
  await board.page.waitForFunction(() => Number(document.querySelector("#lines td.visits")?.textContent) > 20);
  const first = await visits();
  await board.page.waitForFunction((first) => Number(document.querySelector("#lines td.visits")?.textContent) > 2 * first, first);
  await board.says(/^Black \(Tree search, 1000000 playouts\) is thinking…$/);
  // A reload does not disturb it.
  await board.page.reload();
  await board.atPly(1);
  await board.says(/is thinking/);
  await board.page.click("#undo");
  await board.atPly(0);
  await board.says("White to move");
  await board.close();
});

test("a player that cannot play says why, and another one helps", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fianchetto-"));
  const weights = join(folder, "weights.safetensors");
  await copyFile("../../weights/second-64x6.safetensors", weights);
  const { url, end } = await start("--weights", weights);
  await rm(weights);
  const page = await given.browser.newPage();
  await page.goto(url);
  const board = new Board(page, []);
  await board.ready();
  await board.seat("black", "mcts");
  await board.click("e2", "e4");
  await page.locator("#problem").filter({ hasText: "weights.safetensors" }).waitFor();
  await board.says("Black \\(Tree search, 800 playouts\\) cannot move");
  await page.click("#retry");
  await page.locator("#problem").filter({ hasText: "No such file" }).waitFor();
  await board.seat("black", "minimax", 1);
  await board.atPly(2);
  assert.equal(await page.locator("#problem").isHidden(), true);
  await page.close();
  end();
});

test("players are offered that suit the network", async () => {
  const offered = async (page) => {
    await page.waitForFunction(() => document.querySelector("#black-kind option[disabled]"));
    return page.$$eval("#black-kind option:enabled", (options) => options.map((option) => option.value));
  };
  const board = await given.open();
  assert.deepEqual(await offered(board.page), ["person", "policy", "mcts", "minimax"]);
  await board.close();
  const { url, end } = await start("--weights", "../../weights/first-pair.safetensors");
  const page = await given.browser.newPage();
  await page.goto(url);
  assert.deepEqual(await offered(page), ["person", "policy", "minimax", "from-to"]);
  await page.close();
  end();
});

test("a page whose program has ended says so", async () => {
  const { url, end } = await start();
  const page = await given.browser.newPage();
  await page.goto(url);
  await page.waitForSelector(".piece");
  end();
  await new Board(page, []).says("does not answer");
  await page.close();
});
