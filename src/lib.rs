//! A chess-network engine with no machine-learning framework under it.
//!
//! The map of the house. A position travels down this list, one room after another; a room may use
//! the rooms above it, never one below:
//!
//! - [`chess`]: the rules as an engine needs them, over cozy-chess: FEN, game history, notation.
//! - [`encoding`]: a position as input planes and a move as a policy index.
//! - [`network`]: what a network is: its architecture as data, its weights, its reference forward pass.
//! - [`backend`]: what runs a network fast: the [`backend::Backend`] trait and its implementations.
//! - [`evaluator`]: games in, priors over the legal moves and a value out.
//! - [`search`]: how a move is chosen: the [`search::Player`] trait and its implementations.
//! - [`uci`]: the protocol that chess programs speak; it knows players, never a network.
//! - [`engine`]: from options to a player, for whoever starts one; it knows every room.
//!
//! A newcomer reads this page, then `search/policy.rs`, then `search/mcts/playout.rs`.
#![deny(missing_docs, clippy::undocumented_unsafe_blocks)]

pub mod backend;
pub mod chess;
pub mod encoding;
pub mod engine;
pub mod evaluator;
pub mod network;
pub mod search;
pub mod uci;

// The tests in here share modules with those in `tests/`, which know this crate by its name.
#[cfg(test)]
extern crate self as fianchetto;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
