//! How fast one thread reads and plays through the first 1,000 games of a file (or as many as the second
//! argument says); `tests/golden/speed.py` does the same with python-chess.

use fianchetto_prepare::{filter::Filters, input, pgn::Reader, report::Report};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("expected: read_speed FILE [GAMES]")?;
    let games: u64 = arguments.next().as_deref().unwrap_or("1000").parse()?;
    let (mut report, filters) = (Report::default(), Filters::default());
    let started = Instant::now();
    let mut reader = Reader::new(input::open(path.as_ref())?);
    while report.games() < games {
        let Some(game) = reader.next_game()? else { break };
        match filters.resolve(&game) {
            Ok(game) => report.keep(game.moves.len()),
            Err(refusal) => report.refuse(refusal),
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let rate = |count: u64| count as f64 / seconds;
    print!("{report}");
    println!("{:.0} games/s, {:.0} positions/s", rate(report.games()), rate(report.positions));
    Ok(())
}
