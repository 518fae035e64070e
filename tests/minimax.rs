//! Minimax: its evaluation and its distances to mate against python-chess, its pruning against a search without.

mod choosing;

use choosing::choose;
use fianchetto::chess::{Board, Game, Move, Outcome, Piece, notation};
use fianchetto::search::minimax::{Minimax, evaluate};
use fianchetto::search::{Clock, Limits, Player, Score, Settings};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn game(fen: &str) -> Game {
    let (game, repairs) = Game::from_fen(fen).unwrap();
    assert!(repairs.is_empty(), "{fen}: {repairs:?}");
    game
}

fn minimax(settings: &Settings) -> Minimax {
    let mut player = Minimax::default();
    player.configure(settings);
    player
}

fn seeded() -> Settings {
    Settings { seed: 1, ..Settings::default() }
}

fn to_depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

/// One position less than two plies take.
#[test]
fn a_look_cut_short_is_not_told_as_whole() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let (_, whole) = choose(&mut minimax(&seeded()), &game, &to_depth(2));
    assert_eq!(whole.depth, 2);
    let limits = Limits { nodes: Some(whole.nodes - 1), ..Limits::default() };
    let (_, cut) = choose(&mut minimax(&seeded()), &game, &limits);
    assert_eq!((cut.depth, cut.nodes), (1, whole.nodes - 1));
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

/// `tests/golden/evaluation.py` worked the scores out with python-chess.
#[test]
fn evaluation_is_that_of_the_simplified_function() {
    let mut count = 0;
    for row in rows(include_str!("golden/evaluation.tsv")) {
        let score = evaluate(game(row[0]).board());
        assert_eq!(score, row[1].parse::<i32>().unwrap(), "{}", row[0]);
        count += 1;
    }
    assert_eq!(count, 180);
}

/// Minimax as the textbook has it: every move, no pruning, no table, no order.
struct Plain {
    positions: u64,
}

const MATE: i32 = 100_000;

impl Plain {
    fn score(&mut self, game: &Game, ply: i32, depth: u32) -> i32 {
        self.positions += 1;
        match game.outcome() {
            Some(Outcome::Checkmate { .. }) => return ply - MATE,
            Some(_) => return 0,
            None if depth == 0 => return self.settled(game, ply, 4),
            None => {}
        }
        let after = |mv| -self.score(&played(game, mv), ply + 1, depth - 1);
        game.legal_moves().into_iter().map(after).max().unwrap()
    }

    /// The score when only captures and promotions go on, or not even they; in check every move.
    fn settled(&mut self, game: &Game, ply: i32, depth: u32) -> i32 {
        self.positions += 1;
        match game.outcome() {
            Some(Outcome::Checkmate { .. }) => return ply - MATE,
            Some(_) => return 0,
            None if depth == 0 => return evaluate(game.board()),
            None => {}
        }
        let in_check = !game.board().checkers().is_empty();
        let mut best = if in_check { -MATE } else { evaluate(game.board()) };
        for mv in game.legal_moves() {
            if in_check || captures_or_promotes(game.board(), mv) {
                best = best.max(-self.settled(&played(game, mv), ply + 1, depth - 1));
            }
        }
        best
    }
}

fn played(game: &Game, mv: Move) -> Game {
    let mut game = game.clone();
    game.play(mv).unwrap();
    game
}

fn captures_or_promotes(board: &Board, mv: Move) -> bool {
    let pawn_leaves_file =
        board.piece_on(mv.from) == Some(Piece::Pawn) && mv.from.file() != mv.to.file();
    board.color_on(mv.to) == Some(!board.side_to_move())
        || pawn_leaves_file
        || mv.promotion.is_some()
}

fn shown(score: i32) -> Score {
    match MATE - score.abs() {
        100.. => Score::Centipawns(score),
        plies if score > 0 => Score::Mate((plies + 1) / 2),
        plies => Score::Mate(-(plies / 2)),
    }
}

/// Positions of all sorts, and games a few plies before their end, which often is a draw by repetition.
fn games() -> Vec<Game> {
    let mut games: Vec<Game> =
        rows(include_str!("data/notation.tsv")).map(|row| game(row[0])).collect();
    for row in rows(include_str!("data/games.tsv")) {
        let mut game = game(row[1]);
        let moves: Vec<&str> = row[2].split_whitespace().collect();
        for text in &moves[..moves.len().saturating_sub(3)] {
            game.play_uci(text).unwrap();
        }
        games.push(game);
    }
    games.retain(|game| !game.legal_moves().is_empty());
    games.extend(shuffles());
    games
}

/// Kings that can do little but go to and fro, for longer and longer, and near the fifty-move draw.
fn shuffles() -> Vec<Game> {
    let mut games = Vec::new();
    for board in ["k7/p1p5/P1P3p1/6P1/6P1/p1p5/P1P5/K7", "1k6/p1p5/P1P5/5p2/5P2/p1p5/P1P5/K7"] {
        for clock in [0, 90, 92, 93, 94, 95, 96, 97] {
            let mut game = game(&format!("{board} w - - {clock} 80"));
            for turn in 0..8 {
                games.push(game.clone());
                let home = game.moves().iter().rev().nth(1).map(|mv| mv.from);
                let king = game.board().king(game.board().side_to_move());
                let mut moves = game.legal_moves();
                moves.retain(|mv| mv.from == king && (turn % 4 < 2 || Some(mv.to) == home));
                game.play(moves[0]).unwrap();
            }
        }
    }
    games
}

#[test]
fn no_move_is_scored_otherwise_than_by_plain_minimax() {
    /// Positions after which plain minimax goes no deeper; nor does it after eight plies.
    const ENOUGH: u64 = 3000;
    // The same players throughout: what they remember must not matter.
    let mut one = minimax(&Settings { hash: 1, ..seeded() });
    let mut all = minimax(&Settings { lines: 218, hash: 1, ..seeded() });
    let mut depths = BTreeMap::new();
    let mut draws = 0;
    for game in games() {
        let mut plain = Plain { positions: 0 };
        for depth in 1..=8 {
            let scores: BTreeMap<String, i32> = (game.legal_moves().into_iter())
                .map(|mv| {
                    let score = -plain.score(&played(&game, mv), 1, depth - 1);
                    (notation::to_uci(game.board(), mv), score)
                })
                .collect();
            let best = *scores.values().max().unwrap();
            draws += u32::from(best == 0);
            let case = format!("{} after {:?} at depth {depth}", game.fen(), game.moves());

            let (_, report) = choose(&mut all, &game, &to_depth(depth));
            let found: BTreeMap<String, Score> = (report.lines.iter())
                .map(|line| (notation::to_uci(game.board(), line.moves[0]), line.score.unwrap()))
                .collect();
            let expected: BTreeMap<String, Score> =
                scores.iter().map(|(mv, &score)| (mv.clone(), shown(score))).collect();
            assert_eq!(found, expected, "{case}");

            let (choice, report) = choose(&mut one, &game, &to_depth(depth));
            assert_eq!(report.lines.len(), 1);
            assert_eq!(report.lines[0].score, Some(shown(best)), "{case}");
            let chosen = notation::to_uci(game.board(), choice.best.unwrap());
            assert_eq!(scores[&chosen], best, "{chosen} in {case}");

            if plain.positions > ENOUGH || depth == 8 {
                *depths.entry(depth).or_insert(0) += 1;
                break;
            }
        }
    }
    let at_least = |depth: u32| depths.range(depth..).map(|(_, count)| count).sum::<u32>();
    let counts = [1, 2, 3, 4, 5, 6, 7, 8].map(at_least);
    assert!(counts[0] > 150 && counts[1] > 100 && counts[2] > 50 && counts[3] > 20, "{counts:?}");
    assert!(counts[4] > 5 && counts[7] > 50 && draws > 20, "{counts:?}, {draws}");
}

/// `tests/golden/mate_distances.py` worked the distances out with python-chess.
#[test]
fn mates_are_found_at_their_distance() {
    let mut player = minimax(&seeded());
    let mut count = 0;
    for row in rows(include_str!("golden/mate_distances.tsv")) {
        let (game, moves) = (game(row[0]), row[1].parse::<i32>().unwrap());
        if moves == 0 {
            let (choice, report) = choose(&mut player, &game, &Limits::default());
            assert_eq!((choice.best, report.value), (None, Some(-1.0)), "{}", row[0]);
            continue;
        }
        let plies = if moves > 0 { 2 * moves - 1 } else { -2 * moves };
        let mate = Limits { mate: Some(moves.unsigned_abs()), ..Limits::default() };
        for limits in [to_depth(plies as u32), to_depth(6), mate] {
            if limits.mate.is_some() && moves < 0 {
                continue;
            }
            let (_, report) = choose(&mut player, &game, &limits);
            assert_eq!(report.lines[0].score, Some(Score::Mate(moves)), "{} {limits:?}", row[0]);
            assert_eq!(report.value, Some(f64::from(moves.signum())));
        }
        if plies > 1 {
            let (_, report) = choose(&mut player, &game, &to_depth(plies as u32 - 1));
            assert_ne!(report.lines[0].score, Some(Score::Mate(moves)), "{} too early", row[0]);
        }
        count += 1;
    }
    assert!(count > 40, "only {count} mates");
}

/// `tests/golden/finish.py` found the moves that mate, and with three plies those that mate in two.
#[test]
fn a_bare_king_is_mated_by_a_move_that_mates() {
    let mut player = minimax(&seeded());
    let mut mates = 0;
    for row in rows(include_str!("data/finish.tsv")).filter(|row| row[1] == "3") {
        let game = game(row[0]);
        let (choice, report) = choose(&mut player, &game, &to_depth(3));
        if let Some(Score::Mate(1 | 2)) = report.lines[0].score {
            let chosen = notation::to_uci(game.board(), choice.best.unwrap());
            assert!(row[2].split(' ').any(|mv| mv == chosen), "{chosen} in {}", row[0]);
            mates += 1;
        }
    }
    assert!(mates > 15, "only {mates} mates");
}

#[test]
fn draws_are_worth_nothing() {
    let shuffle = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1";
    for (fen, moves, mv) in [
        // The position after the last move has occurred twice.
        ("startpos", shuffle, Some("f6g8")),
        // A hundred plies, unless something is taken.
        ("8/8/8/3k4/8/3K4/3R4/8 w - - 99 90", "", None),
        ("8/8/4k3/8/8/3n4/8/4K3 w - - 0 1", "", None),
        // Stalemate, though a queen up.
        ("k7/8/1K6/8/8/8/8/2Q5 w - - 0 1", "", Some("c1c7")),
    ] {
        let mut game = game(fen);
        moves.split_whitespace().for_each(|mv| {
            game.play_uci(mv).unwrap();
        });
        let mut limits = to_depth(3);
        limits.search_moves.extend(mv.map(|mv| notation::from_uci(game.board(), mv).unwrap()));
        let (_, report) = choose(&mut minimax(&seeded()), &game, &limits);
        assert_eq!(report.lines[0].score, Some(Score::Centipawns(0)), "{fen} {mv:?}");
    }
}

#[test]
fn a_seed_always_picks_the_same_and_all_seeds_pick_everything() {
    let game = Game::default();
    let mut chosen = HashSet::new();
    let mut nodes = HashSet::new();
    for seed in 1..=40 {
        let settings = Settings { seed, ..Settings::default() };
        let (choice, report) = choose(&mut minimax(&settings), &game, &to_depth(1));
        let settings = Settings { hash: 3, ..settings };
        let mut again = minimax(&settings);
        choose(&mut again, &game, &to_depth(5));
        assert_eq!(choose(&mut again, &game, &to_depth(1)).0.best, choice.best);
        chosen.insert(notation::to_uci(game.board(), choice.best.unwrap()));
        nodes.insert(report.nodes);
    }
    // Both knights are worth 40 less at home than where they can go to at once.
    assert_eq!(chosen, HashSet::from(["b1c3", "g1f3"].map(String::from)));
    assert_eq!(nodes.len(), 1, "the order of search depends on the seed");
}

#[test]
fn memory_spares_work_until_the_next_game() {
    let mut player = minimax(&seeded());
    let mut nodes = |game: &Game| choose(&mut player, game, &to_depth(4)).1.nodes;
    let (start, other) = (Game::default(), game("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"));
    let first = nodes(&start);
    assert!(nodes(&start) < first);
    nodes(&other);
    assert_eq!(nodes(&start), first);
    player.new_game();
    assert_eq!(choose(&mut player, &start, &to_depth(4)).1.nodes, first);
}

const MIDDLEGAME: &str = "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7";

#[test]
fn depth_is_what_is_asked_for() {
    let game = game(MIDDLEGAME);
    let clock = Some(Clock { left: Duration::from_secs(600), ..Clock::default() });
    let clock = Limits { clock, ..Limits::default() };
    let depth = |depth, limits: &Limits| {
        choose(&mut minimax(&Settings { depth, ..seeded() }), &game, limits).1.depth
    };
    assert_eq!(depth(0, &Limits::default()), 4);
    assert_eq!(depth(2, &Limits::default()), 2);
    assert_eq!(depth(2, &clock), 2);
    assert_eq!(depth(2, &Limits { infinite: true, ..Limits::default() }), 2);
    assert_eq!(depth(2, &to_depth(3)), 3);
    assert_eq!(depth(0, &Limits { depth: Some(3), ..clock }), 3);
    assert_eq!(depth(0, &to_depth(0)), 1);
    assert_eq!(depth(0, &Limits { mate: Some(2), ..Limits::default() }), 3);
}

#[test]
fn nodes_are_never_exceeded() {
    let game = game(MIDDLEGAME);
    for nodes in [0, 1, 2, 30, 1000, 12_345] {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let (choice, report) = choose(&mut minimax(&seeded()), &game, &limits);
        assert_eq!(report.nodes, nodes.min(report.nodes));
        assert!(nodes < 1000 || report.nodes > nodes / 4, "{} of {nodes}", report.nodes);
        assert!(choice.best.is_some());
    }
}

#[test]
fn an_unlimited_search_ends_when_told() {
    let game = game(MIDDLEGAME);
    for limits in [
        Limits { infinite: true, ..Limits::default() },
        Limits { ponder: true, ..Limits::default() },
        Limits { move_time: Some(Duration::from_secs(3600)), ..Limits::default() },
    ] {
        let stop = AtomicBool::new(false);
        let (mut last, mut told) = (None, Instant::now());
        let choice = minimax(&seeded())
            .choose(&game, &limits, &stop, &mut |report| {
                if report.depth == 5 {
                    stop.store(true, Ordering::Relaxed);
                    told = Instant::now();
                }
                last = Some(report.clone());
            })
            .unwrap();
        let report = last.unwrap();
        assert!(report.depth >= 5);
        assert_eq!(choice.best, Some(report.lines[0].moves[0]));
        assert!(told.elapsed() < Duration::from_millis(500), "{:?}", told.elapsed());
    }
}

#[test]
fn time_is_kept() {
    let game = game(MIDDLEGAME);
    let clock = Clock { left: Duration::from_secs(5), ..Clock::default() };
    for limits in [
        Limits { move_time: Some(Duration::from_millis(100)), ..Limits::default() },
        Limits { clock: Some(clock), ..Limits::default() },
    ] {
        let began = Instant::now();
        let (_, report) = choose(&mut minimax(&seeded()), &game, &limits);
        let time = began.elapsed();
        assert!(report.depth >= 2, "{}", report.depth);
        // 100 ms or 200 ms; other tests may run at the same time.
        assert!(time < Duration::from_millis(1000), "{time:?}");
    }
}
