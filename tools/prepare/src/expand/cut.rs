//! The second pass: each bucket is sorted by place and cut into shards.

use super::job::{ExpandError, file_error};
use super::state::{self, State};
use crate::partial::write_whole;
use crate::progress::{Progress, Unit};
use crate::shards::{self, Frame, Layout};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// A bucket in memory.
struct Sorted {
    bytes: Vec<u8>,
    /// The loose records in the order of their places.
    order: Vec<(u64, Range<usize>)>,
}

/// Writes the shards that are not there yet; returns the lengths of all.
pub fn cut(state: &State, folder: &Path, progress: &Progress) -> Result<Vec<u64>, ExpandError> {
    let limit = state.output_positions();
    let shards = limit.div_ceil(shards::POSITIONS as u64) as usize;
    let mut done = (0..shards).take_while(|&number| state::shard(folder, number).exists()).count();
    // The positions still to be written, counted from the first of all.
    let wanted = (done * shards::POSITIONS) as u64..limit;
    progress.begin("writing shards", Unit::Positions, Some(limit), wanted.start, wanted.start);

    let mut buckets = Vec::new();
    let mut end = 0;
    for (number, bucket) in state.buckets.iter().enumerate() {
        let start = end;
        end += bucket.positions;
        if start < wanted.end && wanted.start < end {
            buckets.push((number, start..end));
        }
    }

    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let numbers: Vec<usize> = buckets.iter().map(|&(number, _)| number).collect();
        scope.spawn(move || {
            for number in numbers {
                // The receiver hangs up when it has met an error.
                if sender.send(sort(state, folder, number)).is_err() {
                    break;
                }
            }
        });
        let mut frame = Frame::new(state.layout());
        let mut write = |frame: &mut Frame| -> Result<(), ExpandError> {
            progress.add(frame.len() as u64);
            let path = state::shard(folder, done);
            write_whole(&path, |file| frame.write(file)).map_err(file_error("write", &path))?;
            done += 1;
            Ok(())
        };
        let mut unwritten = Vec::new();
        for (number, places) in buckets {
            let sorted = receiver.recv().expect("the sorter sends every bucket")?;
            for (rank, (_, record)) in places.zip(sorted.order) {
                if wanted.contains(&rank) {
                    frame.push(&sorted.bytes[record]);
                }
                if frame.len() == shards::POSITIONS {
                    write(&mut frame)?;
                    remove(folder, unwritten.drain(..))?;
                }
            }
            unwritten.push(number);
        }
        if !frame.is_empty() {
            write(&mut frame)?;
        }
        Ok::<(), ExpandError>(())
    })?;
    let len = |number| {
        let path = state::shard(folder, number);
        fs::metadata(&path).map(|known| known.len()).map_err(file_error("read", &path))
    };
    (0..shards).map(len).collect()
}

/// Removes buckets that are in finished shards whole.
fn remove(folder: &Path, buckets: impl Iterator<Item = usize>) -> Result<(), ExpandError> {
    for number in buckets {
        let path = state::bucket(folder, number);
        fs::remove_file(&path).map_err(file_error("remove", &path))?;
    }
    Ok(())
}

fn sort(state: &State, folder: &Path, number: usize) -> Result<Sorted, ExpandError> {
    let path = state::bucket(folder, number);
    let bytes = fs::read(&path).map_err(file_error("read", &path))?;
    let layout = state.layout();
    let mut order = Vec::with_capacity(state.buckets[number].positions as usize);
    let mut rest = 0..bytes.len();
    while !rest.is_empty() {
        let (place, record) = next(&layout, &bytes, rest.start);
        rest.start = record.end;
        order.push((place, record));
    }
    // A game that is in the file twice has every place twice.
    order.sort_unstable_by(|(place, record), (other_place, other)| {
        place.cmp(other_place).then_with(|| bytes[record.clone()].cmp(&bytes[other.clone()]))
    });
    Ok(Sorted { bytes, order })
}

/// The place and the loose record at `start`.
fn next(layout: &Layout, bytes: &[u8], start: usize) -> (u64, Range<usize>) {
    let (place, loose) = bytes[start..].split_first_chunk().expect("a bucket holds whole records");
    (u64::from_le_bytes(*place), start + 8..start + 8 + layout.loose_len(loose))
}
