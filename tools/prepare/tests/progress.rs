//! What is told while the work goes on.

mod common;
mod random_games;

use common::folder;
use fianchetto::encoding::Encoding;
use fianchetto_prepare::expand::{Options, Split, to_shards, to_stream};
use fianchetto_prepare::gamefile::{GameFile, Writer};
use fianchetto_prepare::progress::{Progress, Unit};
use fianchetto_prepare::shard::Shard;
use random_games::random_games;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

#[test]
fn a_line_tells_share_count_speed_and_time() {
    let lines = Lines::default();
    let progress = Progress::lines(Duration::ZERO, lines.clone());
    progress.begin("packing", Unit::Games, Some(4 << 20), 1 << 20, 500);
    sleep(Duration::from_millis(200));
    progress.update(2 << 20, 1500);
    let line = lines.take();
    assert!(line.starts_with("packing: 50.0 % of 4.00 MiB, 1500 games, "), "{line}");
    // 1,000 games in 200 ms or somewhat more, as much again left.
    let speed = line.split(", ").nth(2).unwrap().strip_suffix(" games/s").unwrap();
    assert!((500..=5_000).contains(&speed.parse().unwrap()), "{line}");
    assert!(line.ends_with(" left\n"), "{line}");

    progress.begin("expanding", Unit::Positions, Some(1_000), 0, 0);
    progress.add(100);
    progress.add(150);
    let told = lines.take();
    let line = told.lines().last().unwrap();
    assert!(line.starts_with("expanding: 25.0 % of 1000, 250 positions, "), "{line}");

    progress.begin("streaming", Unit::Positions, None, 0, 0);
    progress.add(7);
    let line = lines.take();
    assert!(line.starts_with("streaming: 7, 7 positions, ") && !line.contains("left"), "{line}");
}

#[test]
fn lines_come_now_and_then() {
    let lines = Lines::default();
    let progress = Progress::lines(Duration::from_millis(300), lines.clone());
    progress.begin("expanding", Unit::Positions, Some(1_000_000), 0, 0);
    (0..1_000).for_each(|_| progress.add(1));
    assert_eq!(lines.take(), "");
    sleep(Duration::from_millis(300));
    (0..1_000).for_each(|_| progress.add(1));
    assert_eq!(lines.take().lines().count(), 1);
}

#[test]
fn all_passes_of_an_expansion_tell() {
    let folder = folder("progress_expand");
    let path = folder.join("games");
    let mut writer = Writer::new(File::create(&path).unwrap()).unwrap();
    random_games(20, 1).iter().for_each(|game| writer.push(game).unwrap());
    writer.finish().unwrap();
    let games = GameFile::open(&path).unwrap();
    let options = Options {
        encoding: Encoding::Canonical12,
        rate: None,
        mate_rate: None,
        late_rate: None,
        seed: 0,
        split: Split::All,
        shard: Shard::WHOLE,
        positions: None,
        memory: 64 << 20,
        threads: 2,
        checkpoint: Duration::from_secs(10),
    };
    let lines = Lines::default();
    let progress = Progress::lines(Duration::ZERO, lines.clone());
    // All positions, then fewer than the first pass takes.
    for (positions, out) in [(None, "all"), (Some(100), "few")] {
        let options = Options { positions, ..options.clone() };
        to_shards(&games, &options, &folder.join(out), &progress).unwrap();
        to_stream(&games, &options, 2, &mut io::sink(), &progress).unwrap();
        let told = lines.take();
        let positions = positions.unwrap_or(games.plies());
        for (work, total, unit) in [
            ("expanding", 20, "games"),
            ("writing shards", positions, "positions"),
            ("streaming", 2 * positions, "positions"),
        ] {
            let whole = format!("{work}: 100.0 % of {total}, {total} {unit}, ");
            assert!(told.contains(&whole), "{whole}: {told}");
            let total = format!(" % of {total}, ");
            let mut lines = told.lines().filter(|line| line.starts_with(work));
            assert!(lines.all(|line| line.contains(&total)), "{total}: {told}");
        }
    }
}
