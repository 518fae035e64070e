//! Games to shards and streams: nothing lost, nothing twice, the same bytes whatever the machine does.

mod common;
mod random_games;
mod records;

use common::folder;
use fianchetto::chess::{Game, Move};
use fianchetto::encoding::Encoding;
use fianchetto_prepare::expand::{ExpandError, Job, Options, Split, to_shards, to_stream};
use fianchetto_prepare::game::{GameResult, PlayedGame};
use fianchetto_prepare::gamefile::{Block, GameFile, Writer};
use fianchetto_prepare::lock;
use fianchetto_prepare::progress::Progress;
use fianchetto_prepare::shard::Shard;
use fianchetto_prepare::shards::Layout;
use random_games::random_games;
use records::{Record, files, places, records, shard_records};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn options() -> Options {
    Options {
        encoding: Encoding::Canonical19,
        rate: Some(1.0),
        mate_rate: None,
        late_rate: None,
        seed: 7,
        split: Split::All,
        shard: Shard::WHOLE,
        positions: None,
        memory: 64 * MIB,
        threads: 2,
        checkpoint: Duration::from_secs(10),
    }
}

/// A game file of 20 games a block.
fn game_file(folder: &Path, games: &[PlayedGame]) -> PathBuf {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for games in games.chunks(20) {
        writer.append(&Block::pack(games).unwrap()).unwrap();
    }
    let path = folder.join("games.fgames");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

fn expand(games: &GameFile, options: &Options, out: &Path) -> BTreeMap<String, Vec<u8>> {
    to_shards(games, options, out, &Progress::hidden()).unwrap();
    files(out)
}

fn stream(games: &GameFile, options: &Options, epochs: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = to_stream(games, options, epochs, &mut bytes, &Progress::hidden()).unwrap();
    let line = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let job: Job = serde_json::from_slice(&bytes.drain(..=line).collect::<Vec<_>>()).unwrap();
    assert_eq!(job, Job::new(games, options).unwrap());
    let end = String::from_utf8_lossy(&bytes[bytes.len() - 128..]);
    assert!(end.starts_with("\u{fffd}NUMPY") && end.contains("'shape': (0,)"), "{end}");
    assert_eq!(count, records(&bytes, options.encoding).len() as u64);
    bytes
}

/// Game and ply of each position of `games`, sorted.
fn all_places(games: &[PlayedGame]) -> Vec<(u64, u16)> {
    let plies = |game: &PlayedGame| 0..game.moves.len() as u16;
    let mut places: Vec<_> =
        games.iter().flat_map(|game| plies(game).map(|ply| (game.hash(), ply))).collect();
    places.sort_unstable();
    places
}

/// The record of a position by what the engine itself says of it.
fn check_record(record: &Record, played: &PlayedGame, encoding: Encoding) {
    let layout = Layout::new(encoding);
    let mut game = Game::default();
    for &mv in &played.moves[..record.ply.into()] {
        game.play(mv).unwrap();
    }
    let mut planes = vec![f32::NAN; 64 * encoding.planes()];
    encoding.encode(&game, &mut planes);
    for (&plane, &value) in layout.constant_planes.iter().zip(&record.constants) {
        assert_eq!(planes[64 * plane..][..64], [f32::from(value) / 100.0; 64]);
    }
    for (&plane, ranks) in layout.square_planes.iter().zip(record.squares.chunks(8)) {
        for square in 0..64 {
            let bit = ranks[square / 8] >> (square % 8) & 1;
            assert_eq!(planes[64 * plane + square], f32::from(bit));
        }
    }
    let legal: BTreeSet<u16> =
        game.legal_moves().into_iter().filter_map(|mv| encoding.index(&game, mv)).collect();
    assert!(record.legal.iter().copied().eq(legal));
    let mv = played.moves[usize::from(record.ply)];
    assert_eq!(record.promotion, mv.promotion.map_or(0, |piece| piece as u8));
    let decoded = encoding.decode(&game, record.played).unwrap();
    assert_eq!(Move { promotion: mv.promotion, ..decoded }, mv);
    if encoding.index(&game, mv).is_some() {
        assert_eq!(decoded, mv);
    }
    let mover = game.board().side_to_move();
    assert_eq!(record.result, played.result.value_for(mover));
    let bands = [mover, !mover].map(|side| (played.ratings[side as usize] / 100).min(255) as u8);
    assert_eq!(record.band, bands);
}

#[test]
fn every_position_is_there_once_and_says_what_the_engine_says() {
    let folder = folder("expand_once");
    let games = random_games(250, 3);
    let file = GameFile::open(&game_file(&folder, &games)).unwrap();
    let by_hash: HashMap<u64, &PlayedGame> = games.iter().map(|game| (game.hash(), game)).collect();
    for encoding in Encoding::ALL {
        let out = folder.join(encoding.name());
        let files = expand(&file, &Options { encoding, ..options() }, &out);
        let records = shard_records(&files, encoding);
        assert_eq!(places(&records), all_places(&games));
        let count = records.len();
        assert_eq!(files.len(), count.div_ceil(10_000) + 1, "shards and a manifest, nothing else");
        for record in &records[..2_000] {
            check_record(record, by_hash[&record.game], encoding);
        }
        let under_promotions = records.iter().filter(|record| matches!(record.promotion, 1..=3));
        under_promotions.for_each(|record| check_record(record, by_hash[&record.game], encoding));
        let manifest: serde_json::Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
        assert_eq!(manifest["positions"], count);
        assert_eq!(manifest["games"], games.len());
        assert_eq!(manifest["shards"], files.len() - 1);
        assert_eq!(manifest["encoding"], encoding.name());
    }
}

/// The checksums are those that Python's `zlib.crc32` finds.
#[test]
fn the_manifest_has_the_checksum_of_every_shard() {
    let folder = folder("expand_checksums");
    let path = folder.join("games");
    fs::write(&path, include_bytes!("data/games.fgames")).unwrap();
    let file = GameFile::open(&path).unwrap();
    let options = Options { encoding: Encoding::Canonical12, seed: 3, ..options() };
    let out = folder.join("out");
    let manifest = &expand(&file, &options, &out)["manifest.json"];
    let mut manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
    let expected: [u32; 3] = [0x72ad_4490, 0x1689_4f84, 0x9a19_4b4f];
    assert_eq!(manifest["shard_crc32"], serde_json::json!(expected));
    // An older folder has none and is as finished.
    manifest.as_object_mut().unwrap().remove("shard_crc32");
    fs::write(out.join("manifest.json"), manifest.to_string()).unwrap();
    to_shards(&file, &options, &out, &Progress::hidden()).unwrap();
}

/// Positions of one game are spread over the whole output.
#[test]
fn games_are_shuffled_across_each_other() {
    let folder = folder("expand_shuffled");
    let games = random_games(200, 5);
    let file = GameFile::open(&game_file(&folder, &games)).unwrap();
    let records =
        shard_records(&expand(&file, &options(), &folder.join("out")), Encoding::Canonical19);
    let neighbours = records.windows(2).filter(|pair| pair[0].game == pair[1].game).count();
    // 1.5 times the mean game's share, and room for chance.
    assert!(neighbours < records.len() / 200 * 3, "{neighbours} of {}", records.len());
    let first = records[..records.len() / 2].iter().filter(|r| r.game == games[1].hash()).count();
    let all = games[1].moves.len();
    assert!((all / 4..=all * 3 / 4).contains(&first), "{first} of {all}");
}

#[test]
fn threads_and_memory_change_nothing_and_the_seed_changes_the_order() {
    let folder = folder("expand_same");
    let games = random_games(150, 4);
    let file = GameFile::open(&game_file(&folder, &games)).unwrap();
    let expected = expand(&file, &options(), &folder.join("expected"));
    let small = Options { memory: MIB, threads: 3, ..options() };
    assert!(expand(&file, &small, &folder.join("small")) == expected);
    let seed = Options { seed: 8, ..options() };
    let other = expand(&file, &seed, &folder.join("seed"));
    let [expected, other] =
        [expected, other].map(|files| shard_records(&files, Encoding::Canonical19));
    assert_ne!(expected[..100], other[..100]);
    assert_eq!(places(&expected), places(&other));
}

#[test]
fn rates_splits_parts_and_limits_take_what_they_say() {
    let folder = folder("expand_selection");
    let games = random_games(400, 6);
    let file = GameFile::open(&game_file(&folder, &games)).unwrap();
    let mut runs = 0;
    let mut run = |options: Options| {
        runs += 1;
        let files = expand(&file, &options, &folder.join(runs.to_string()));
        shard_records(&files, Encoding::Canonical19)
    };
    let all = run(options());

    let tenth = run(Options { rate: Some(0.1), ..options() });
    let half = run(Options { rate: Some(0.5), ..options() });
    for (rate, records) in [(0.1, &tenth), (0.5, &half)] {
        let expected = all.len() as f64 * rate;
        let deviation = (expected * (1.0 - rate)).sqrt();
        assert!((records.len() as f64 - expected).abs() < 5.0 * deviation, "{}", records.len());
    }
    let half_places: BTreeSet<_> = places(&half).into_iter().collect();
    assert!(places(&tenth).iter().all(|place| half_places.contains(place)));

    let limited = run(Options { positions: Some(12_345), ..options() });
    assert_eq!(limited, all[..12_345]);
    let limited = run(Options { positions: Some(100), rate: None, ..options() });
    assert_eq!(limited.len(), 100);

    let held_out: Vec<PlayedGame> = games.iter().filter(|game| game.held_out()).cloned().collect();
    assert!(!held_out.is_empty());
    let [train, held] =
        [Split::Train, Split::HeldOut].map(|split| run(Options { split, ..options() }));
    assert_eq!(places(&held), all_places(&held_out));
    assert_eq!(places(&[train, held].concat()), all_places(&games));

    let parts: Vec<Vec<Record>> = (0..3)
        .map(|part| run(Options { shard: format!("{part}/3").parse().unwrap(), ..options() }))
        .collect();
    assert!(parts.iter().all(|part| part.len() > all.len() / 5));
    assert_eq!(places(&parts.concat()), all_places(&games));
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bytes() {
    let folder = folder("expand_resume");
    let games = random_games(300, 9);
    let path = game_file(&folder, &games);
    let sound = fs::read(&path).unwrap();
    let file = GameFile::open(&path).unwrap();
    let expected = expand(&file, &options(), &folder.join("expected"));

    let out = folder.join("out");
    let run = |options: &Options| {
        to_shards(&GameFile::open(&path).unwrap(), options, &out, &Progress::hidden())
    };
    let options = Options { memory: 4 * MIB, checkpoint: Duration::ZERO, ..options() };
    // In the first pass: a block near the end is damaged.
    let mut damaged = sound.clone();
    damaged[sound.len() * 3 / 4] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(matches!(run(&options).unwrap_err(), ExpandError::Games(_)));
    let state = files(&out.join("partial"));
    let json: serde_json::Value = serde_json::from_slice(&state["state.json"]).unwrap();
    assert!(json["blocks"].as_u64().unwrap() > 4, "{json}");
    assert!(json["buckets"].as_array().unwrap().len() > 4);
    // What was appended after the last checkpoint does not count.
    fs::write(out.join("partial/bucket-001"), [&*state["bucket-001"], b"torn"].concat()).unwrap();
    fs::write(&path, &sound).unwrap();

    // In the second pass: a shard cannot be written.
    let obstacle = out.join("shard-00002.npy.new");
    fs::create_dir(&obstacle).unwrap();
    assert!(matches!(run(&options).unwrap_err(), ExpandError::File { .. }));
    assert!(out.join("shard-00001.npy").exists() && !out.join("manifest.json").exists());
    fs::remove_dir(&obstacle).unwrap();

    // With other memory and threads.
    let shard = out.join("shard-00000.npy");
    fs::write(&shard, &expected["shard-00000.npy"][1..]).unwrap();
    let other = Options { memory: 64 * MIB, threads: 1, ..options.clone() };
    let error = run(&other).unwrap_err();
    assert!(matches!(error, ExpandError::Shard { .. }), "{error}");
    // What was written counts, not what has become of it.
    let mut flipped = expected["shard-00000.npy"].clone();
    flipped[5_000] ^= 1;
    fs::write(&shard, flipped).unwrap();
    run(&options).unwrap();
    assert!(files(&out)["manifest.json"] == expected["manifest.json"]);
    fs::write(&shard, &expected["shard-00000.npy"]).unwrap();
    assert!(files(&out) == expected);
    // Once more: all is done.
    run(&options).unwrap();
    assert!(files(&out) == expected);
}

/// The same number of games and plies, but one result is another.
#[test]
fn a_changed_game_file_does_not_go_unnoticed() {
    let folder = folder("expand_changed");
    let mut games = random_games(100, 11);
    let before = fs::read(game_file(&folder, &games)).unwrap();
    let run = |options: &Options| {
        let file = GameFile::open(&folder.join("games.fgames")).unwrap();
        to_shards(&file, options, &folder.join("out"), &Progress::hidden())
    };
    fs::create_dir_all(folder.join("out/shard-00000.npy.new")).unwrap();
    assert!(matches!(run(&options()).unwrap_err(), ExpandError::File { .. }));
    fs::remove_dir(folder.join("out/shard-00000.npy.new")).unwrap();
    games[50].result = match games[50].result {
        GameResult::White => GameResult::Black,
        _ => GameResult::White,
    };
    let path = game_file(&folder, &games);
    assert!(matches!(run(&options()).unwrap_err(), ExpandError::Taken { .. }));
    fs::write(path, before).unwrap();
    run(&options()).unwrap();
}

#[test]
fn one_run_at_a_time_has_a_folder() {
    let folder = folder("expand_locked");
    let file = GameFile::open(&game_file(&folder, &random_games(40, 2))).unwrap();
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    let held = lock::take(&out.join("expand.lock")).unwrap().unwrap();
    let error = to_shards(&file, &options(), &out, &Progress::hidden()).unwrap_err();
    assert!(error.to_string().contains("another run is writing into"), "{error}");
    assert_eq!(files(&out).len(), 1);
    // What a killed run leaves is no lock.
    drop(held);
    let files = expand(&file, &options(), &out);
    assert!(!files.contains_key("expand.lock"));
}

#[test]
fn a_finished_folder_that_lacks_something_is_not_finished() {
    let folder = folder("expand_lacks");
    let file = GameFile::open(&game_file(&folder, &random_games(200, 2))).unwrap();
    let out = folder.join("out");
    let before = expand(&file, &options(), &out);
    let shard = out.join("shard-00001.npy");
    let whole = &before["shard-00001.npy"];
    let run = || to_shards(&file, &options(), &out, &Progress::hidden());
    fs::write(&shard, &whole[1..]).unwrap();
    let error = run().unwrap_err().to_string();
    let sizes = format!("has {} bytes, it was written with {}", whole.len() - 1, whole.len());
    assert!(error.contains("shard-00001.npy") && error.contains(&sizes), "{error}");
    fs::remove_file(&shard).unwrap();
    let error = run().unwrap_err().to_string();
    assert!(error.contains("shard-00001.npy is missing; remove"), "{error}");
    fs::write(&shard, whole).unwrap();
    run().unwrap();
    assert!(files(&out) == before);
}

#[test]
fn a_folder_with_something_else_is_left_alone() {
    let folder = folder("expand_taken");
    let file = GameFile::open(&game_file(&folder, &random_games(40, 2))).unwrap();
    let out = folder.join("out");
    let before = expand(&file, &options(), &out);
    let other = Options { seed: 1, ..options() };
    let error = to_shards(&file, &other, &out, &Progress::hidden()).unwrap_err();
    assert!(error.to_string().contains("made from other games or with other options"), "{error}");
    fs::remove_file(out.join("manifest.json")).unwrap();
    let error = to_shards(&file, &options(), &out, &Progress::hidden()).unwrap_err();
    assert!(matches!(error, ExpandError::Untold { .. }), "{error}");
    assert_eq!(files(&out).len(), before.len() - 1);
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = folder("expand_refused");
    let file = GameFile::open(&game_file(&folder, &random_games(40, 2))).unwrap();
    let little = Options { memory: 100, ..options() };
    let none = Options { shard: "0/1099511627776".parse().unwrap(), ..options() };
    for (options, message) in [(little, "raise --memory"), (none, "no position was taken")] {
        let out = folder.join("out");
        let error = to_shards(&file, &options, &out, &Progress::hidden()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!out.exists());
        // A folder that was there stays.
        fs::create_dir(&out).unwrap();
        to_shards(&file, &options, &out, &Progress::hidden()).unwrap_err();
        assert!(files(&out).is_empty());
        fs::remove_dir(&out).unwrap();
    }
    let none = Options { rate: Some(1e-12), ..options() };
    let error = to_stream(&file, &none, 0, &mut io::sink(), &Progress::hidden()).unwrap_err();
    assert!(error.to_string().contains("no position was taken"), "{error}");
}

#[test]
fn a_stream_has_the_positions_of_the_shards_in_every_epoch() {
    let folder = folder("expand_stream");
    let games = random_games(200, 8);
    let file = GameFile::open(&game_file(&folder, &games)).unwrap();
    let encoding = Encoding::Absolute14;
    let options = Options { encoding, memory: 4 * MIB, rate: Some(0.5), ..options() };
    let mut shards = shard_records(&expand(&file, &options, &folder.join("out")), encoding);
    let bytes = stream(&file, &options, 1);
    assert!(bytes == stream(&file, &Options { threads: 3, ..options.clone() }, 1));
    let mut streamed = records(&bytes, encoding);
    let neighbours = streamed.windows(2).filter(|pair| pair[0].game == pair[1].game).count();
    assert!(neighbours < streamed.len() / 20, "{neighbours} of {}", streamed.len());
    shards.sort();
    streamed.sort();
    assert!(shards == streamed);

    let whole = Options { rate: Some(1.0), positions: None, ..options.clone() };
    let two = records(&stream(&file, &whole, 2), encoding);
    let (first, second) = two.split_at(two.len() / 2);
    assert_ne!(first[..100], second[..100]);
    for epoch in [first, second] {
        assert_eq!(places(epoch), all_places(&games));
    }
    let limited = records(&stream(&file, &Options { positions: Some(77), ..whole }, 3), encoding);
    assert_eq!(limited.len(), 3 * 77);
}

/// Takes some bytes and then hangs up.
struct Reader(usize);

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_endless_stream_ends_with_its_reader() {
    let folder = folder("expand_endless");
    let file = GameFile::open(&game_file(&folder, &random_games(200, 8))).unwrap();
    let mut reader = Reader(20 << 20);
    let count = to_stream(&file, &options(), 0, &mut reader, &Progress::hidden()).unwrap();
    assert!(count > 60_000, "{count}");
}
