//! The arithmetic of results.

mod elo;
mod mcnemar;
mod sprt;

pub use elo::{Interval, Tally, elo_of_score};
pub use mcnemar::McNemar;
pub use sprt::{Bounds, Sprt, Verdict, log_likelihood_ratio};
