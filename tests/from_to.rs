//! The from/to player, on a small pair of networks with random weights: against plain minimax by python-chess.

mod choosing;
mod random_weights;

use choosing::choose;
use fianchetto::backend::{cpu::Cpu, fixed::Fixed};
use fianchetto::chess::{Game, notation};
use fianchetto::encoding::Encoding;
use fianchetto::evaluator::Evaluator;
use fianchetto::network::Network;
use fianchetto::search::from_to::{FromTo, Parameters, Prediction};
use fianchetto::search::{Choice, Clock, Limits, Line, Player, Report, Score, Settings};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The networks of `tests/golden/from_to.py`.
fn player(settings: &Settings) -> FromTo {
    let file = random_weights::file(&random_weights::pair(4, 5), 7);
    let cpu = Cpu::new(Network::from_safetensors(&file).unwrap(), 1);
    let mut player = FromTo::new(Evaluator::new(Encoding::Canonical12, Box::new(cpu)));
    player.configure(settings);
    player
}

fn game(fen: &str) -> Game {
    Game::from_fen(fen).unwrap().0
}

fn figure(line: &Line, name: &str) -> f64 {
    line.figures.iter().find(|(other, _)| *other == name).expect("the figure is there").1
}

#[test]
fn every_move_comes_to_what_plain_minimax_says() {
    let mut count = 0;
    for row in include_str!("data/from_to.tsv").lines() {
        let [fen, by, plies, depth, moves] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not five columns: {row:?}");
        };
        let prediction = if by == "ranks" { Prediction::Ranks } else { Prediction::Product };
        let from_to = Parameters { prediction, prediction_plies: plies.parse().unwrap() };
        let depth = depth.parse().unwrap();
        let all = Settings { from_to, depth, lines: 218, ..Settings::default() };
        let game = game(fen);
        let expected: BTreeMap<&str, f64> = (moves.split(' '))
            .map(|text| text.split_once('=').unwrap())
            .map(|(mv, points)| (mv, points.parse().unwrap()))
            .collect();

        let mut player = player(&all);
        let (_, report) = choose(&mut player, &game, &Limits::default());
        assert_eq!((report.depth, report.value), (depth, None));
        assert_eq!(report.lines.len(), expected.len(), "{fen}");
        // Of probabilities as PyTorch has them in f64, rounded to thousandths, at up to three plies.
        let tolerance = if by == "ranks" { 0.0 } else { 0.003 };
        for line in &report.lines {
            let mv = notation::to_uci(game.board(), line.moves[0]);
            let (found, expected) = (figure(line, "searched"), expected[&*mv]);
            assert!((found - expected).abs() <= tolerance, "{mv}: {found}, not {expected}: {row}");
        }
        assert!(report.lines.is_sorted_by_key(|line| -figure(line, "searched")), "{row}");

        // What is left out where one move is wanted does not change it.
        player.configure(&Settings { lines: 1, ..all });
        let (_, one) = choose(&mut player, &game, &Limits::default());
        assert_eq!(one.lines.len(), 1);
        assert_eq!(one.lines[0].moves[0], report.lines[0].moves[0], "{row}");
        // Once it is found that it mates nothing deeper is looked at.
        if one.lines[0].score.is_none() {
            assert_eq!(figure(&one.lines[0], "searched"), figure(&report.lines[0], "searched"));
        }
        assert!(one.nodes <= report.nodes);
        count += 1;
    }
    assert!(count > 80, "only {count} cases");
}

#[test]
fn mates_are_announced_at_their_distance() {
    for (fen, mv, mate) in [
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "a1a8", Some(Score::Mate(1))),
        ("r5k1/8/8/8/8/8/5PPP/6K1 b - - 0 1", "a8a1", Some(Score::Mate(1))),
        ("k7/8/2K5/8/8/8/8/1R6 w - - 0 1", "c6c7", Some(Score::Mate(2))),
        // The only move, and then Qg7#.
        ("7k/8/5K2/6Q1/8/8/8/8 b - - 0 1", "h8h7", Some(Score::Mate(-1))),
        ("startpos", "", None),
    ] {
        let game = game(fen);
        let (choice, report) = choose(&mut player(&Settings::default()), &game, &Limits::default());
        assert_eq!(report.lines[0].score, mate, "{fen}");
        let chosen = notation::to_uci(game.board(), choice.best.unwrap());
        assert!(mv.is_empty() || chosen == mv, "{chosen} in {fen}");
    }
}

/// The root, then all positions after it at once, then those after these in batches.
#[test]
fn positions_are_shown_to_the_networks_in_batches_and_only_once() {
    let mut player = player(&Settings::default());
    let mut remark = |depth| {
        let limits = Limits { depth: Some(depth), ..Limits::default() };
        choose(&mut player, &Game::default(), &limits).1.remark.unwrap()
    };
    assert!(remark(1).ends_with("; network calls: 1, for 1 of them"));
    assert!(remark(2).ends_with("; network calls: 1, for 20 of them"));
    let third = remark(3);
    let numbers: Vec<u32> = third.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [_, calls, positions] = numbers[..] else { panic!("{third}") };
    // Twenty replies to the first move, and at least one batch of four to each of the others; at most all.
    assert!((96..=400).contains(&positions) && calls <= positions / 4, "{third}");
    assert!(remark(3).ends_with("; network calls: 0, for 0 of them"));
}

#[test]
fn depth_is_what_is_asked_for_and_moves_are_those_allowed() {
    let depth = |depth, limits: &Limits| {
        let from_to = Parameters { prediction_plies: 1, ..Parameters::default() };
        let settings = Settings { depth, from_to, ..Settings::default() };
        choose(&mut player(&settings), &game("4k3/8/8/8/8/8/P7/4K3 w - - 0 1"), limits).1.depth
    };
    let four = Limits { depth: Some(4), ..Limits::default() };
    assert_eq!(depth(0, &Limits::default()), 3);
    assert_eq!(depth(2, &Limits::default()), 2);
    assert_eq!(depth(2, &four), 4);
    assert_eq!(depth(0, &Limits { infinite: true, ..Limits::default() }), 3);
    let mv = "h2h4".parse().unwrap();
    let limits = Limits { search_moves: vec![mv], ..Limits::default() };
    let (choice, _) = choose(&mut player(&Settings::default()), &Game::default(), &limits);
    assert_eq!(choice.best, Some(mv));
}

#[test]
fn limits_are_kept_and_a_move_is_always_found() {
    let game = game("r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7");
    let mut player = player(&Settings { depth: 60, ..Settings::default() });
    for nodes in [0, 1, 30, 5000] {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        assert!(choose(&mut player, &game, &limits).1.nodes <= nodes);
    }
    let clock = Clock { left: Duration::from_secs(5), ..Clock::default() };
    for limits in [
        Limits { move_time: Some(Duration::from_millis(200)), ..Limits::default() },
        Limits { clock: Some(clock), ..Limits::default() },
        Limits { move_time: Some(Duration::ZERO), ..Limits::default() },
    ] {
        let began = Instant::now();
        choose(&mut player, &game, &limits);
        // Other tests may run at the same time.
        assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    }
    let stop = AtomicBool::new(false);
    let mut told = 0;
    let choice = player.choose(&game, &Limits::default(), &stop, &mut |report| {
        told = report.depth;
        stop.store(report.depth == 3, Ordering::Relaxed);
    });
    assert!(choice.unwrap().best.is_some());
    assert!((3..=4).contains(&told), "{told}");
}

#[test]
fn a_finished_game_has_no_move() {
    let (choice, report) = choose(
        &mut player(&Settings::default()),
        &game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"),
        &Limits::default(),
    );
    assert_eq!((choice, report), (Choice::default(), Report::default()));
}

#[test]
fn what_is_no_number_is_refused() {
    let fixed = Fixed { logits: vec![(4100, f32::NAN)], ..Fixed::default() };
    let mut player = FromTo::new(Evaluator::new(Encoding::Canonical12, Box::new(fixed)));
    let stop = AtomicBool::new(false);
    let error = player.choose(&Game::default(), &Limits::default(), &stop, &mut |_| {});
    assert!(error.unwrap_err().to_string().contains("logit of NaN for rnbqkbnr"));
}
