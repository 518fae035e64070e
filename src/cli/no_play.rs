//! `play` of a program that was built without the browser board.

use super::Failure;
use super::arguments::Play;
use fianchetto::uci::Options;
use std::io::Write;

pub fn run(_: &Play, _: Options, _: &mut impl Write) -> Result<(), Failure> {
    Err(Failure::Work(
        "this program was built without the browser board; build it with --features web".into(),
    ))
}
