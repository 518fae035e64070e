//! The browser board: a page on which a person plays the engines, watches them and sees what they think.
//!
//! From the socket inwards: `server` has the connections, whose HTTP is `hyper`'s; `request` is what a client asks and
//! `response` what it is answered; `routes` says what is answered to what; a `session` is one game, in which `history`
//! goes back and forth and a `seat` is taken by a person or a player from `engines`; `view` and `thought` are what the
//! page is told, `record` is the game as PGN. `page/` holds the page itself, which `assets` builds into the program.
//!
//! Nothing here knows what a network is: everything that plays is a [`crate::search::Player`].

mod assets;
mod engines;
mod history;
mod record;
mod request;
mod response;
mod routes;
mod seat;
mod server;
mod session;
mod thought;
mod view;

pub use server::Server;

use crate::uci::{Options, PlayerKind};

/// How new games begin.
#[derive(Clone, Debug)]
pub struct Play {
    /// The engine to play against, and how all engines go about it.
    pub options: Options,
    /// Whether the person has Black.
    pub black: bool,
    /// The engines to choose from.
    pub players: Vec<PlayerKind>,
}

impl Default for Play {
    fn default() -> Self {
        Self { options: Options::default(), black: false, players: PlayerKind::ALL.to_vec() }
    }
}
