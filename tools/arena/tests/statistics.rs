//! Scores, Elo differences, the sequential test and McNemar's, against SciPy: see `golden/statistics.py`.

use fianchetto_arena::statistics::{McNemar, Sprt, Tally, Verdict, elo_of_score};

/// The lines of a data file, cut at tabs.
fn cases(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn pairs(text: &str) -> [u64; 5] {
    let counts: Vec<u64> = text.split(' ').map(|count| count.parse().unwrap()).collect();
    counts.try_into().unwrap()
}

/// A tally with these pairs; the draws of a drawn pair, or a win and a loss, count alike.
fn tally(pairs: [u64; 5]) -> Tally {
    let mut tally = Tally::default();
    for (count, points) in pairs.into_iter().zip([[0, 0], [1, 0], [2, 0], [1, 2], [2, 2]]) {
        (0..count).for_each(|_| tally.add_pair(points));
    }
    assert_eq!(tally.pairs, pairs);
    tally
}

fn close(found: f64, expected: &str, tolerance: f64) {
    let expected: f64 = expected.parse().unwrap();
    let same = found == expected || (found - expected).abs() <= tolerance;
    // SciPy's logarithm of an impossible score is no number, ours infinite.
    assert!(same || (expected.is_nan() && found.is_infinite()), "{found} {expected}");
}

#[test]
fn scores_and_elo() {
    let mut count = 0;
    for case in cases(include_str!("data/elo.tsv")) {
        let tally = tally(pairs(case[0]));
        close(tally.score().unwrap(), case[1], 1e-12);
        close(tally.error().unwrap(), case[2], 1e-12);
        let elo = tally.elo().unwrap();
        for (found, expected) in [elo.low, elo.estimate, elo.high].into_iter().zip(&case[3..]) {
            close(found, expected, 1e-6);
        }
        let back = tally.reversed();
        assert!((back.score().unwrap() + tally.score().unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(back.plus(&tally).games(), 2 * tally.games());
        count += 1;
    }
    assert_eq!(count, 9);
    assert_eq!(Tally::default().elo(), None);
    assert_eq!((elo_of_score(0.0), elo_of_score(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    // The known table: 64 % are 100 Elo, 76 % are 200.
    assert!((elo_of_score(0.640_065) - 100.0).abs() < 0.001);
    assert!((elo_of_score(0.759_747) - 200.0).abs() < 0.001);
}

#[test]
fn log_likelihood_ratios() {
    let mut count = 0;
    for case in cases(include_str!("data/llr.tsv")) {
        let [elo0, elo1] = [case[1], case[2]].map(|elo| elo.parse().unwrap());
        let sprt = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05 };
        close(sprt.ratio(&pairs(case[0])), case[3], 2e-3);
        count += 1;
    }
    assert_eq!(count, 5);
}

/// Wald's bounds for two errors of 5 % are -2.94 and 2.94.
#[test]
fn the_sequential_test_decides() {
    let sprt = Sprt { elo0: 0.0, elo1: 10.0, alpha: 0.05, beta: 0.05 };
    let bounds = sprt.bounds();
    assert!((bounds.upper - 2.944_439).abs() < 1e-6 && (bounds.lower + 2.944_439).abs() < 1e-6);
    assert_eq!(sprt.ratio(&[0; 5]), 0.0);
    assert_eq!(sprt.verdict(&[1, 2, 3, 2, 1]), Verdict::Open);
    assert_eq!(sprt.verdict(&[10, 200, 500, 300, 60]), Verdict::H1);
    assert_eq!(sprt.verdict(&[60, 300, 500, 200, 10]), Verdict::H0);
    // Outcomes that did not occur are no trouble.
    assert!(sprt.ratio(&[0, 0, 0, 0, 50]) > 0.0 && sprt.ratio(&[50, 0, 0, 0, 0]) < 0.0);
}

#[test]
fn mcnemar() {
    let mut count = 0;
    for case in cases(include_str!("data/mcnemar.tsv")) {
        let [first, second] = [case[0], case[1]].map(|count| count.parse::<u64>().unwrap());
        let test = McNemar::new(10_000, first, second);
        close(test.p, case[2], 1e-9);
        count += 1;
    }
    assert_eq!(count, 9);
    let by_case =
        McNemar::of([(true, false), (true, true), (false, false), (false, true), (true, false)]);
    assert_eq!(by_case, McNemar::new(5, 2, 1));
}
