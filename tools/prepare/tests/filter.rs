//! Which games are wanted, and how the outcome is reported.

use clap::Parser;
use fianchetto_prepare::filter::Filters;
use fianchetto_prepare::pgn::{Reader, Refusal};
use fianchetto_prepare::report::Report;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    filters: Filters,
}

fn filters(arguments: &str) -> Result<Filters, String> {
    let words = ["command"].into_iter().chain(arguments.split_whitespace());
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    command.filters.check()?;
    Ok(command.filters)
}

#[test]
fn filters_keep_what_is_asked_for() {
    for line in include_str!("data/filters.tsv").lines().filter(|line| !line.starts_with('#')) {
        let case: Vec<&str> = line.split('\t').collect();
        let [arguments, tags, expected] = case[..] else { panic!("not three columns: {case:?}") };
        let mut text = "[Result \"1-0\"]\n".to_owned();
        for tag in tags.split('|').filter(|tag| !tag.is_empty()) {
            let (name, value) = tag.split_once('=').unwrap();
            text += &format!("[{name} \"{value}\"]\n");
        }
        text += "\n1. e4 e5 2. Nf3 Nc6 1-0\n";
        let game = Reader::new(text.as_bytes()).next_game().unwrap().unwrap();
        let found = filters(arguments).unwrap().resolve(&game);
        assert_eq!(found.map_or_else(Refusal::name, |_| "kept"), expected, "{line}");
    }
}

#[test]
fn wrong_bounds_are_refused() {
    for arguments in [
        "--min-rating -1",
        "--min-rating 99999",
        "--time-control slow",
        "--since May",
        "--since 16",
        "--since 2016-13",
        "--since 2016-05-32",
        "--since 2016-04-31",
        "--since 2016-02-30",
        "--since 2015-02-29",
        "--since 1900-02-29",
        "--since 12016",
        "--since 2016-05-11 --until 2016-05-10",
        "--since 2016-06 --until 2016-05-10",
        "--since 2017 --until 2016-05",
        "--min-rating 1801 --max-rating 1800",
        "--min-base 61 --max-base 60",
        "--min-plies 5 --max-plies 4",
        "--until 2016-",
        "--until 2016-05-01-01",
    ] {
        assert!(filters(arguments).is_err(), "{arguments}");
    }
}

#[test]
fn reports_add_up_and_read_back() {
    let mut report = Report::default();
    report.keep(80);
    report.keep(1);
    report.refuse(Refusal::IllegalMove);
    report.refuse(Refusal::Rating);
    let mut other = Report::default();
    other.keep(10);
    other.refuse(Refusal::IllegalMove);
    other.damage("b.pgn.zst", "incomplete frame");
    report.merge(&other);
    assert_eq!(report.games(), 6);
    let json = serde_json::to_string(&report).unwrap();
    let damage = "b.pgn.zst: cannot be read further: incomplete frame; \
        the games before were kept, get the rest anew";
    assert_eq!(
        json,
        format!(
            r#"{{"kept":3,"positions":91,"refused":{{"illegal-move":2,"rating":1}},"damaged":["{damage}"]}}"#
        )
    );
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    let expected = "
           6  games read
           3  kept             with 91 positions
           1  rating           a rating out of bounds or unknown
           2  illegal-move     an illegal move in the main line; the whole game is dropped
";
    assert_eq!(format!("\n{report}"), expected);
}

/// The names in JSON are those of the text.
#[test]
fn causes_have_one_name() {
    for name in include_str!("data/causes.txt").lines() {
        let cause: Refusal = serde_json::from_str(&format!("{name:?}")).unwrap();
        assert_eq!(cause.name(), name);
    }
}
