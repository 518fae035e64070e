//! The canonical19 encoding against python-chess and numpy, and against its own symmetry.

mod random;

use fianchetto::chess::{Game, Piece, notation};
use fianchetto::encoding::canonical19::{PLANES, POLICY_SIZE, decode, encode, index};
use random::Random;
use std::collections::BTreeSet;

/// Planes that hold squares; the others are constant.
const SQUARE_PLANES: [usize; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16];
const CONSTANT_PLANES: [usize; 6] = [12, 13, 14, 15, 17, 18];

/// The planes of a position, written over rubbish.
fn planes(game: &Game) -> Vec<f32> {
    let mut planes = vec![f32::NAN; PLANES * 64];
    encode(game, &mut planes);
    planes
}

/// Each legal move that has an index, in UCI notation, with it.
fn indices(game: &Game) -> BTreeSet<(u16, String)> {
    let board = game.board();
    let named = |mv| Some((index(board, mv)?, notation::to_uci(board, mv)));
    game.legal_moves().into_iter().filter_map(named).collect()
}

#[test]
fn planes_and_indices_agree_with_python() {
    let lines =
        include_str!("golden/canonical19.tsv").lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let [fen, moves, squares, constants, expected] = columns[..] else {
            panic!("not five columns: {line}")
        };
        let (mut game, repairs) = Game::from_fen(fen).unwrap();
        assert_eq!(repairs, [], "{fen}");
        for mv in moves.split(' ').filter(|mv| !mv.is_empty()) {
            game.play_uci(mv).unwrap();
        }
        let planes = planes(&game);
        for (plane, squares) in SQUARE_PLANES.into_iter().zip(squares.split(' ')) {
            let squares = u64::from_str_radix(squares, 16).unwrap();
            for square in 0..64 {
                let expected = if squares >> square & 1 == 1 { 1.0 } else { 0.0 };
                assert_eq!(planes[64 * plane + square], expected, "{line}: {plane} {square}");
            }
        }
        for (plane, value) in CONSTANT_PLANES.into_iter().zip(constants.split(' ')) {
            let value: f32 = value.parse().unwrap();
            assert_eq!(planes[64 * plane..][..64], [value; 64], "{line}: {plane}");
        }
        let expected = expected.split(' ').filter_map(|pair| {
            let (uci, index) = pair.split_once('=')?;
            Some((index.parse().unwrap(), uci.to_owned()))
        });
        assert_eq!(indices(&game), expected.collect(), "{line}");
    }
}

/// The same game with the colours changed over: every square mirrored, every move too.
fn twin(game: &Game, start: &str) -> Game {
    let mut fields: Vec<String> = start.split(' ').map(str::to_owned).collect();
    let swap = |text: &str| -> String {
        text.chars()
            .map(|c| {
                if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
            })
            .collect()
    };
    let ranks: Vec<String> = fields[0].split('/').rev().map(swap).collect();
    fields[0] = ranks.join("/");
    fields[1] = if fields[1] == "w" { "b" } else { "w" }.to_owned();
    fields[2] = swap(&fields[2]);
    fields[3] = mirrored(&fields[3]);
    let (mut twin, _) = Game::from_fen(&fields.join(" ")).unwrap();
    let (mut original, _) = Game::from_fen(start).unwrap();
    for &mv in game.moves() {
        twin.play_uci(&mirrored(&notation::to_uci(original.board(), mv))).unwrap();
        original.play(mv).unwrap();
    }
    twin
}

/// A square or a UCI move with its rank digits mirrored.
fn mirrored(text: &str) -> String {
    text.chars().map(|c| c.to_digit(10).map_or(c, |rank| char::from(b'9' - rank as u8))).collect()
}

fn check_indices(game: &Game) {
    let board = game.board();
    let mut named = 0;
    for mv in game.legal_moves() {
        match index(board, mv) {
            Some(index) => {
                assert!(usize::from(index) < POLICY_SIZE);
                assert_eq!(decode(board, index), Some(mv), "{}", game.fen());
                named += 1;
            }
            None => assert!(!matches!(mv.promotion, None | Some(Piece::Queen)), "{}", game.fen()),
        }
    }
    let decoded = (0..=u16::MAX).filter(|&index| decode(board, index).is_some()).count();
    assert_eq!(decoded, named, "{}: no index but those of legal moves decodes", game.fen());
}

#[test]
fn a_position_and_its_twin_look_the_same() {
    let starts = include_str!("golden/positions.txt").lines();
    let mut random = Random::new(19);
    for start in starts {
        let (mut game, _) = Game::from_fen(start).unwrap();
        for _ in 0..30 {
            let twin = twin(&game, start);
            assert_eq!(planes(&game), planes(&twin), "{}", game.fen());
            let mirrored_indices =
                indices(&twin).into_iter().map(|(index, uci)| (index, mirrored(&uci)));
            assert_eq!(indices(&game), mirrored_indices.collect(), "{}", game.fen());
            let moves = game.legal_moves();
            if moves.is_empty() {
                break;
            }
            game.play(random.choose(&moves)).unwrap();
        }
    }
}

#[test]
fn an_index_decodes_to_its_move_and_no_other_decodes() {
    let mut random = Random::new(4096);
    for start in include_str!("golden/positions.txt").lines() {
        let (mut game, _) = Game::from_fen(start).unwrap();
        for _ in 0..20 {
            check_indices(&game);
            let moves = game.legal_moves();
            if moves.is_empty() {
                break;
            }
            game.play(random.choose(&moves)).unwrap();
        }
    }
}

#[test]
#[should_panic(expected = "canonical19 writes [19, 8, 8]")]
fn a_wrong_length_is_refused() {
    encode(&Game::default(), &mut [0.0; 64]);
}
