//! The player as the world sees it.

use super::Hashing;
use crate::backend::fixed::Fixed;
use crate::backend::{Backend, BackendError, Batch, Outputs};
use crate::chess::{Game, notation};
use crate::encoding::Encoding;
use crate::evaluator::Evaluator;
use crate::search::mcts::{Mcts, Parameters};
use crate::search::{Choice, Clock, Limits, Player, Report, Score, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn player(backend: impl Backend + 'static, mcts: Parameters) -> Mcts {
    configured(backend, Settings { mcts, ..Settings::default() })
}

fn configured(backend: impl Backend + 'static, settings: Settings) -> Mcts {
    let mut player = Mcts::new(Evaluator::new(Encoding::Canonical19, Box::new(backend)));
    player.configure(&settings);
    player
}

fn game(fen: &str, moves: &str) -> Game {
    let (mut game, _) = Game::from_fen(fen).unwrap();
    moves.split_whitespace().for_each(|mv| game.play_uci(mv).map(|_| ()).unwrap());
    game
}

/// The choice and the last report; every line of every report is checked.
fn choose(player: &mut Mcts, game: &Game, limits: &Limits) -> (Choice, Report) {
    let (stop, mut last) = (AtomicBool::new(false), Report::default());
    let choice = player.choose(game, limits, &stop, &mut |report| {
        for line in &report.lines {
            let mut game = game.clone();
            line.moves.iter().for_each(|&mv| game.play(mv).unwrap());
        }
        last = report.clone();
    });
    let choice = choice.unwrap();
    assert_eq!(choice.best, last.lines.first().map(|line| line.moves[0]));
    (choice, last)
}

fn nodes(nodes: u64) -> Limits {
    Limits { nodes: Some(nodes), ..Limits::default() }
}

/// `tests/golden/mates.py` worked the mates out.
#[test]
fn mates_are_found_and_announced() {
    for line in include_str!("../../../../tests/data/mates.tsv").lines() {
        let (fen, moves) = line.split_once('\t').unwrap();
        let mut player = player(Fixed::default(), Parameters::default());
        let (_, report) = choose(&mut player, &game(fen, ""), &nodes(200_000));
        assert_eq!(report.lines[0].score, Some(Score::Mate(moves.parse().unwrap())), "{line}");
        assert!(report.nodes < 200_000, "{line}: it did not end with the proof");
        let (_, again) = choose(&mut player, &game(fen, ""), &nodes(200_000));
        assert_eq!((again.nodes, again.lines), (0, report.lines), "{line}: a proof is remembered");
    }
}

#[test]
fn draws_are_proven() {
    let repeated = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1";
    for (fen, moves, only) in [
        // The king must take the last piece.
        ("7k/8/8/8/8/8/6q1/7K w - - 0 1", "", None),
        // Every move completes a hundred plies.
        ("7k/8/8/8/8/8/R7/7K w - - 99 80", "", None),
        // The third occurrence.
        ("startpos", repeated, Some("f6g8")),
    ] {
        let game = game(fen, moves);
        let mv = only.map(|text| notation::from_uci(game.board(), text).unwrap());
        let limits = Limits { search_moves: mv.into_iter().collect(), ..nodes(5000) };
        // The network is sure to win.
        let fixed = Fixed { value: 1.0, ..Fixed::default() };
        let (_, report) = choose(&mut player(fixed, Parameters::default()), &game, &limits);
        assert_eq!(report.lines[0].score, Some(Score::Centipawns(0)), "{fen}");
        assert!(report.nodes < 100, "{fen}: {}", report.nodes);
    }
}

/// A lost side that can repeat the position does: all else loses its queen.
#[test]
fn a_repetition_is_a_draw_inside_the_tree() {
    let game = game("startpos", "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1");
    // For the side to move all is lost, whoever it is, except where the game is drawn.
    let fixed = Fixed { value: 0.9, ..Fixed::default() };
    let (choice, report) = choose(&mut player(fixed, Parameters::default()), &game, &nodes(2000));
    assert_eq!(choice.best.map(|mv| mv.to_string()).as_deref(), Some("f6g8"));
    assert_eq!(report.lines[0].score, Some(Score::Centipawns(0)));
}

#[test]
fn a_finished_game_has_no_move() {
    for (fen, value) in [
        ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", -1.0),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", 0.0),
    ] {
        let (choice, report) =
            choose(&mut player(Hashing, Parameters::default()), &game(fen, ""), &nodes(10));
        assert_eq!((choice, report.value, report.lines.len()), (Choice::default(), Some(value), 0));
    }
}

/// 1 call for the root and 100 for 800 positions, instead of 801.
#[test]
fn a_batch_is_one_call() {
    for (batch_size, calls) in [(1, 801), (8, 101), (16, 52)] {
        let parameters = Parameters { batch_size, ..Parameters::default() };
        let mut player = player(Hashing, parameters);
        let (_, report) = choose(&mut player, &Game::default(), &nodes(801));
        assert_eq!(report.nodes, 801);
        assert!(player.network_calls() <= calls, "{batch_size}: {}", player.network_calls());
    }
}

#[test]
fn what_is_remembered_changes_nothing() {
    let middlegame = "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7";
    for fen in ["startpos", middlegame, "8/8/8/3k4/8/3K4/3P4/8 w - - 0 1"] {
        let search = |cache_percent| {
            let parameters = Parameters { cache_percent, ..Parameters::default() };
            let mut player = player(Hashing, parameters);
            let report = choose(&mut player, &game(fen, ""), &nodes(5000)).1;
            (report.nodes, report.value, report.lines, player.network_calls())
        };
        let (with, without) = (search(50), search(0));
        assert_eq!((with.0, with.1, &with.2), (without.0, without.1, &without.2), "{fen}");
        assert!(with.3 <= without.3);
    }
}

#[test]
fn the_same_nodes_give_the_same_tree() {
    let search = |seed, root_noise| {
        let mcts = Parameters { root_noise, ..Parameters::default() };
        let settings = Settings { seed, mcts, ..Settings::default() };
        choose(&mut configured(Hashing, settings), &Game::default(), &nodes(2000)).1
    };
    assert_eq!(search(0, 0.0).lines, search(0, 0.0).lines);
    assert_eq!(search(5, 0.25), search(5, 0.25));
    assert_ne!(search(5, 0.25).lines, search(6, 0.25).lines);
    assert_ne!(search(5, 0.25).lines, search(5, 0.0).lines);
}

#[test]
fn lines_are_ordered_by_visits_and_only_those_asked_for() {
    let game = Game::default();
    let wanted = ["a2a3", "h2h4", "e2e4"].map(|mv| notation::from_uci(game.board(), mv).unwrap());
    let mut player = player(Hashing, Parameters::default());
    for search_moves in [vec![], wanted.to_vec(), wanted[..1].to_vec(), vec![]] {
        let count = if search_moves.is_empty() { 20 } else { search_moves.len() };
        let limits = Limits { search_moves: search_moves.clone(), ..nodes(500) };
        let (_, report) = choose(&mut player, &game, &limits);
        assert_eq!(report.lines.len(), count);
        let shares: Vec<f64> = report.lines.iter().map(|line| line.probability.unwrap()).collect();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let allowed = |mv| search_moves.is_empty() || search_moves.contains(mv);
        assert!(report.lines.iter().all(|line| allowed(&line.moves[0])));
    }
}

/// Few moves are shown as they are among themselves, and what is remembered of some says nothing of others.
#[test]
fn search_moves_share_what_the_network_gives_them() {
    let game = Game::default();
    let share = |player: &mut Mcts, moves: [&str; 2]| {
        let search_moves = moves.map(|mv| notation::from_uci(game.board(), mv).unwrap()).to_vec();
        let (choice, report) = choose(player, &game, &Limits { search_moves, ..nodes(1) });
        (choice.best.unwrap().to_string(), report.lines[0].probability.unwrap())
    };
    // e2e4 and a2a3 in the mover's frame.
    let fixed = Fixed { logits: vec![(796, 2.0), (8 * 64 + 16, 1.0)], ..Fixed::default() };
    let mut player = player(fixed, Parameters::default());
    for (moves, best, logit) in [
        (["d2d4", "e2e4"], "e2e4", 2.0_f64),
        (["h2h4", "a2a3"], "a2a3", 1.0),
        (["a2a3", "e2e4"], "e2e4", 1.0),
    ] {
        let (mv, probability) = share(&mut player, moves);
        assert_eq!(mv, best);
        // Two logits that differ by so much, within the rounding of a prior.
        assert!(
            (probability - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-3,
            "{moves:?}: {probability}"
        );
    }
}

#[test]
fn one_node_is_the_policy() {
    let fixed = Fixed { logits: vec![(796, 2.0)], value: 0.25, ..Fixed::default() };
    let (choice, report) =
        choose(&mut player(fixed, Parameters::default()), &Game::default(), &nodes(1));
    assert_eq!(choice.best.map(|mv| mv.to_string()).as_deref(), Some("e2e4"));
    // e^2 against 19 times e^0, within the rounding of a prior.
    assert!((report.lines[0].probability.unwrap() - 0.280_004).abs() < 1e-4);
    assert_eq!((report.nodes, report.value), (1, Some(0.25)));
}

#[test]
fn memory_stays_under_its_limit() {
    let mut player = configured(Hashing, Settings { hash: 1, ..Settings::default() });
    let mut game = Game::default();
    for ply in 0..30 {
        let (choice, report) = choose(&mut player, &game, &nodes(20_000));
        assert!(player.memory() <= 1 << 20, "{}", player.memory());
        assert!(report.nodes > 0 || ply > 0);
        let full = report.remark.unwrap().contains("the tree is full");
        assert!(full || report.nodes == 20_000 || ply > 20, "ply {ply}: {}", report.nodes);
        match choice.best {
            Some(best) => game.play(best).unwrap(),
            None => break,
        }
    }
}

#[test]
fn the_tree_is_kept_from_move_to_move() {
    let known = |report: Report| -> u32 {
        let remark = report.remark.unwrap();
        let words: Vec<&str> = remark.split(' ').collect();
        words[words.iter().position(|&word| word == "on").unwrap() + 1].parse().unwrap()
    };
    let mut player = player(Hashing, Parameters::default());
    let mut game = Game::default();
    let (choice, report) = choose(&mut player, &game, &nodes(2000));
    assert_eq!(known(report), 0);
    game.play(choice.best.unwrap()).unwrap();
    // While pondering nothing else is forgotten.
    let mut pondered = game.clone();
    pondered.play(choice.ponder.unwrap()).unwrap();
    let (_, report) = choose(&mut player, &pondered, &Limits { ponder: true, ..nodes(500) });
    assert!(known(report) > 0);
    // A miss: another reply.
    let mut replies = game.legal_moves();
    replies.retain(|&mv| Some(mv) != choice.ponder);
    let mut missed = game.clone();
    missed.play(replies[0]).unwrap();
    let (_, report) = choose(&mut player, &missed, &nodes(1));
    assert!(known(report) > 0, "what was known of {} is lost", replies[0]);
    // The same moves from another start are another game.
    let (_, report) = choose(&mut player, &self::game(&missed.fen(), ""), &nodes(1));
    assert_eq!(known(report), 0);
    player.new_game();
    let (_, report) = choose(&mut player, &missed, &nodes(1));
    assert_eq!(known(report), 0);
}

#[test]
fn temperature_draws_by_visits_in_the_opening_only() {
    let drawn = |ply: usize| {
        let mut game = Game::default();
        for _ in 0..ply / 4 {
            for mv in ["g1f3", "g8f6", "f3g1", "f6g8"] {
                game.play_uci(mv).unwrap();
            }
        }
        let mcts = Parameters { temperature_plies: 4, ..Parameters::default() };
        let settings = Settings { temperature: 1.0, seed: 1, mcts, ..Settings::default() };
        let mut player = configured(Hashing, settings);
        let best = |_| {
            player.new_game();
            choose(&mut player, &game, &nodes(50)).0.best.unwrap().to_string()
        };
        (0..20).map(best).collect::<std::collections::HashSet<_>>().len()
    };
    assert!(drawn(0) > 1);
    assert_eq!(drawn(4), 1);
}

/// A network that takes its time, on a clock of its own.
struct Slow {
    clock: Arc<AtomicU64>,
    each: u64,
}

impl Backend for Slow {
    fn name(&self) -> String {
        "slow".into()
    }

    fn device(&self) -> String {
        "none".into()
    }

    fn batch_sizes(&self) -> &[usize] {
        &[1]
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        self.clock.fetch_add(self.each * batch.len() as u64, Ordering::Relaxed);
        Hashing.evaluate(batch, outputs)
    }
}

/// Microseconds spent on a position by a network that takes `each` for one, and the positions.
fn spent(each: u64, game: &Game, limits: &Limits) -> (u64, u64) {
    let clock = Arc::new(AtomicU64::new(0));
    let now = clock.clone();
    let backend = Slow { clock: clock.clone(), each };
    let mut player = player(backend, Parameters::default())
        .with_clock(move || Duration::from_micros(now.load(Ordering::Relaxed)));
    let (choice, report) = choose(&mut player, game, limits);
    assert!(choice.best.is_some());
    (clock.load(Ordering::Relaxed), report.nodes)
}

/// `tests/data/time.tsv`: milliseconds left, increment, moves to go (0 for none) and of the move (0 for none);
/// microseconds a position takes; the least and the most milliseconds to be spent.
#[test]
fn time_is_kept() {
    for line in include_str!("../../../../tests/data/time.tsv").lines().skip(1) {
        let numbers: Vec<u64> = line.split('\t').map(|n| n.parse().unwrap()).collect();
        let &[left, increment, to_go, move_time, each, least, most] = &numbers[..] else {
            panic!("{line}");
        };
        let clock = Clock {
            left: Duration::from_millis(left),
            increment: Duration::from_millis(increment),
            moves_to_go: Some(to_go as u32).filter(|&moves| moves > 0),
        };
        let time = Some(Duration::from_millis(move_time)).filter(|time| !time.is_zero());
        let limits =
            Limits { clock: time.is_none().then_some(clock), move_time: time, ..Limits::default() };
        let (spent, _) = spent(each, &Game::default(), &limits);
        let range = 1000 * least..=1000 * most;
        assert!(range.contains(&spent), "{line}: {spent} microseconds");
    }
}

#[test]
fn no_time_is_spent_where_nothing_is_to_be_decided() {
    let limits = Limits {
        clock: Some(Clock { left: Duration::from_secs(60), ..Clock::default() }),
        ..Limits::default()
    };
    let forced = "h2h4 e7e5 h4h5 d7d5 h5h6 g8h6 g2g4 h6g4 f2f4 f8e7 f4e5 e7h4";
    assert_eq!(spent(1000, &game("startpos", forced), &limits), (1000, 1));
    let (time, _) = spent(1000, &game("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", ""), &limits);
    assert!(time < 500_000, "a mate in one took {time} microseconds");
    // One move is far ahead: the others cannot catch up in an even share of the time.
    let clock = Arc::new(AtomicU64::new(0));
    let now = clock.clone();
    let fixed = Fixed { logits: vec![(796, 9.0)], ..Fixed::default() };
    let mut player = player(fixed, Parameters::default())
        .with_clock(move || Duration::from_micros(now.fetch_add(8000, Ordering::Relaxed)));
    choose(&mut player, &Game::default(), &limits);
    let time = clock.load(Ordering::Relaxed);
    assert!(time < 1_600_000, "{time} of 2,400,000 microseconds for a clear case");
}

/// The machine sleeps during a batch: the moves after it find out that the network is as fast as before.
#[test]
fn a_slow_moment_is_forgotten() {
    let clock = Arc::new(AtomicU64::new(0));
    let now = clock.clone();
    let backend = Slow { clock: clock.clone(), each: 1000 };
    let mut player = player(backend, Parameters::default()).with_clock(move || {
        // One jump of a minute.
        let time = now.load(Ordering::Relaxed);
        Duration::from_micros(if time > 20_000 { time + 60_000_000 } else { time })
    });
    let limits = Limits { move_time: Some(Duration::from_millis(50)), ..Limits::default() };
    let mut played = Vec::new();
    for _ in 0..30 {
        let (_, report) = choose(&mut player, &Game::default(), &limits);
        played.push(report.nodes);
    }
    assert!(played[0] < 40 && played[29] >= 40, "{played:?}");
}

/// A drawn move neither lets a mate slip nor walks into one.
#[test]
fn temperature_plays_no_blunders() {
    let settings = Settings { temperature: 10.0, seed: 1, ..Settings::default() };
    let mut player = configured(Hashing, settings);
    for (fen, mates) in [
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", true),
        // In the corner the king is mated by the rook.
        ("6k1/5ppp/8/8/8/8/8/R5K1 b - - 0 1", false),
    ] {
        for _ in 0..30 {
            player.new_game();
            let (_, report) = choose(&mut player, &game(fen, ""), &nodes(3000));
            let score = report.lines[0].score;
            match mates {
                true => assert_eq!(score, Some(Score::Mate(1))),
                false => {
                    assert!(!matches!(score, Some(Score::Mate(moves)) if moves < 0), "{score:?}")
                }
            }
        }
    }
}

#[test]
fn stop_and_depth_end_a_search() {
    let mut player = player(Hashing, Parameters::default());
    let stop = AtomicBool::new(true);
    let limits = Limits { infinite: true, ..Limits::default() };
    let mut evaluated = 0;
    let choice = player.choose(&Game::default(), &limits, &stop, &mut |r| evaluated = r.nodes);
    assert!(choice.unwrap().best.is_some());
    assert_eq!(evaluated, 1);
    for depth in [0, 1, 3] {
        player.new_game();
        let limits = Limits { depth: Some(depth), ..Limits::default() };
        let (_, report) = choose(&mut player, &Game::default(), &limits);
        assert!(
            report.depth >= depth && report.depth <= depth.max(1) + 1,
            "{depth}: {}",
            report.depth
        );
    }
}

#[test]
fn a_network_without_numbers_is_refused_and_forgotten() {
    let fixed = Fixed { value: f32::NAN, ..Fixed::default() };
    let mut player = player(fixed, Parameters::default());
    for _ in 0..2 {
        let stop = AtomicBool::new(false);
        let error = player.choose(&Game::default(), &nodes(9), &stop, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("NaN"), "{error}");
    }
}
