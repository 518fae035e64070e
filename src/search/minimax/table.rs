//! What was found out about positions met before.

use crate::chess::{Move, Piece, Square};

/// How a score bounds the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is the true one.
    Exact,
    /// The true one is as high at least.
    Lower,
    /// The true one is as low at least.
    Upper,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// How many plies were searched from it.
    pub depth: u8,
    pub score: i32,
    pub bound: Bound,
    /// Its best move, or what refuted it.
    pub best: Option<Move>,
}

/// Positions by a hash key, the latest at each place. An entry is two words: the key, and from the low bits
/// on score (32), move (16), depth (6), bound (2), generation (8, never 0). What is of an older generation is
/// forgotten.
pub(super) struct Table {
    entries: Vec<[u64; 2]>,
    generation: u8,
}

impl Table {
    /// A table of so many MiB; `None` when there is no such memory.
    pub fn new(mebibytes: u32) -> Option<Self> {
        let count = (mebibytes as usize).checked_mul((1 << 20) / size_of::<[u64; 2]>())?;
        // Asks whether there is such memory; zeroed memory is taken only as it is written to.
        Vec::<[u64; 2]>::new().try_reserve_exact(count).ok()?;
        Some(Self { entries: vec![[0; 2]; count], generation: 1 })
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            self.entries.fill([0; 2]);
            1
        });
    }

    /// What is known of a position.
    pub fn find(&self, key: u64) -> Option<Entry> {
        let [stored, data] = *self.entries.get(self.place(key))?;
        (stored == key && (data >> 56) as u8 == self.generation).then(|| {
            let bound = match data >> 54 & 3 {
                0 => Bound::Exact,
                1 => Bound::Lower,
                _ => Bound::Upper,
            };
            let depth = (data >> 48 & 63) as u8;
            Entry { depth, score: data as i32, bound, best: unpack((data >> 32) as u16) }
        })
    }

    /// Remembers what was found out, in place of what lies there.
    pub fn store(&mut self, key: u64, entry: Entry) {
        let place = self.place(key);
        if let Some(slot) = self.entries.get_mut(place) {
            let data = u64::from(entry.score as u32)
                | u64::from(pack(entry.best)) << 32
                | u64::from(entry.depth & 63) << 48
                | (entry.bound as u64) << 54
                | u64::from(self.generation) << 56;
            *slot = [key, data];
        }
    }

    fn place(&self, key: u64) -> usize {
        ((u128::from(key) * self.entries.len() as u128) >> 64) as usize
    }
}

/// From-square, to-square, promotion piece; no move goes from a1 to a1.
fn pack(mv: Option<Move>) -> u16 {
    mv.map_or(0, |mv| {
        let promotion = mv.promotion.map_or(0, |piece| piece as u16);
        mv.from as u16 | (mv.to as u16) << 6 | promotion << 12
    })
}

fn unpack(packed: u16) -> Option<Move> {
    let promotion = match packed >> 12 {
        0 => None,
        piece => Piece::try_index(piece.into()),
    };
    let square = |bits: u16| Square::index((bits & 63).into());
    (packed != 0).then(|| Move { from: square(packed), to: square(packed >> 6), promotion })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_stored_until_it_is_forgotten() {
        let mut table = Table::new(1).unwrap();
        let entry = |score, depth, bound, best: &str| Entry {
            depth,
            score,
            bound,
            best: (!best.is_empty()).then(|| best.parse().unwrap()),
        };
        let entries = [
            entry(0, 0, Bound::Exact, ""),
            entry(-99_997, 60, Bound::Upper, "h8a1"),
            entry(i32::MAX, 63, Bound::Lower, "a7b8n"),
            entry(-1, 1, Bound::Exact, "b2a1q"),
        ];
        for (i, entry) in entries.into_iter().enumerate() {
            let key = (i as u64) << 61 | 5;
            assert_eq!(table.find(key), None);
            table.store(key, entry);
            assert_eq!(table.find(key), Some(entry));
            assert_eq!(table.find(key ^ 1), None, "another key at the same place");
        }
        // However often: generations come again, but not what was stored in them.
        for _ in 0..600 {
            table.forget();
            assert_eq!(table.find(5), None);
        }
        table.store(5, entries[1]);
        assert_eq!(table.find(5), Some(entries[1]));
    }

    #[test]
    fn a_table_of_nothing_holds_nothing() {
        let mut table = Table::new(0).unwrap();
        table.store(1, Entry { depth: 1, score: 1, bound: Bound::Exact, best: None });
        assert_eq!(table.find(1), None);
    }
}
