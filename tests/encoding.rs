//! The encodings against python-chess and numpy, and against their own symmetry.

mod random;

use fianchetto::chess::{Game, Piece, notation};
use fianchetto::encoding::{Encoding, absolute14};
use random::Random;
use std::collections::BTreeSet;

/// The encodings in the mover's frame.
const CANONICAL: [Encoding; 2] = [Encoding::Canonical19, Encoding::Canonical12];

/// The planes of a position, written over rubbish.
fn planes(encoding: Encoding, game: &Game) -> Vec<f32> {
    let mut planes = vec![f32::NAN; encoding.planes() * 64];
    encoding.encode(game, &mut planes);
    planes
}

/// Each legal move that has an index, in UCI notation, with it.
fn indices(encoding: Encoding, game: &Game) -> BTreeSet<(u16, String)> {
    let named = |mv| Some((encoding.index(game, mv)?, notation::to_uci(game.board(), mv)));
    game.legal_moves().into_iter().filter_map(named).collect()
}

/// Compares with a file of `tests/golden`.
fn check_golden(encoding: Encoding, golden: &str) {
    let (constant, square): (Vec<usize>, Vec<usize>) =
        (0..encoding.planes()).partition(|plane| encoding.constant_planes().contains(plane));
    let lines: Vec<&str> = golden.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() > 40);
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let [fen, moves, squares, constants, expected] = columns[..] else {
            panic!("not five columns: {line}")
        };
        let (mut game, repairs) = Game::from_fen(fen).unwrap();
        assert_eq!(repairs, [], "{fen}");
        for mv in moves.split_whitespace() {
            game.play_uci(mv).unwrap();
        }
        let planes = planes(encoding, &game);
        let squares: Vec<&str> = squares.split(' ').collect();
        assert_eq!(squares.len(), square.len());
        for (&plane, squares) in square.iter().zip(squares) {
            let squares = u64::from_str_radix(squares, 16).unwrap();
            for square in 0..64 {
                let expected = if squares >> square & 1 == 1 { 1.0 } else { 0.0 };
                assert_eq!(planes[64 * plane + square], expected, "{line}: {plane} {square}");
            }
        }
        let constants: Vec<&str> = constants.split_whitespace().collect();
        assert_eq!(constants.len(), constant.len());
        for (&plane, value) in constant.iter().zip(constants) {
            let value: f32 = value.parse().unwrap();
            assert_eq!(planes[64 * plane..][..64], [value; 64], "{line}: {plane}");
        }
        let expected = expected.split(' ').filter_map(|pair| {
            let (uci, index) = pair.split_once('=')?;
            Some((index.parse().unwrap(), uci.to_owned()))
        });
        assert_eq!(indices(encoding, &game), expected.collect(), "{line}");
    }
}

#[test]
fn canonical19_agrees_with_python() {
    check_golden(Encoding::Canonical19, include_str!("golden/canonical19.tsv"));
}

#[test]
fn absolute14_agrees_with_python() {
    check_golden(Encoding::Absolute14, include_str!("golden/absolute14.tsv"));
}

#[test]
fn canonical12_agrees_with_python() {
    check_golden(Encoding::Canonical12, include_str!("golden/canonical12.tsv"));
}

#[test]
fn the_list_of_moves_is_pythons() {
    let moves: Vec<String> = (0..=u16::MAX)
        .map_while(absolute14::named)
        .map(|(from, to, promotion)| {
            let letter = promotion.map(|piece| char::from(piece).to_string());
            format!("{from}{to}{}", letter.unwrap_or_default())
        })
        .collect();
    assert_eq!(moves.len(), 4544);
    assert_eq!((&*moves[0], &*moves[4543]), ("a1a2", "h8h7"));
    assert!(moves.iter().eq(include_str!("golden/absolute14_moves.txt").lines()));
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

/// Plays `plies` random moves from each golden position and shows every position on the way to `check`,
/// with the FEN that the game started from.
fn walk(seed: u64, plies: usize, check: impl Fn(&Game, &str)) {
    let mut random = Random::new(seed);
    for start in include_str!("golden/positions.txt").lines() {
        let (mut game, _) = Game::from_fen(start).unwrap();
        for _ in 0..plies {
            check(&game, start);
            let moves = game.legal_moves();
            if moves.is_empty() {
                break;
            }
            game.play(random.choose(&moves)).unwrap();
        }
    }
}

#[test]
fn a_position_and_its_twin_look_the_same_in_the_movers_frame() {
    walk(19, 30, |game, start| {
        let twin = twin(game, start);
        for encoding in CANONICAL {
            assert_eq!(planes(encoding, game), planes(encoding, &twin), "{}", game.fen());
            let mirrored_indices =
                indices(encoding, &twin).into_iter().map(|(index, uci)| (index, mirrored(&uci)));
            assert_eq!(indices(encoding, game), mirrored_indices.collect(), "{}", game.fen());
        }
    });
}

/// The twin's planes are the other side's, each mirrored top to bottom.
#[test]
fn a_position_and_its_twin_change_places_in_whites_frame() {
    walk(14, 30, |game, start| {
        let planes = planes(Encoding::Absolute14, game);
        let twins = self::planes(Encoding::Absolute14, &twin(game, start));
        for plane in 0..absolute14::PLANES {
            let other = if plane < 12 { (plane + 6) % 12 } else { 25 - plane };
            for square in 0..64 {
                let (here, there) = (64 * plane + square, 64 * other + (square ^ 56));
                assert_eq!(planes[here], twins[there], "{}", game.fen());
            }
        }
    });
}

fn check_indices(encoding: Encoding, game: &Game) {
    let mut named = 0;
    for mv in game.legal_moves() {
        let target = encoding.target(game, mv);
        match encoding.index(game, mv) {
            Some(index) => {
                assert!(usize::from(index) < encoding.policy_size());
                assert_eq!(encoding.decode(game, index), Some(mv), "{}", game.fen());
                assert_eq!(target, index);
                named += 1;
            }
            None => {
                assert!(CANONICAL.contains(&encoding));
                assert!(!matches!(mv.promotion, None | Some(Piece::Queen)), "{}", game.fen());
                let mut queen = mv;
                queen.promotion = Some(Piece::Queen);
                assert_eq!(encoding.decode(game, target), Some(queen), "{}", game.fen());
            }
        }
    }
    let decoded = (0..=u16::MAX).filter(|&index| encoding.decode(game, index).is_some()).count();
    assert_eq!(decoded, named, "{}: no index but those of legal moves decodes", game.fen());
}

#[test]
fn an_index_decodes_to_its_move_and_no_other_decodes() {
    walk(4096, 20, |game, _| {
        for encoding in Encoding::ALL {
            check_indices(encoding, game);
        }
    });
}

#[test]
fn a_scheme_is_found_by_its_name() {
    for encoding in Encoding::ALL {
        assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
    }
    assert_eq!(Encoding::from_name("lc0"), None);
}

#[test]
#[should_panic(expected = "canonical19 writes [19, 8, 8]")]
fn canonical19_refuses_a_wrong_length() {
    Encoding::Canonical19.encode(&Game::default(), &mut [0.0; 64]);
}

#[test]
#[should_panic(expected = "absolute14 writes [14, 8, 8]")]
fn absolute14_refuses_a_wrong_length() {
    Encoding::Absolute14.encode(&Game::default(), &mut [0.0; 64]);
}

#[test]
#[should_panic(expected = "canonical12 writes [12, 8, 8]")]
fn canonical12_refuses_a_wrong_length() {
    Encoding::Canonical12.encode(&Game::default(), &mut [0.0; 64]);
}
