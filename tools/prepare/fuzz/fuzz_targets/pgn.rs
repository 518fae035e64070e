//! Any bytes through the PGN reader: nothing panics, a kept game is legal, and the games found do not
//! depend on how many bytes are read at a time.
//!
//! With a nightly compiler: `cargo fuzz run pgn ../tests/data/pgn`. Without:
//!
//! ```text
//! RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
//!   -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1" \
//!   cargo run --release --target x86_64-unknown-linux-gnu -- -max_total_time=600 \
//!   -dict=pgn.dict corpus ../tests/data/pgn
//! ```

#![no_main]

use fianchetto::chess::Board;
use fianchetto_prepare::filter::{Filters, TimeClass};
use fianchetto_prepare::game::PlayedGame;
use fianchetto_prepare::pgn::{Date, Reader, Refusal};
use libfuzzer_sys::fuzz_target;
use std::io::BufReader;

fuzz_target!(|bytes: &[u8]| {
    let found = read(bytes, bytes.len().max(1), &Filters::default());
    for game in found.iter().flatten() {
        assert!(!game.moves.is_empty());
        let mut board = Board::default();
        for &mv in &game.moves {
            board.try_play(mv).expect("only legal moves are kept");
        }
        game.hash();
    }
    assert_eq!(found, read(bytes, 1, &Filters::default()));
    let strict = Filters {
        min_rating: Some(1),
        min_base: Some(0),
        time_control: vec![TimeClass::Blitz],
        since: Some(Date { year: 2000, month: 1, day: 1 }),
        ..Filters::default()
    };
    let wanted = read(bytes, 64, &strict).iter().flatten().count();
    assert!(wanted <= found.iter().flatten().count());
});

fn read(bytes: &[u8], at_a_time: usize, filters: &Filters) -> Vec<Result<PlayedGame, Refusal>> {
    let mut reader = Reader::new(BufReader::with_capacity(at_a_time, bytes));
    let next = || reader.next_game().expect("bytes in memory can be read");
    std::iter::from_fn(next).map(|game| filters.resolve(&game)).collect()
}
