//! The UCI sessions of `tests/data/uci_sessions.txt`, and some that are too long to write down.

#[path = "../launch/mod.rs"]
mod launch;
mod players;
mod program;
#[path = "../random_weights/mod.rs"]
mod random_weights;
mod script;
mod talk;
