//! The player without search, on a network that holds all moves alike.

mod random_weights;

use fianchetto::backend::{cpu::Cpu, fixed::Fixed};
use fianchetto::chess::{Game, notation};
use fianchetto::encoding::Encoding;
use fianchetto::evaluator::Evaluator;
use fianchetto::network::Network;
use fianchetto::search::{Limits, Player, Report, Score, Settings, policy::Policy};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

fn policy(fixed: Fixed, settings: Settings) -> Policy {
    let mut policy = Policy::new(Evaluator::new(Encoding::Canonical19, Box::new(fixed)));
    policy.configure(&settings);
    policy
}

/// The move played, in UCI notation, and the report behind it.
fn choose(policy: &mut Policy, fen: &str, limits: &Limits) -> (Option<String>, Report) {
    let (game, _) = Game::from_fen(fen).unwrap();
    let mut last = None;
    let stop = AtomicBool::new(false);
    let choice =
        policy.choose(&game, limits, &stop, &mut |report| last = Some(report.clone())).unwrap();
    let report = last.expect("a report");
    assert_eq!(choice.best, report.lines.first().map(|line| line.moves[0]));
    (choice.best.map(|best| notation::to_uci(game.board(), best)), report)
}

/// `tests/golden/finish.py` worked the rule out with python-chess.
#[test]
fn finishing_a_bare_king() {
    for line in include_str!("data/finish.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (fen, plies) = (fields[0], fields[1].parse().unwrap());
        let settings = Settings { finish_plies: plies, ..Settings::default() };
        let (_, report) = choose(&mut policy(Fixed::default(), settings), fen, &Limits::default());
        let (game, _) = Game::from_fen(fen).unwrap();
        let mut kept: Vec<String> = (report.lines.iter())
            .filter(|line| line.probability > Some(0.0))
            .map(|line| notation::to_uci(game.board(), line.moves[0]))
            .collect();
        kept.sort();
        assert_eq!(kept.join(" "), fields[2], "{fen}, {plies} plies");
        let sum: f64 = report.lines.iter().filter_map(|line| line.probability).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{fen}: the probabilities add up to {sum}");
    }
}

#[test]
fn finishing_is_told() {
    let remark = |fen| {
        let (_, report) =
            choose(&mut policy(Fixed::default(), Settings::default()), fen, &Limits::default());
        report.remark.unwrap()
    };
    assert_eq!(remark("startpos"), "policy 5.0% over 20 legal moves");
    let bare = remark("k7/8/1K6/8/8/8/8/7R w - - 0 1");
    assert!(
        bare.starts_with("policy 100.0%") && bare.ends_with("finishing off a bare king"),
        "{bare}"
    );
}

#[test]
fn mates_are_announced() {
    let score = |fen, finish_plies| {
        let settings = Settings { finish_plies, ..Settings::default() };
        choose(&mut policy(Fixed::default(), settings), fen, &Limits::default()).1.lines[0].score
    };
    // Found by the finishing rule: in one move, and in two.
    assert_eq!(score("k7/8/1K6/8/8/8/8/7R w - - 0 1", 1), Some(Score::Mate(1)));
    assert_eq!(score("1k6/8/2K5/8/8/8/8/7R w - - 0 1", 2), Some(Score::Centipawns(0)));
    assert_eq!(score("1k6/8/2K5/8/8/8/8/7R w - - 0 1", 3), Some(Score::Mate(2)));
    // Qh4# for Black in the fool's mate: the network's own choice here (d8h4 is d1h5 in its frame, 3 * 64 + 39).
    let fixed = Fixed { logits: vec![(231, 5.0)], ..Fixed::default() };
    let fen = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2";
    let (best, report) = choose(&mut policy(fixed, Settings::default()), fen, &Limits::default());
    assert_eq!((best.as_deref(), report.lines[0].score), (Some("d8h4"), Some(Score::Mate(1))));
}

/// 111.714640912 * tan(1.5620688421 * v), cut off at v = 0.99 and to whole centipawns.
#[test]
fn values_become_centipawns() {
    for (value, centipawns) in
        [(0.0, 0), (0.1, 17), (-0.5, -110), (0.9, 671), (0.99, 4587), (1.0, 4587), (-1.0, -4587)]
    {
        let fixed = Fixed { value, ..Fixed::default() };
        let (_, report) =
            choose(&mut policy(fixed, Settings::default()), "startpos", &Limits::default());
        assert_eq!(report.lines[0].score, Some(Score::Centipawns(centipawns)), "value {value}");
    }
}

#[test]
fn only_the_moves_asked_for_are_considered() {
    let game = Game::default();
    let wanted = ["a2a3", "h2h4"].map(|text| notation::from_uci(game.board(), text).unwrap());
    let limits = Limits { search_moves: wanted.to_vec(), ..Limits::default() };
    // e2e4 (12 * 64 + 28) would be the first choice, h2h4 (15 * 64 + 31) comes next.
    let fixed = Fixed { logits: vec![(796, 9.0), (991, 3.0)], ..Fixed::default() };
    let (best, report) = choose(&mut policy(fixed, Settings::default()), "startpos", &limits);
    assert_eq!((best.as_deref(), report.lines.len()), (Some("h2h4"), 2));
}

#[test]
fn a_seed_gives_the_same_moves_again() {
    let draws = |seed| -> Vec<_> {
        let settings = Settings { temperature: 1.0, seed, ..Settings::default() };
        let mut policy = policy(Fixed::default(), settings);
        (0..20).map(|_| choose(&mut policy, "startpos", &Limits::default()).0).collect()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}

/// With a logit of ln 4 on e2e4 and 0 on the other 19 moves, e2e4 has weight 4 at temperature 1 (4 in
/// 23), 16 at temperature 0.5 (16 in 35) and 2 at temperature 2 (2 in 21).
#[test]
fn temperature_draws_in_proportion() {
    const DRAWS: u32 = 4000;
    for (temperature, share) in [(0.5, 16.0 / 35.0), (1.0, 4.0 / 23.0), (2.0, 2.0 / 21.0)] {
        let fixed = Fixed { logits: vec![(796, 4.0_f32.ln())], ..Fixed::default() };
        let mut policy = policy(fixed, Settings { temperature, ..Settings::default() });
        let mut drawn: HashMap<String, u32> = HashMap::new();
        for _ in 0..DRAWS {
            let (best, report) = choose(&mut policy, "startpos", &Limits::default());
            assert_eq!(report.lines.len(), 20);
            *drawn.entry(best.unwrap()).or_default() += 1;
        }
        assert_eq!(drawn.len(), 20, "every move is drawn at times");
        let found = f64::from(drawn["e2e4"]) / f64::from(DRAWS);
        // Five standard deviations: wrong once in a million runs.
        let tolerance = 5.0 * (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
        assert!((found - share).abs() < tolerance, "{temperature}: {found} instead of {share}");
    }
}

#[test]
fn a_finished_game_has_no_move() {
    let mated = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3";
    for temperature in [0.0, 1.0] {
        let settings = Settings { temperature, ..Settings::default() };
        let (best, report) =
            choose(&mut policy(Fixed::default(), settings), mated, &Limits::default());
        assert_eq!((best, report.lines.len()), (None, 0));
    }
}

#[test]
fn a_network_without_numbers_is_refused() {
    let fixed = Fixed { value: f32::NAN, ..Fixed::default() };
    let stop = AtomicBool::new(false);
    let error = policy(fixed, Settings::default())
        .choose(&Game::default(), &Limits::default(), &stop, &mut |_| ())
        .unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

#[test]
fn a_seed_draws_the_same_moves_again() {
    let drawn = |seed| {
        let settings = Settings { temperature: 1.0, seed, ..Settings::default() };
        let mut policy = policy(Fixed::default(), settings);
        (0..20)
            .map(|_| choose(&mut policy, "startpos", &Limits::default()).0)
            .collect::<Vec<Option<String>>>()
    };
    assert_eq!(drawn(5), drawn(5));
    assert_ne!(drawn(5), drawn(6));
    assert_ne!(drawn(0), drawn(0), "by chance in one of 10^26 runs");
}

#[test]
fn a_network_without_values_gives_no_score_but_mates() {
    let file = random_weights::file(&random_weights::pair(4, 5), 1);
    let cpu = Cpu::new(Network::from_safetensors(&file).unwrap(), 1);
    let mut policy = Policy::new(Evaluator::new(Encoding::Canonical12, Box::new(cpu)));
    let fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1";
    let (_, report) = choose(&mut policy, fen, &Limits::default());
    assert_eq!(report.value, None);
    let scored: Vec<_> = report.lines.iter().filter_map(|line| line.score).collect();
    assert_eq!((report.lines.len(), &scored[..]), (17, &[Score::Mate(1)][..])); // python-chess
}
