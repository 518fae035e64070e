// The page in a browser, for the tests: a fresh game in a tab of its own, and a person's hands.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

/// Everything may take its time on a crowded machine.
export const PATIENCE = 60_000;

const PROGRAM = process.env.FIANCHETTO ?? "../../target/release/fianchetto";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/// Starts the program; gives its address and its end.
export async function start(...options) {
  const program = spawn(PROGRAM, ["play", "--no-open", "--port", "0", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const line = (await createInterface({ input: program.stdout })[Symbol.asyncIterator]().next()).value;
  return { url: line.split(" ")[0], program, end: () => program.kill() };
}

/// For the tests of a file: a program that was started with `options`, and a browser.
export function setUp(...options) {
  const given = {};
  before(async () => {
    Object.assign(given, await start(...options));
    given.browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"], timeout: PATIENCE });
  });
  after(async () => {
    await given.browser?.close();
    given.end?.();
  });
  /// A tab with a game.
  given.open = async (context = {}) => {
    const tab = await given.browser.newContext({ viewport: { width: 1100, height: 800 }, ...context });
    const page = await tab.newPage();
    page.setDefaultTimeout(PATIENCE);
    const errors = [];
    page.on("pageerror", (error) => errors.push(error));
    await page.goto(given.url);
    const board = new Board(page, errors);
    await board.ready();
    return board;
  };
  return given;
}

/// The page of a game.
export class Board {
  constructor(page, errors) {
    this.page = page;
    this.errors = errors;
  }

  ready() {
    return this.page.waitForSelector(".piece");
  }

  square(name) {
    return this.page.locator(`[data-square="${name}"]`);
  }

  status() {
    return this.page.locator("#status").textContent();
  }

  /// Waits until the status says so.
  async says(words) {
    await this.page.waitForFunction(
      (words) => new RegExp(words).test(document.querySelector("#status").textContent),
      words.source ?? words,
    );
  }

  /// The game as the server has it.
  state() {
    return this.page.evaluate(async () => (await fetch(`/api/games/${sessionStorage.getItem("fianchetto-game")}`)).json());
  }

  /// Waits until the page shows so many plies.
  async atPly(ply) {
    await this.page.waitForSelector(`#moves button[data-ply="${ply}"][aria-current]`);
  }

  fen() {
    return this.page.locator("#fen").inputValue();
  }

  async placement() {
    return (await this.fen()).split(" ")[0];
  }

  /// The middle of a square in the window.
  async middle(name) {
    const box = await this.square(name).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }

  async drag(from, to) {
    const { mouse } = this.page;
    const [start, end] = [await this.middle(from), await this.middle(to)];
    await mouse.move(...start);
    await mouse.down();
    await mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2);
    await mouse.move(...end);
    await mouse.up();
  }

  async click(from, to) {
    await this.square(from).click();
    await this.square(to).click();
  }

  /// Chooses who plays a side.
  async seat(side, kind, number) {
    await this.page.selectOption(`#${side}-kind`, kind);
    if (number !== undefined) {
      const field = this.page.locator(`#${side} input`);
      await field.fill(String(number));
      await field.press("Enter");
    }
  }

  /// Begins a game by the dialog.
  async begin(person, text = "") {
    const { page } = this;
    await page.click("#new");
    await page.check(`[name=person][value=${person}]`);
    await page.fill("#new-text", text);
    await page.click("#new-form [type=submit]");
  }

  async begun(person, text) {
    await this.begin(person, text);
    await this.page.waitForSelector("#new-game", { state: "hidden" });
  }

  /// Ends a test: nothing went wrong on the page.
  async close() {
    assert.deepEqual(this.errors, []);
    await this.page.context().close();
  }
}
