//! Players that break down.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a player's code; a panic in it, which is a bug, becomes a message instead of a dead thread. The player is then to
/// be thrown away.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        format!("the player broke down, which is a bug: {}", text.unwrap_or("no reason given"))
    })
}
