//! The second pass: each bucket is sorted by place and cut into shards.

use super::job::{ExpandError, file_error};
use super::state::{self, Shard, State};
use crate::gamefile::crc32;
use crate::partial::write_whole;
use crate::progress::{Progress, Unit};
use crate::shards::{self, Frame, Layout};
use std::fs;
use std::io::Write;
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

/// Writes the shards that `state` lacks, and notes each there and on disk.
pub fn cut(state: &mut State, folder: &Path, progress: &Progress) -> Result<(), ExpandError> {
    let limit = state.output_positions();
    // The positions still to be written, counted from the first of all.
    let done = (state.shards.len() * shards::POSITIONS) as u64;
    let wanted = done.min(limit)..limit;
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
        let layout = state.layout();
        let to_sort = buckets.clone();
        scope.spawn(move || {
            for (number, places) in to_sort {
                let count = (places.end - places.start) as usize;
                // The receiver hangs up when it has met an error.
                if sender.send(sort(&layout, folder, number, count)).is_err() {
                    break;
                }
            }
        });
        let mut frame = Frame::new(state.layout());
        let mut write = |frame: &mut Frame| -> Result<(), ExpandError> {
            progress.add(frame.len() as u64);
            let path = state::shard(folder, state.shards.len());
            let mut bytes = Vec::new();
            let written = frame.write(&mut bytes);
            written
                .and_then(|()| write_whole(&path, |file| file.write_all(&bytes)))
                .map_err(file_error("write", &path))?;
            state.shards.push(Shard { bytes: bytes.len() as u64, crc32: crc32(&[&bytes]) });
            state.write(folder)
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
        Ok(())
    })
}

/// Removes buckets that are in finished shards whole.
fn remove(folder: &Path, buckets: impl Iterator<Item = usize>) -> Result<(), ExpandError> {
    for number in buckets {
        let path = state::bucket(folder, number);
        fs::remove_file(&path).map_err(file_error("remove", &path))?;
    }
    Ok(())
}

/// Reads a bucket of `count` positions.
fn sort(
    layout: &Layout,
    folder: &Path,
    number: usize,
    count: usize,
) -> Result<Sorted, ExpandError> {
    let path = state::bucket(folder, number);
    let bytes = fs::read(&path).map_err(file_error("read", &path))?;
    let mut order = Vec::with_capacity(count);
    let mut rest = 0..bytes.len();
    while !rest.is_empty() {
        let (place, record) = next(layout, &bytes, rest.start);
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
