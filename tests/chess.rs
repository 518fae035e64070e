//! The chess room against python-chess, the known perft counts and inputs that have broken others.
//!
//! Cases are lines of the files in `tests/data`; `tests/golden/rules.py` writes those that
//! python-chess answers.

mod random;

use fianchetto::chess::{Board, Color, Game, Move, Outcome, fen, notation, pgn};
use random::Random;
use std::collections::BTreeSet;

/// The columns of each line that is not a comment.
fn cases(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn board(text: &str) -> Board {
    fen::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).board
}

fn game(text: &str, moves: &str) -> Game {
    let (mut game, repairs) = Game::from_fen(text).unwrap();
    assert_eq!(repairs, [], "{text}");
    for mv in moves.split(' ').filter(|mv| !mv.is_empty()) {
        game.play_uci(mv).unwrap();
    }
    game
}

fn legal_moves(board: &Board) -> Vec<Move> {
    let mut moves = Vec::new();
    board.generate_moves(|piece_moves| {
        moves.extend(piece_moves);
        false
    });
    moves
}

#[test]
fn fen_reads_what_people_write() {
    for case in cases(include_str!("data/fen.tsv")) {
        let [id, text, verdict, legal, read_as, report, _why] = case[..] else {
            panic!("not seven columns: {case:?}")
        };
        match Game::from_fen(text) {
            Ok((game, repairs)) => {
                assert_eq!(verdict, if repairs.is_empty() { "ok" } else { "repaired" }, "{id}");
                assert_eq!(game.fen(), read_as, "{id}");
                assert_eq!(game.legal_moves().len().to_string(), legal, "{id}");
                let found: Vec<String> = repairs.iter().map(ToString::to_string).collect();
                let wanted: Vec<&str> =
                    report.split(" | ").filter(|part| !part.is_empty()).collect();
                assert_eq!(found.len(), wanted.len(), "{id}: {found:?}");
                for (found, wanted) in found.iter().zip(wanted) {
                    assert!(found.starts_with(wanted), "{id}: {found}");
                }
            }
            Err(error) => {
                assert_eq!(verdict, "refused", "{id}: {error}");
                let message = error.to_string();
                assert!(message.starts_with(report) && !report.is_empty(), "{id}: {message}");
                assert!(message.contains("expected") || message.contains("give the move"), "{id}");
                assert_eq!(message.lines().count(), 1, "{id}");
            }
        }
    }
}

#[test]
fn messages_stay_short_and_on_one_line() {
    let long = format!("{}\u{7}/8/8/8/8/8/8/8 w - - 0 1", "k".repeat(100_000));
    let message = fen::parse(&long.replace('\u{7}', "")).unwrap_err().to_string();
    assert!(message.len() < 200, "{message}");
    let message = notation::from_uci(&Board::default(), "e2\ne4\r").unwrap_err().to_string();
    assert!(message.contains(r#""e2\ne4\r""#), "{message}");
}

#[test]
fn startpos_is_the_start_position() {
    let (game, repairs) = Game::from_fen(" startpos ").unwrap();
    assert!(repairs.is_empty());
    assert_eq!(game.fen(), fen::START);
    assert_eq!(Game::default().fen(), fen::START);
}

#[test]
fn perft_counts_are_the_known_ones() {
    fn perft(board: &Board, depth: usize) -> u64 {
        let mut nodes = 0;
        board.generate_moves(|moves| {
            if depth == 1 {
                nodes += moves.len() as u64;
            } else {
                for mv in moves {
                    let mut after = board.clone();
                    after.play_unchecked(mv);
                    nodes += perft(&after, depth - 1);
                }
            }
            false
        });
        nodes
    }
    for case in cases(include_str!("data/perft.tsv")) {
        for (depth, nodes) in (1..).zip(case[2].split(' ')) {
            assert_eq!(perft(&board(case[1]), depth).to_string(), nodes, "{} {depth}", case[0]);
        }
    }
}

/// The same counts through everything that this room adds: UCI and SAN out and in, `play`, and a FEN
/// that reads back as the same position.
#[test]
fn perft_counts_hold_through_game_and_notation() {
    fn perft(game: &Game, depth: usize) -> u64 {
        if depth == 0 {
            return 1;
        }
        let read_back = fen::parse(&game.fen()).unwrap();
        assert_eq!(read_back.repairs, [], "{}", game.fen());
        assert_eq!(read_back.board, *game.board());
        assert_eq!(read_back.halfmove_clock, game.halfmove_clock());
        let after = |mv| {
            let mut after = game.clone();
            let uci = notation::to_uci(game.board(), mv);
            assert_eq!(after.play_uci(&uci), Ok(mv));
            let san = notation::to_san(game.board(), mv).unwrap();
            assert_eq!(notation::from_san(game.board(), &san), Ok(mv), "{san} in {}", game.fen());
            perft(&after, depth - 1)
        };
        game.legal_moves().into_iter().map(after).sum()
    }
    for case in cases(include_str!("data/perft.tsv")) {
        let nodes = case[2].split(' ').nth(2).unwrap();
        assert_eq!(perft(&game(case[1], ""), 3).to_string(), nodes, "{}", case[0]);
    }
}

#[test]
fn notation_agrees_with_python_chess() {
    for case in cases(include_str!("data/notation.tsv")) {
        let [text, expected] = case[..] else { panic!("not two columns: {case:?}") };
        let board = board(text);
        let written: BTreeSet<String> = legal_moves(&board)
            .into_iter()
            .map(|mv| {
                let san = notation::to_san(&board, mv).unwrap();
                format!("{}={san}", notation::to_uci(&board, mv))
            })
            .collect();
        let expected: BTreeSet<String> = expected.split(' ').map(str::to_owned).collect();
        assert_eq!(written, expected, "{text}");
        for pair in &expected {
            let (uci, san) = pair.split_once('=').unwrap();
            let mv = notation::from_uci(&board, uci).unwrap();
            assert_eq!(notation::to_uci(&board, mv), uci);
            assert_eq!(notation::from_san(&board, san), Ok(mv), "{san} in {text}");
        }
    }
}

#[test]
fn moves_are_read_as_people_write_them() {
    for case in cases(include_str!("data/moves.tsv")) {
        let [form, position, text, expected] = case[..] else {
            panic!("not four columns: {case:?}")
        };
        let board = board(position);
        let read = match form {
            "uci" => notation::from_uci(&board, text),
            _ => notation::from_san(&board, text),
        };
        match (read, expected.strip_prefix("! ")) {
            (Ok(mv), None) => assert_eq!(notation::to_uci(&board, mv), expected, "{case:?}"),
            (Err(error), Some(reason)) => {
                let start = format!("move {text:?} cannot be played in \"{position}\": {reason}");
                assert!(error.to_string().starts_with(&start), "{case:?}: {error}");
            }
            (read, _) => panic!("{case:?}: {read:?}"),
        }
    }
}

#[test]
fn castling_agrees_with_python_chess() {
    for case in cases(include_str!("data/castling.tsv")) {
        let [start, moves, king_form, rook_form, after] = case[..] else {
            panic!("not five columns: {case:?}")
        };
        for form in [king_form, rook_form] {
            let mut game = game(start, moves);
            let before = game.fen();
            match game.play_uci(form) {
                Ok(mv) => {
                    assert_eq!(game.fen(), after, "{case:?}");
                    let board = board(&before);
                    assert!(notation::is_castling(&board, mv));
                    assert_eq!(notation::to_uci(&board, mv), king_form);
                    let to = notation::king_destination(&board, mv);
                    assert_eq!(notation::from_king_destination(&board, mv.from, to), mv.to);
                }
                Err(error) => {
                    assert_eq!(after, "illegal", "{case:?}: {error}");
                    assert_eq!(game.fen(), before);
                    assert!(error.to_string().contains(&before), "{error}");
                }
            }
        }
    }
}

#[test]
fn games_agree_with_python_chess() {
    for case in cases(include_str!("data/games.tsv")) {
        let [name, start, moves, occurrences, clock, outcome, last] = case[..] else {
            panic!("not seven columns: {case:?}")
        };
        let mut game = game(start, "");
        let mut found = game.occurrences().to_string();
        for mv in moves.split(' ').filter(|mv| !mv.is_empty()) {
            assert_eq!(game.outcome(), None, "{name} before {mv}");
            game.play_uci(mv).unwrap();
            found += &game.occurrences().to_string();
        }
        assert_eq!(found, occurrences, "{name}");
        assert_eq!(game.halfmove_clock().to_string(), clock, "{name}");
        assert_eq!(game.fen(), last, "{name}");
        assert_eq!(game.moves().len(), found.len() - 1, "{name}");
        let expected = match outcome {
            "-" => None,
            "mate by white" => Some(Outcome::Checkmate { winner: Color::White }),
            "mate by black" => Some(Outcome::Checkmate { winner: Color::Black }),
            "stalemate" => Some(Outcome::Stalemate),
            "insufficient material" => Some(Outcome::InsufficientMaterial),
            "fifty moves" => Some(Outcome::FiftyMoves),
            "repetition" => Some(Outcome::Repetition),
            other => panic!("{name}: unknown outcome {other}"),
        };
        assert_eq!(game.outcome(), expected, "{name}");
    }
}

#[test]
fn the_halfmove_clock_counts_on_past_a_hundred() {
    let game = game("7k/8/8/8/8/8/R7/K7 w - - 150 200", "a2a3 h8g8");
    assert_eq!(game.halfmove_clock(), 152);
    assert_eq!(game.fen(), "6k1/8/8/8/8/R7/8/K7 w - - 152 201");
}

#[test]
fn an_illegal_move_changes_nothing() {
    let mut game = game("8/4P1k1/8/8/8/8/8/4K3 w - - 150 200", "");
    let before = game.fen();
    for text in ["e7e8", "e1e8", "a1a2", "g7g8", "nonsense"] {
        let error = game.play_uci(text).unwrap_err();
        assert_eq!(error.fen, before, "the true clock is shown");
    }
    let legal = game.legal_moves()[0];
    assert!(game.play(Move { to: legal.from, ..legal }).is_err());
    assert_eq!((game.fen(), game.moves().len()), (before, 0));
}

/// Bytes as they come, and correct texts with a few bytes changed, which get further.
#[test]
fn no_input_panics() {
    const ALPHABET: &[u8] = b"rnbqkpRNBQKP12345678/ wbKQkqAHah-abcdefgh0x=+#!O\xc3\xa9\n";
    let mut random = Random::new(3);
    let fens: Vec<&str> = cases(include_str!("data/fen.tsv")).map(|case| case[1]).collect();
    let moves: Vec<&str> = cases(include_str!("data/moves.tsv")).map(|case| case[2]).collect();
    let mut mangled = |seeds: &[&str]| {
        let mut bytes = random.choose(seeds).as_bytes().to_vec();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() + 1);
            match random.below(3) {
                0 => bytes.insert(at, random.choose(ALPHABET)),
                1 if at < bytes.len() => bytes[at] = random.choose(ALPHABET),
                _ => bytes.truncate(at.max(bytes.len().saturating_sub(1))),
            }
        }
        if random.below(8) == 0 {
            bytes = (0..random.below(90)).map(|_| random.below(256) as u8).collect();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let text = mangled(&fens);
        let Ok((mut game, _)) = Game::from_fen(&text) else {
            continue;
        };
        accepted += 1;
        let (again, repairs) = Game::from_fen(&game.fen()).unwrap();
        assert_eq!((again.fen(), repairs), (game.fen(), Vec::new()), "{text:?}");
        for mv in game.legal_moves() {
            let mut after = game.clone();
            after.play(mv).unwrap();
            after.legal_moves();
        }
        let text = mangled(&moves);
        let _ = notation::from_san(game.board(), &text);
        let _ = game.play_uci(&text);
        game.outcome();
    }
    assert!(accepted > 2_000, "only {accepted} texts got past the reader");
}

/// A text with `\n`, `\r`, `\\` and `\u{feff}` in place of the characters.
fn unescaped(text: &str) -> String {
    let text = text.replace(r"\\", "\u{0}").replace(r"\n", "\n").replace(r"\r", "\r");
    text.replace(r"\u{feff}", "\u{feff}").replace('\u{0}', r"\")
}

#[test]
fn pgn_is_read_as_python_chess_does_and_mistakes_are_named() {
    for case in cases(include_str!("data/pgn.tsv")) {
        let [text, expected, detail] = case[..] else { panic!("{case:?}") };
        let text = unescaped(text);
        match pgn::read(&text) {
            Err(error) => {
                assert_eq!(expected, "ERROR", "{text:?}: {error}");
                assert!(error.to_string().contains(&unescaped(detail)), "{text:?}: {error}");
            }
            Ok(read) => {
                let mut board = read.start.board().clone();
                assert_eq!(read.start.fen(), detail, "{text:?}");
                let written = read.moves.iter().map(|&mv| {
                    let uci = notation::to_uci(&board, mv);
                    board.play_unchecked(mv);
                    uci
                });
                let written: Vec<String> = written.collect();
                let found = if written.is_empty() { "-".to_owned() } else { written.join(" ") };
                assert_eq!(found, expected, "{text:?}");
                // What was written is read again as the same.
                let tags: Vec<_> = read
                    .tags
                    .iter()
                    .filter(|(name, _)| !["FEN", "SetUp"].contains(&&**name))
                    .collect();
                let pairs: Vec<_> = tags.iter().map(|(name, value)| (&**name, &**value)).collect();
                let remarks = vec![pgn::comment("a } brace; 1-0 ("); read.moves.len() / 2];
                let pgn::Pgn { start, moves, result, .. } = &read;
                let text = pgn::write(&pairs, start, moves, &remarks, result).unwrap();
                if read.tags.is_empty() && read.moves.is_empty() {
                    continue;
                }
                let again = pgn::read(&text).unwrap();
                assert_eq!(
                    (&again.start, &again.moves, &again.result),
                    (&read.start, &read.moves, &read.result)
                );
                assert!(
                    pairs
                        .iter()
                        .all(|&(name, value)| again.tags.contains(&(name.into(), value.into()))),
                    "{text}"
                );
                assert!(
                    text.lines().all(|line| line.starts_with('[') || line.len() < 80),
                    "{text}"
                );
            }
        }
    }
    let games = pgn::read("1. e4 *\n\n1. d4 *").unwrap();
    assert!(games.more && !pgn::read("1. e4 *\n\n").unwrap().more);
}

#[test]
fn what_stands_beside_the_moves_of_a_pgn_is_kept() {
    for case in cases(include_str!("data/pgn_remarks.tsv")) {
        let [text, expected] = case[..] else { panic!("{case:?}") };
        let read = pgn::read(&unescaped(text)).unwrap();
        let pgn::Pgn { start, moves, remarks, result, .. } = &read;
        assert_eq!(remarks.len(), moves.len() + 1, "{text}");
        let written = pgn::write(&[], start, moves, remarks, result).unwrap();
        assert_eq!(written.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        assert_eq!(&pgn::read(&written).unwrap().remarks, remarks, "{text}");
    }
}

/// Nothing panics, however a text is cut or changed.
#[test]
fn pgn_survives_damage() {
    let mut random = Random::new(7);
    for case in cases(include_str!("data/pgn.tsv")) {
        let text: Vec<char> = unescaped(case[0]).chars().collect();
        for _ in 0..300 {
            let mut damaged = text.clone();
            damaged.truncate(random.below(damaged.len() + 1));
            for _ in 0..random.below(4) {
                let junk = ['[', ']', '"', '{', '}', '(', ')', ';', '\\', '\n', '%', '♞', 'x', ' '];
                let at = random.below(damaged.len() + 1);
                damaged.insert(at, junk[random.below(junk.len())]);
            }
            let _ = pgn::read(&damaged.into_iter().collect::<String>());
        }
    }
}
