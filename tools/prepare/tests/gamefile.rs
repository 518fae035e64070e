//! The compact game file: what goes in comes out, and damage is an error.

mod common;
mod random_games;

use common::folder;
use fianchetto::chess::Move;
use fianchetto_prepare::game::PlayedGame;
use fianchetto_prepare::gamefile::{GameFile, GameFileError, MAX_GAMES, Writer};
use random_games::{Random, random_games};
use std::fs;
use std::path::Path;

fn written(games: &[PlayedGame]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for game in games {
        writer.push(game).unwrap();
    }
    writer.finish().unwrap()
}

fn read(path: &Path, bytes: &[u8]) -> Result<Vec<PlayedGame>, GameFileError> {
    fs::write(path, bytes).unwrap();
    GameFile::open(path)?.iter().collect()
}

#[test]
fn games_come_back_as_they_went_in() {
    let path = folder("round_trip").join("games.fgames");
    let games = random_games(MAX_GAMES * 2 + 500, 1);
    assert_eq!(read(&path, &written(&games)).unwrap(), games);

    let file = GameFile::open(&path).unwrap();
    assert_eq!(file.len(), games.len() as u64);
    assert_eq!(file.plies(), games.iter().map(|game| game.moves.len() as u64).sum::<u64>());
    assert_eq!(file.block_count(), 3);
    assert_eq!(file.block(1).unwrap(), games[MAX_GAMES..2 * MAX_GAMES]);
    for number in [0, 1, 1023, 1024, 2047, 2048, 2547] {
        assert_eq!(file.game(number).unwrap(), games[number as usize]);
    }
    for (error, expected) in [
        (file.game(2548).err(), "no game 2548: expected a number below 2548"),
        (file.block(3).err(), "no block 3: expected a number below 3"),
    ] {
        assert!(error.unwrap().to_string().ends_with(expected));
    }
}

#[test]
fn a_file_without_games_is_a_file() {
    let path = folder("no_games").join("games.fgames");
    assert_eq!(read(&path, &written(&[])).unwrap(), []);
}

#[test]
fn an_impossible_game_is_refused() {
    let mut game = random_games(1, 2).remove(0);
    game.moves = vec!["e2e5".parse::<Move>().unwrap()];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.push(&game).unwrap();
    assert!(writer.finish().unwrap_err().to_string().contains("expected a legal move"));

    let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"].map(|text| text.parse::<Move>().unwrap());
    for (plies, fits) in [(65_535, true), (65_536, false)] {
        game.moves = shuffle.iter().copied().cycle().take(plies).collect();
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.push(&game).unwrap();
        assert_eq!(writer.finish().is_ok(), fits, "{plies} plies");
    }
}

#[test]
fn a_cut_file_is_an_error() {
    let path = folder("cut").join("games.fgames");
    let whole = written(&random_games(40, 3));
    for len in 0..whole.len() {
        let error = read(&path, &whole[..len]).unwrap_err().to_string();
        let expected = if len < 16 { "not a game file" } else { "damaged game file" };
        assert!(error.contains(expected), "{len} bytes: {error}");
    }
}

#[test]
fn a_changed_byte_is_an_error() {
    let path = folder("changed").join("games.fgames");
    let mut bytes = written(&random_games(40, 4));
    let mut random = Random(5);
    for at in 0..bytes.len() {
        let change = 1 + random.below(255) as u8;
        bytes[at] ^= change;
        assert!(read(&path, &bytes).is_err(), "byte {at} changed by {change}");
        bytes[at] ^= change;
    }
}

#[test]
fn numbers_that_lie_are_errors() {
    let path = folder("lies").join("games.fgames");
    let whole = written(&random_games(40, 6));
    let foot = whole.len() - 32;
    // A version to come; four thousand million blocks.
    for (at, value, expected) in
        [(8, 2, "version 2"), (foot, u32::MAX, "more blocks"), (foot + 4, u32::MAX, "more blocks")]
    {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let error = read(&path, &bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
