//! The program under test, and how patient to be with it.

use std::process::Command;
use std::time::Duration;

/// An emulator and its options, as words.
const RUNNER: &str = "FIANCHETTO_RUNNER";

/// A run of it, in the emulator where there is one.
#[allow(dead_code)] // Not every test that uses this module needs it.
pub fn program() -> Command {
    let program = env!("CARGO_BIN_EXE_fianchetto");
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words);
    command
}

/// How long to wait for what takes a processor so long at most: in an emulator longer.
#[allow(dead_code)] // As above.
pub fn patience(time: Duration) -> Duration {
    if std::env::var_os(RUNNER).is_some() { 30 * time } else { time }
}
