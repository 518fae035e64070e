//! What is answered to which request.

use super::engines::Engines;
use super::request::Request;
use super::response::Response;
use super::session::{Beginning, Rejection, Session, Settings};
use super::{Play, assets};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

/// Games in memory at most; no person opens so many pages.
const MAX_GAMES: usize = 10_000;

/// All games.
pub struct Games {
    play: Play,
    engines: Arc<Engines>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// Seeded by the system's random numbers: nobody guesses a game's name.
    names: RandomState,
}

/// What to do for a client.
pub enum Answer {
    Response(Response),
    /// Tell all that happens in this game.
    Events(Arc<Session>),
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveAt {
    ply: usize,
    #[serde(rename = "move")]
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoTo {
    ply: usize,
}

impl Games {
    pub fn new(play: Play, engines: Engines) -> Self {
        let (sessions, names) = (Mutex::default(), RandomState::new());
        Self { play, engines: Arc::new(engines), sessions, names }
    }

    /// Answers a request, at once.
    pub fn answer(&self, request: &Request) -> Answer {
        if let Some(refusal) = foreign(request) {
            return refusal.into();
        }
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        let method = match request.method.as_str() {
            "HEAD" => "GET",
            method => method,
        };
        match (method, path.as_slice()) {
            ("POST", ["api", "games"]) => self.create().into(),
            (_, ["api", "games", id, rest @ ..]) if rest.len() < 2 => {
                let session = self.sessions().get(*id).cloned();
                match session {
                    Some(session) => in_game(&session, method, rest, request),
                    None => {
                        Response::error(404, "there is no such game; it ended with the program")
                            .into()
                    }
                }
            }
            ("GET", _) => assets::find(&request.path)
                .unwrap_or_else(|| Response::error(404, "there is nothing here"))
                .into(),
            _ => Response::error(405, "expected GET").into(),
        }
    }

    fn create(&self) -> Response {
        let mut sessions = self.sessions();
        let count = sessions.len();
        if count >= MAX_GAMES {
            let why = format!("there are {count} games, no more are kept; start the program again");
            return Response::error(503, &why);
        }
        let half = |of| self.names.hash_one((count, of));
        let id = format!("{:016x}{:016x}", half(0), half(1));
        let session = Session::new(id.clone(), self.play.clone(), self.engines.clone());
        let text = session.text();
        sessions.insert(id, session);
        Response::json_text(201, &*text)
    }

    /// No panic leaves the map half changed.
    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that another page, or another machine's name for this one, is behind.
fn foreign(request: &Request) -> Option<Response> {
    let host = request.host.as_deref().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
        let why = "the header Host names another machine, expected 127.0.0.1 or localhost";
        return Some(Response::error(403, why));
    }
    let origin = request.origin.as_deref()?;
    let own = origin.strip_prefix("http://").is_some_and(|origin| origin == host);
    (!own).then(|| Response::error(403, "the request comes from a page of another site"))
}

fn in_game(session: &Arc<Session>, method: &str, path: &[&str], request: &Request) -> Answer {
    match (method, path) {
        ("GET", []) => Response::json_text(200, &*session.text()).into(),
        ("GET", ["events"]) => Answer::Events(session.clone()),
        ("GET", ["pgn"]) => Response {
            file_name: Some("fianchetto.pgn"),
            ..Response::text(200, "application/x-chess-pgn", session.pgn())
        }
        .into(),
        ("POST", ["move"]) => {
            act(session, request, |MoveAt { ply, text }| session.play(ply, &text))
        }
        ("POST", ["goto"]) => act(session, request, |GoTo { ply }| session.go_to(ply)),
        ("POST", ["settings"]) => act(session, request, |settings: Settings| session.set(settings)),
        ("POST", ["new"]) => act(session, request, |begin: Beginning| session.begin(begin)),
        (_, [] | ["events" | "pgn" | "move" | "goto" | "settings" | "new"]) => {
            Response::error(405, "this wants GET, or POST to change something").into()
        }
        _ => Response::error(404, "there is nothing here").into(),
    }
}

/// Reads the body, does what it says and answers with the state, in any case.
fn act<T: DeserializeOwned>(
    session: &Session,
    request: &Request,
    act: impl FnOnce(T) -> Result<(), Rejection>,
) -> Answer {
    let wanted = match serde_json::from_slice(&request.body) {
        Ok(wanted) => wanted,
        Err(error) => return Response::error(400, &format!("the body: {error}")).into(),
    };
    let (status, error) = match act(wanted) {
        Ok(()) => return Response::json_text(200, &*session.text()).into(),
        Err(Rejection::Conflict(error)) => (409, error),
        Err(Rejection::Unusable(error)) => (422, error),
    };
    let error = serde_json::Value::String(error);
    let text = format!("{{\"error\":{error},\"state\":{}}}", session.text());
    Response::json_text(status, text).into()
}
