//! The rates of `expand` for positions before a checkmate and late in the game.

mod common;
mod records;

use common::folder;
use fianchetto::chess::{Game, Outcome};
use fianchetto::encoding::Encoding;
use fianchetto_prepare::expand::{LATE_PLY, MATE_PLIES, Options, Split, to_shards, to_stream};
use fianchetto_prepare::gamefile::GameFile;
use fianchetto_prepare::progress::Progress;
use fianchetto_prepare::shard::Shard;
use records::{files, places, records, shard_records};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Game and ply of positions.
type Places = BTreeSet<(u64, u16)>;

/// What python-chess counts in `games.pgn`: positions among the last 10 before a checkmate, those at ply 80
/// and later, and those that are both.
const MATES: usize = 120;
const LATE: usize = 4_416;
const LATE_MATES: usize = 60;

fn options(rate: f64) -> Options {
    Options {
        encoding: Encoding::Canonical12,
        rate: Some(rate),
        mate_rate: None,
        late_rate: None,
        seed: 3,
        split: Split::All,
        shard: Shard::WHOLE,
        positions: None,
        memory: 64 << 20,
        threads: 2,
        checkpoint: Duration::from_secs(10),
    }
}

/// An empty folder, and the games of `games.pgn`.
fn fixture(name: &str) -> (PathBuf, GameFile) {
    let folder = folder(name);
    let path = folder.join("games");
    fs::write(&path, include_bytes!("data/games.fgames")).unwrap();
    (folder, GameFile::open(&path).unwrap())
}

fn shards(games: &GameFile, options: &Options, out: &Path) -> Places {
    to_shards(games, options, out, &Progress::hidden()).unwrap();
    places(&shard_records(&files(out), options.encoding)).into_iter().collect()
}

fn stream(games: &GameFile, options: &Options, epochs: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    to_stream(games, options, epochs, &mut bytes, &Progress::hidden()).unwrap();
    bytes
}

/// The positions of all games that are among the last before a checkmate, and those late in the game.
fn mates_and_late(games: &GameFile) -> (Places, Places) {
    let (mut mates, mut late) = (Places::new(), Places::new());
    for played in games {
        let played = played.unwrap();
        let mut game = Game::default();
        played.moves.iter().for_each(|&mv| game.play(mv).unwrap());
        let len = played.moves.len();
        let from = |first: usize| (first..len).map(|ply| (played.hash(), ply as u16));
        late.extend(from(LATE_PLY));
        if matches!(game.outcome(), Some(Outcome::Checkmate { .. })) {
            mates.extend(from(len.saturating_sub(MATE_PLIES)));
        }
    }
    let both = mates.intersection(&late).count();
    assert_eq!((mates.len(), late.len(), both), (MATES, LATE, LATE_MATES));
    (mates, late)
}

#[test]
fn positions_before_a_mate_and_late_ones_have_rates_of_their_own() {
    let (folder, games) = fixture("rates");
    let (mates, late) = mates_and_late(&games);
    let common = options(0.01);
    let mate = Options { mate_rate: Some(1.0), ..common.clone() };
    let end = Options { late_rate: Some(1.0), ..common.clone() };
    let both = Options { late_rate: Some(1.0), ..mate.clone() };
    let [few, with_mates, with_late, with_both] =
        [("few", &common), ("mate", &mate), ("late", &end), ("both", &both)]
            .map(|(name, options)| shards(&games, options, &folder.join(name)));
    assert!((150..350).contains(&few.len()), "{}", few.len());
    // What the common rate takes is taken in any case, and nothing else beside what was asked for.
    assert_eq!(with_mates, &few | &mates);
    assert_eq!(with_late, &few | &late);
    assert_eq!(with_both, &with_mates | &with_late);

    let manifest = fs::read(folder.join("both/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    for (name, rate) in [("rate", 0.01), ("mate_rate", 1.0), ("late_rate", 1.0)] {
        assert_eq!(manifest[name], rate);
    }
    let error = to_shards(&games, &mate, &folder.join("both"), &Progress::hidden()).unwrap_err();
    assert!(error.to_string().contains("made from other games or with other options"), "{error}");

    // The higher rate of both holds where both do.
    let half = Options { mate_rate: Some(0.5), ..both.clone() };
    assert_eq!(shards(&games, &half, &folder.join("half")).intersection(&late).count(), LATE);
    let half = Options { mate_rate: Some(0.5), ..common.clone() };
    let half = shards(&games, &half, &folder.join("some"));
    assert!((40..80).contains(&half.intersection(&mates).count()));

    let of_stream = |options: &Options| -> Places {
        let bytes = stream(&games, options, 1);
        let line = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        places(&records(&bytes[line + 1..], options.encoding)).into_iter().collect()
    };
    assert_eq!(of_stream(&mate), with_mates);
    assert_eq!(of_stream(&both), with_both);
    let limited = Options { positions: Some(100), ..both };
    let limited_places = shards(&games, &limited, &folder.join("limited"));
    assert!(limited_places.len() == 100 && limited_places.is_subset(&with_both));
    assert_eq!(of_stream(&limited).len(), 100);
}

/// Without a common rate, what `positions` needs; where this is the higher one, it holds.
#[test]
fn no_rate_is_below_the_common_one() {
    let (folder, games) = fixture("rates_common");
    let low = Options { rate: None, mate_rate: Some(0.1), late_rate: Some(0.1), ..options(1.0) };
    assert_eq!(shards(&games, &low, &folder.join("all")).len() as u64, games.plies());
    let manifest = fs::read(folder.join("all/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert!(["rate", "mate_rate", "late_rate"].iter().all(|name| manifest[name] == 1.0));
}

/// CRC-32, by Python's `zlib`, of what was written before there were these rates; to that manifest the
/// shard's own was added by hand.
#[test]
fn without_them_the_bytes_are_as_ever() {
    let (folder, games) = fixture("rates_none");
    shards(&games, &options(0.05), &folder.join("out"));
    let mut written = files(&folder.join("out"));
    written.insert("stream".to_owned(), stream(&games, &options(0.05), 2));
    let checksums = written.iter().map(|(name, bytes)| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        (name.as_str(), crc.sum())
    });
    assert!(checksums.eq([
        ("manifest.json", 0x39bf_d977),
        ("shard-00000.npy", 0x4058_32f2),
        ("stream", 0xdf95_d7a6),
    ]));
}
