// The game on the server: what it is, what happens to it, what the page asks of it.

const KEY = "fianchetto-game";

export class Refused extends Error {}

async function request(method, path, body) {
  const answer = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) }).catch(() => {
    throw new Refused("The program does not answer.");
  });
  const json = await answer.json();
  return { status: answer.status, json };
}

/// The moves of a state as a PGN text.
function written({ start, moves }) {
  return `[SetUp "1"]\n[FEN "${start}"]\n\n${moves.map(({ san }) => san).join(" ")} *`;
}

/// Whether no other tab has this game: one that was copied from another knows the other's game by name.
function claim(id) {
  return new Promise((resolve) => {
    if (!navigator.locks) return resolve(true);
    const held = () => {
      resolve(true);
      return new Promise(() => {});
    };
    // After a reload the page before may hold it for a moment still.
    navigator.locks.request(`${KEY}-${id}`, { signal: AbortSignal.timeout(300) }, held).catch(() => resolve(false));
  });
}

/// Calls `onState`, `onThoughts` and `onLost` as things happen. The game belongs to the browser tab: it is found again after a
/// reload.
export class Game {
  #id = sessionStorage.getItem(KEY);
  #claimed;
  /// The last state: a program that was started anew gets the game back.
  #last;
  #events;

  constructor(handlers) {
    const onState = (state) => handlers.onState((this.#last = state));
    this.handlers = { ...handlers, onState };
    // A browser holds few connections to one server: only the tab in view needs its own.
    document.addEventListener("visibilitychange", () => this.#listen());
  }

  async open() {
    const known = this.#id && (await request("GET", this.path()).catch(() => undefined));
    const isThere = known?.status === 200;
    if (isThere && (this.#claimed === this.#id || (await claim(this.#id)))) {
      this.#claimed = this.#id;
      this.handlers.onState(known.json);
    } else {
      const before = isThere ? known.json : this.#last;
      const pgn = isThere ? await (await fetch(this.path("pgn"))).text() : before && written(before);
      await this.#create();
      if (before) await this.begin({ pgn, white: before.white, black: before.black });
    }
    this.#listen();
  }

  async #create() {
    const { status, json } = await request("POST", "/api/games");
    if (status !== 201) throw new Refused(json.error);
    this.#id = this.#claimed = json.id;
    sessionStorage.setItem(KEY, json.id);
    await claim(json.id);
    this.handlers.onState(json);
  }

  path(rest = "") {
    return `/api/games/${this.#id}${rest && `/${rest}`}`;
  }

  #listen() {
    this.#events?.close();
    this.#events = undefined;
    if (document.hidden || !this.#id) return;
    const events = new EventSource(this.path("events"));
    this.#events = events;
    events.addEventListener("open", () => this.handlers.onLost(false));
    events.addEventListener("state", (event) => this.handlers.onState(JSON.parse(event.data)));
    events.addEventListener("thoughts", (event) => this.handlers.onThoughts(JSON.parse(event.data)));
    events.addEventListener("error", () => {
      if (events !== this.#events) return;
      this.handlers.onLost(true);
      // Refused rather than interrupted: the program was started anew and knows no such game.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.open().catch(() => this.#listen()), 1000);
    });
  }

  /// Asks for a change and shows the state that came of it, also when it was refused.
  async #change(what, body) {
    const { status, json } = await request("POST", this.path(what), body);
    if (json.id || json.state) this.handlers.onState(json.state ?? json);
    if (status !== 200) throw new Refused(json.error);
  }

  play(ply, move) {
    return this.#change("move", { ply, move });
  }

  goTo(ply) {
    return this.#change("goto", { ply });
  }

  set(settings) {
    return this.#change("settings", settings);
  }

  begin(beginning) {
    return this.#change("new", beginning);
  }
}
