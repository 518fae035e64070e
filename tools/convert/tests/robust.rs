//! Damaged files: an error or the right answer, within bounds of time and memory.

#[path = "../../../tests/peak_memory/mod.rs"]
mod peak_memory;

use fianchetto_convert::checkpoint::Checkpoint;
use fianchetto_convert::pickle::Pickle;
use fianchetto_convert::recognise::recognise;
use fianchetto_convert::write::{Float, Weights};
use peak_memory::peak_memory;
use std::io::{Cursor, Read};

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// All that a conversion does, but into memory; the file read counts as one more copy.
fn convert(bytes: &[u8]) -> Option<Vec<u8>> {
    let checkpoint = Checkpoint::read(bytes).ok()?;
    let network = recognise(&checkpoint.tensors).ok()?;
    let weights = Weights::new(&network, &checkpoint.tensors).ok()?;
    weights.check_size(bytes.len()).ok()?;
    let (out, _) = weights.encode(Float::F32).ok()?;
    weights.check(&out).ok()?;
    Some(out)
}

/// A small generator (xorshift), so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Converts a damaged file: no more memory than nine times its size and the file itself; whatever
/// comes out is what comes out of the whole file.
fn check(bytes: &[u8], expected: &[u8], what: &str) -> bool {
    let (result, most) = peak_memory(|| convert(bytes));
    assert!(most <= 9 * expected.len().max(bytes.len()), "{what}: {most} bytes held");
    assert!(result.as_ref().is_none_or(|out| out == expected), "{what}: a wrong file came out");
    result.is_some()
}

#[test]
fn cut_short() {
    let whole = golden("full.pt");
    let expected = convert(&whole).unwrap();
    assert!(check(&whole, &expected, "whole"));
    let tail = whole.len() - 8_000..whole.len();
    for length in (0..whole.len()).step_by(4_999).chain(0..200).chain(tail.step_by(53)) {
        assert!(
            !check(&whole[..length], &expected, &format!("{length} bytes")),
            "{length} bytes suffice"
        );
    }
}

#[test]
fn one_byte_changed() {
    let whole = golden("full.pt");
    let expected = convert(&whole).unwrap();
    let mut random = Random(1);
    let mut refused = 0;
    // The policy weights are most of the file, so half of the places are outside them.
    let bulk = 35_000..whole.len() - 15_000;
    for i in 0..400 {
        let mut at = random.below(whole.len());
        while i % 2 == 0 && bulk.contains(&at) {
            at = random.below(whole.len());
        }
        let mut damaged = whole.clone();
        damaged[at] ^= 1 + random.below(255) as u8;
        refused += usize::from(!check(&damaged, &expected, &format!("byte {at}")));
    }
    assert!(refused >= 200, "only {refused} of 400 were noticed");
}

/// Without the archive's checksum before it, the pickle reader stands alone.
#[test]
fn pickle_damaged() {
    let archive = golden("training.pt");
    let mut zip = zip::ZipArchive::new(Cursor::new(&archive[..])).unwrap();
    let mut pickle = Vec::new();
    zip.by_name("training/data.pkl").unwrap().read_to_end(&mut pickle).unwrap();
    let budget = 200_000;
    assert!(Pickle::read(&pickle, budget).is_ok());
    let mut random = Random(2);
    let mut refused = 0;
    for i in 0..6_000 {
        let mut damaged = pickle.clone();
        for _ in 0..1 + i % 3 {
            let at = random.below(damaged.len());
            damaged[at] = random.below(256) as u8;
        }
        let (result, most) = peak_memory(|| Pickle::read(&damaged, budget).is_ok());
        assert!(most <= 3 * budget, "{most} bytes held");
        refused += usize::from(!result);
    }
    for length in 0..pickle.len() {
        assert!(Pickle::read(&pickle[..length], budget).is_err(), "{length} bytes suffice");
    }
    assert!(refused > 2_000, "only {refused} of 6000 were noticed");
}

/// Short programs that would fill the memory if they were let.
#[test]
fn pickles_that_grow() {
    let budget = 1 << 20;
    for unit in [
        &b")"[..],
        b"(",
        b"}",
        b"K\x01",
        b"(t",
        b"(t0",
        b")\x94",
        b")\x85",
        b"K\x01\x94",
        b"]h\x00a0",
    ] {
        let mut program = b"\x80\x02]q\x00".to_vec();
        for _ in 0..1 << 20 {
            program.extend(unit);
        }
        let (result, most) = peak_memory(|| Pickle::read(&program, budget).err());
        let text = result.unwrap().0;
        assert!(text.contains("more than its file could hold"), "{unit:?}: {text}");
        assert!(most <= 3 * budget + 1_000, "{unit:?}: {most} bytes held");
    }
    // Lengths that reach far outside.
    for far in [
        &b"\x80\x02X\xff\xff\xff\xffa"[..],
        b"\x80\x02\x8b\xff\xff\xff\x7f",
        b"\x80\x02B\xff\xff\xff\xff",
    ] {
        let (result, most) = peak_memory(|| Pickle::read(far, budget).is_err());
        assert!(result && most < 1_000, "{far:?}: {most} bytes held");
    }
}

/// Sizes in the archive's directory that are far beyond the file.
#[test]
fn declared_sizes_that_are_huge() {
    let whole = golden("plain.pt");
    let places: Vec<usize> = whole
        .windows(4)
        .enumerate()
        .filter(|(_, w)| w == b"PK\x01\x02")
        .map(|(at, _)| at)
        .collect();
    assert!(places.len() > 30);
    for at in places {
        for size in [0x7fff_ffff_u32, 0xffff_fff0, 0xffff_ffff] {
            let mut bomb = whole.clone();
            bomb[at + 20..at + 24].copy_from_slice(&size.to_le_bytes());
            bomb[at + 24..at + 28].copy_from_slice(&size.to_le_bytes());
            let (_, most) = peak_memory(|| convert(&bomb));
            assert!(most <= 9 * whole.len(), "{most} bytes held");
        }
    }
    let bomb = golden("bomb.pt");
    let (result, most) = peak_memory(|| Checkpoint::read(&bomb).err());
    assert!(result.unwrap().0.contains("is compressed"));
    assert!(most <= 9 * bomb.len(), "{most} bytes held");
}
