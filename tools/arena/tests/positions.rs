//! Puzzles and agreement: the figures against those of the Python trainer, parts against the whole.

#[path = "../../../tests/random_weights/mod.rs"]
mod random_weights;

mod common;

use common::{arena, folder, succeed};
use fianchetto::network::Spec;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The network of `golden/measure.py`.
const NETWORK_IS: [(&str, &str); 13] = [
    ("format_version", "1"),
    ("encoding", "canonical19"),
    ("policy", "from-to-4096"),
    ("channels", "4"),
    ("blocks", "2"),
    ("recurrence", "2"),
    ("gate", "true"),
    ("se_width", "32"),
    ("policy_channels", "32"),
    ("value_channels", "16"),
    ("value_hidden", "128"),
    ("source", "a test"),
    ("licence", "none"),
];

/// A folder with a tiny network, puzzles and games.
fn fixture(name: &str) -> PathBuf {
    let folder = folder(name);
    let metadata = NETWORK_IS.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let spec = Spec::from_metadata(&metadata.into_iter().collect()).unwrap();
    fs::write(folder.join("network"), random_weights::file(&spec, 1)).unwrap();
    fs::write(folder.join("puzzles.csv"), include_str!("data/puzzles.csv")).unwrap();
    fs::write(folder.join("games"), include_bytes!("data/held-out.fgames")).unwrap();
    folder
}

const NETWORK: &str = "policy:WeightsFile=network,name=network";
const PUZZLES: [&str; 4] = ["puzzles", "puzzles.csv", "--per-cell", "3"];

/// Without its speed, which is never the same twice.
fn timeless(path: &Path) -> Value {
    let mut figures = json(path);
    figures.as_object_mut().unwrap().remove("speed");
    figures
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The value at a way of keys; pairs in a list are looked up by their first.
fn at<'a>(value: &'a Value, way: &str) -> Option<&'a Value> {
    way.split('/').try_fold(value, |value, key| match value {
        Value::Array(items) => key.parse::<usize>().ok().and_then(|i| items.get(i)).or_else(|| {
            items.iter().find(|item| item.get(0).is_some_and(|name| name == key))?.get(1)
        }),
        value => value.get(key),
    })
}

/// The network's figures are those of the trainer, which shares no code with the arena: it goes by PyTorch and
/// python-chess.
#[test]
fn figures_are_those_of_the_trainer() {
    let folder = fixture("trainer");
    succeed(&[&PUZZLES[..], &["--player", NETWORK, "--out", "puzzles"]].concat(), &folder);
    succeed(&["agreement", "games", "--player", NETWORK, "--out", "agreement"], &folder);
    let found = ["puzzles", "agreement"].map(|name| json(&folder.join(format!("{name}.json"))));
    let mut compared = 0;
    for line in include_str!("data/measure.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (way, expected) = line.split_once('\t').unwrap();
        let expected: f64 = expected.parse().unwrap();
        let (yardstick, way) = way.split_once('/').unwrap();
        let figures = &found[usize::from(yardstick == "agreement")]["figures"][0];
        let (way, sign) = match way.strip_suffix("/policy") {
            Some(group) => (format!("{group}/log_probability"), -1.0),
            // The error of the value is not the arena's.
            None if way.ends_with("/value") => continue,
            None => (way.to_owned(), 1.0),
        };
        let value = at(figures, &way).and_then(Value::as_f64);
        let value = sign * value.unwrap_or_else(|| panic!("{line}: nothing there"));
        // The trainer computes in 32 bits, in another order.
        let tolerance = if sign < 0.0 { 1e-5 } else { 1e-12 };
        assert!((value - expected).abs() < tolerance, "{line}: {value}");
        compared += 1;
    }
    assert_eq!(compared, 100);
}

#[test]
fn parts_make_up_the_whole() {
    let folder = fixture("parts");
    let players = ["--player", NETWORK, "--player", "random"];
    let puzzles = [&PUZZLES[..], &players].concat();
    let agreement = [&["agreement", "games", "--positions", "200"][..], &players].concat();
    for (name, command) in [("p", puzzles), ("a", agreement)] {
        let told =
            succeed(&[&command[..], &["--concurrency", "2", "--out", name]].concat(), &folder);
        let (told, speed) = told.split_at(told.rfind("\n\n").unwrap());
        let told = &told[..told.rfind("\n\n").unwrap() + 1];
        assert!(told.contains("McNemar") && speed.contains("threads"), "{told}{speed}");
        let mut merge = vec!["merge".to_owned(), "--out".to_owned(), format!("{name}m")];
        for shard in ["2/3", "0/3", "1/3"] {
            let part = format!("{name}{}", &shard[..1]);
            succeed(&[&command[..], &["--shard", shard, "--out", &part]].concat(), &folder);
            merge.push(format!("{part}.json"));
        }
        let merge: Vec<&str> = merge.iter().map(String::as_str).collect();
        assert_eq!(succeed(&merge, &folder), told);
        let files = |ending| [name, merge[2]].map(|stem| folder.join(format!("{stem}.{ending}")));
        let [whole, merged] = files("html").map(|path| fs::read(path).unwrap());
        assert!(whole == merged, "{name}.html");
        // What parts took on several machines makes no speed together.
        let [whole, merged] = files("json");
        assert!(timeless(&whole) == json(&merged), "{name}.json");
    }
    assert_eq!(json(&folder.join("a.json"))["positions"], 200);
    assert!(fs::read_to_string(folder.join("p.html")).unwrap().contains("<svg"));
}

/// The same sample from a compressed file, another one by another seed.
#[test]
fn samples() {
    let folder = fixture("samples");
    let random = |file: &str, seed: &str, out: &str| {
        succeed(
            &[
                "puzzles",
                file,
                "--per-cell",
                "2",
                "--seed",
                seed,
                "--player",
                "random",
                "--out",
                out,
            ],
            &folder,
        );
        json(&folder.join(format!("{out}.json")))
    };
    let zstd = zstd::encode_all(&include_bytes!("data/puzzles.csv")[..], 1).unwrap();
    fs::write(folder.join("puzzles.csv.zst"), zstd).unwrap();
    let first = random("puzzles.csv", "4242", "first");
    let again = random("puzzles.csv.zst", "4242", "again");
    assert_eq!(first["outcomes"], again["outcomes"]);
    let other = random("puzzles.csv", "1", "other");
    assert_ne!(first["sample"], other["sample"]);
    let figures = &first["figures"][0];
    let outcomes = first["outcomes"].as_array().unwrap();
    let inverse = outcomes.iter().map(|outcome| 1.0 / outcome["legal"].as_f64().unwrap());
    let mean = inverse.sum::<f64>() / outcomes.len() as f64;
    assert!((figures["random_first_move"].as_f64().unwrap() - mean).abs() < 1e-12);
}

/// A run that was killed goes on to the same figures.
#[test]
fn a_killed_run_goes_on() {
    let folder = fixture("killed");
    let puzzles = [&PUZZLES[..], &["--player", NETWORK, "--player", "minimax:depth=3"]].concat();
    let games = ["agreement", "games", "--player", NETWORK, "--player", "minimax:depth=2"];
    for (name, command) in [("puzzles", &puzzles[..]), ("games", &games[..])] {
        succeed(&[command, &["--out", "whole"]].concat(), &folder);
        let command = [command, &["--out", "killed"]].concat();
        let mut child = arena(&command, &folder).spawn().unwrap();
        let part = folder.join("killed.json.part");
        let lines = || fs::read_to_string(&part).unwrap_or_default().lines().count();
        while lines() < 3 {
            assert!(child.try_wait().unwrap().is_none(), "over before it was killed");
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!folder.join("killed.json").exists());
        let kept = lines() as u64 - 1;
        succeed(&command, &folder);
        let [whole, killed] = ["whole.json", "killed.json"].map(|name| folder.join(name));
        assert_eq!(timeless(&whole), timeless(&killed));
        let count = |path| json(path)["speed"]["count"].as_u64().unwrap();
        assert_eq!(count(&whole), count(&killed) + kept, "{name}");
        assert!(!part.exists());
        for file in ["whole.json", "whole.html", "killed.json", "killed.html"] {
            fs::remove_file(folder.join(file)).unwrap();
        }
    }
}

/// Every position of the sample is asked once, and a network evaluates each.
#[test]
fn speed() {
    let folder = fixture("speed");
    let network = NETWORK.replace("name", "Threads=2,name");
    let players = ["--player", &network, "--player", "minimax:depth=1"];
    succeed(&[&PUZZLES[..], &players, &["--concurrency", "2", "--out", "p"]].concat(), &folder);
    let figures = json(&folder.join("p.json"));
    let outcomes = figures["outcomes"].as_array().unwrap();
    let moves: usize = outcomes.iter().map(|o| o["right"][0].as_str().unwrap().len()).sum();
    let speed = &figures["speed"];
    assert_eq!((&speed["of"], &speed["at_a_time"]), (&"puzzles".into(), &2.into()));
    assert_eq!(speed["count"], outcomes.len());
    let rate = outcomes.len() as f64 / speed["seconds"].as_f64().unwrap();
    assert!((speed["a_second"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9, "{speed}");
    let [network, minimax] = [0, 1].map(|i| &speed["players"][i]);
    assert_eq!((&network["positions"], &minimax["positions"]), (&moves.into(), &moves.into()));
    assert_eq!((&network["nodes"], &network["threads"]), (&moves.into(), &2.into()));
    assert!(minimax["nodes"].as_u64().unwrap() > moves as u64, "{speed}");
    // Both take turns, so that together they cannot have taken longer than the run.
    let seconds = |pace: &Value| pace["seconds"].as_f64().unwrap();
    let both = seconds(network) + seconds(minimax);
    assert!(both > 0.0 && both <= seconds(speed), "{speed}");
}
