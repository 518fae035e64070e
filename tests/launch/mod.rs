//! The program under test.

use std::process::Command;

/// A run of it; where `FIANCHETTO_RUNNER` is set, by those words: an emulator and its options.
pub fn program() -> Command {
    let program = env!("CARGO_BIN_EXE_fianchetto");
    let runner = std::env::var("FIANCHETTO_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words);
    command
}
