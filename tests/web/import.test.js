// Positions and games from text and files, and back.

import assert from "node:assert/strict";
import { readFile, writeFile, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Board, setUp, start } from "./board.js";

const given = setUp();

const error = (board) => board.page.locator("#new-error");

test("a good position, one that is mended and bad ones", async () => {
  const board = await given.open();
  await board.begun("both", "4k3/8/8/8/8/8/4P3/4K3 w K - 0 1");
  await board.page.waitForFunction(() => document.querySelector("#notes").textContent.includes("'K' dropped"));
  assert.equal(await board.placement(), "4k3/8/8/8/8/8/4P3/4K3");
  for (const [text, reason] of [
    ["4k3/8/8/8/8/8/4P3 w - - 0 1", "7 rank"],
    ["4k3/8/8/8/8/8/4P3/4X3 w - - 0 1", "'X'"],
    ["8/8/8/8/8/8/8/4K3 w - - 0 1", "king"],
  ]) {
    await board.begin("both", text);
    await error(board).filter({ hasText: reason }).waitFor();
    await board.page.click("#new-cancel");
  }
  assert.equal(await board.placement(), "4k3/8/8/8/8/8/4P3/4K3");
  await board.close();
});

test("a mated position says who won and takes no move", async () => {
  const board = await given.open();
  await board.begun("both", "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3");
  await board.says("0-1 – Black wins by checkmate");
  await board.square("e2").click();
  assert.equal(await board.page.locator(".target").count(), 0);
  await board.close();
});

const GAME = `[White "Anderssen"]
[Black "Kieseritzky"]
[Result "1-0"]

1. e4 e5 2. f4 {the gambit} exf4 3. Bc4 (3. Nf3 g5) Qh4+ $6 4. Kf1 b5 5.Bxb5 Nf6 1-0
`;

test("a good game and a bad one, from a file", async () => {
  const board = await given.open();
  const folder = await mkdtemp(join(tmpdir(), "fianchetto-"));
  const load = async (name, text) => {
    const file = join(folder, name);
    await writeFile(file, text);
    await board.page.click("#new");
    await board.page.check("[name=person][value=both]");
    await board.page.setInputFiles("#new-file", file);
    await board.page.waitForFunction((text) => document.querySelector("#new-text").value === text, text);
    await board.page.click("#new-form [type=submit]");
  };
  await load("good.pgn", GAME);
  await board.atPly(10);
  await board.page.click(`#moves button[data-ply="6"]`);
  await board.atPly(6);
  assert.equal(await board.placement(), "rnb1kbnr/pppp1ppp/8/8/2B1Pp1q/8/PPPP2PP/RNBQK1NR");
  await load("bad.pgn", GAME.replace("4. Kf1", "4. Ke3"));
  await error(board).filter({ hasText: 'move 4.: move "Ke3"' }).waitFor();
  await board.page.click("#new-cancel");
  await load("junk.pgn", "PK\u0003\u0004 this is no game");
  await error(board).filter({ hasText: "move 1." }).waitFor();
  await board.page.click("#new-cancel");
  await board.atPly(6);

  const waiting = board.page.waitForEvent("download");
  await board.page.click("#pgn");
  const saved = await readFile(await (await waiting).path(), "utf8");
  assert.match(saved, /^\[White "Anderssen"\]\n\[Black "Kieseritzky"\]\n\[Result "1-0"\]\n/);
  assert.match(saved, /\n1\. e4 e5 2\. f4 {the gambit} 2\.\.\. exf4 3\. Bc4 \(3\. Nf3 g5\) 3\.\.\. Qh4\+ \$6 4\. Kf1 b5\n5\. Bxb5 Nf6 1-0\n$/);

  // The list of moves is one stop of the tab key.
  assert.equal(await board.page.locator("#moves button[tabindex='0']").count(), 1);
  await board.page.locator("#moves [aria-current]").focus();
  await board.page.keyboard.press("ArrowLeft");
  await board.page.keyboard.press("ArrowUp");
  await board.page.keyboard.press("Enter");
  await board.atPly(3);
  await board.page.locator("#announce").filter({ hasText: "Back to pawn to f4." }).waitFor();
  await board.close();
});

test("of a collection of games the first one", async () => {
  const board = await given.open();
  const file = join(await mkdtemp(join(tmpdir(), "fianchetto-")), "many.pgn");
  await writeFile(file, (GAME + "\n").repeat(4000));
  await board.page.click("#new");
  await board.page.setInputFiles("#new-file", file);
  await board.page.waitForFunction(() => document.querySelector("#new-text").value !== "");
  await board.page.click("#new-form [type=submit]");
  await board.atPly(10);
  assert.equal(await board.page.locator("#notes").textContent(), "Note: only the first game was read");
  await board.close();
});

test("a file in Latin-1, and one that is too long", async () => {
  const board = await given.open();
  const folder = await mkdtemp(join(tmpdir(), "fianchetto-"));
  const load = async (name, bytes) => {
    await writeFile(join(folder, name), bytes);
    await board.page.click("#new");
    await board.page.setInputFiles("#new-file", join(folder, name));
    await board.page.waitForFunction(() => document.querySelector("#new-text").value !== "");
    await board.page.click("#new-form [type=submit]");
  };
  await load("latin.pgn", Buffer.from('[White "M\u00fcller"]\n\n1. e4 {Gr\u00fc\u00dfe} *\n', "latin1"));
  await board.atPly(1);
  const waiting = board.page.waitForEvent("download");
  await board.page.click("#pgn");
  const saved = await readFile(await (await waiting).path(), "utf8");
  assert.match(saved, /"M\u00fcller"/);
  assert.match(saved, /{Gr\u00fc\u00dfe}/);
  // A character of two bytes where the file is cut.
  await load("long.pgn", `1. e4 {${"\u00fc".repeat(200_000)}} e5 *`);
  await error(board).filter({ hasText: "Only the first 100000 bytes of the file are read" }).waitFor();
  await board.close();
});

test("a program that is started anew gets the game back", async () => {
  const first = await start();
  const page = await given.browser.newPage();
  await page.goto(first.url);
  const board = new Board(page, []);
  await board.ready();
  await board.seat("black", "person");
  await board.click("e2", "e4");
  await board.click("c7", "c5");
  await board.atPly(2);
  first.end();
  await board.says("does not answer");
  const second = await start("--port", new URL(first.url).port);
  assert.equal(second.url, first.url);
  await board.says("White to move");
  await board.atPly(2);
  assert.equal((await board.state()).moves.map(({ san }) => san).join(" "), "e4 c5");
  await page.close();
  second.end();
});

test("a copied tab has a game of its own, which begins as a copy", async () => {
  const board = await given.open();
  await board.seat("black", "person");
  await board.click("e2", "e4");
  await board.atPly(1);
  const [page] = await Promise.all([board.page.waitForEvent("popup"), board.page.evaluate(() => void window.open("/"))]);
  const copy = new Board(page, []);
  await copy.atPly(1);
  await copy.click("e7", "e5");
  await copy.atPly(2);
  const [one, other] = [await board.state(), await copy.state()];
  assert.notEqual(one.id, other.id);
  assert.deepEqual([one.ply, other.ply], [1, 2]);
  // A reload is no copy.
  await page.reload();
  await copy.atPly(2);
  assert.equal((await copy.state()).id, other.id);
  await board.close();
});
