//! Blocks of entries in memory that is taken chunk by chunk. Freed blocks are used again for blocks of the
//! same size, and now and then all is moved together.

/// Entries to a chunk. A block never reaches across chunks.
const CHUNK: usize = 1 << 13;

/// The largest block.
pub(super) const MAX_BLOCK: usize = 256;

/// The end of a list of free blocks.
const NONE: u32 = u32::MAX;

/// What can be kept in an [`Arena`]: the first entry of a free block leads to the next free one.
pub(super) trait Entry: Copy + Default {
    fn from_link(link: u32) -> Self;
    fn link(self) -> u32;
}

/// Entries addressed by 32 bits. It takes its memory from a budget in bytes that it shares with others.
pub(super) struct Arena<T> {
    chunks: Vec<Box<[T]>>,
    /// The first entry that was never used.
    top: usize,
    /// For each block size the first of the free blocks.
    free: [u32; MAX_BLOCK + 1],
    /// What an entry takes of the budget, in bytes.
    cost: usize,
}

impl<T: Entry> Arena<T> {
    /// For each entry it takes so many bytes more than the entry has, which its owner may use.
    pub fn new(aside: usize) -> Self {
        let cost = size_of::<T>() + aside;
        Self { chunks: Vec::new(), top: 0, free: [NONE; MAX_BLOCK + 1], cost }
    }

    /// Entries up to the last that was ever used.
    pub fn len(&self) -> usize {
        self.top
    }

    /// A block of `size` entries, 1 to [`MAX_BLOCK`], with anything in them. `None` when neither a free
    /// block is left nor enough of the budget.
    pub fn take(&mut self, size: usize, budget: &mut usize) -> Option<u32> {
        self.pop(size).or_else(|| self.fresh(size, budget))
    }

    /// Gives a block back.
    pub fn give(&mut self, block: u32, size: usize) {
        self[block] = T::from_link(self.free[size]);
        self.free[size] = block;
    }

    /// The entries of a block.
    pub fn block(&self, block: u32, size: usize) -> &[T] {
        let at = block as usize % CHUNK;
        if size == 0 { &[] } else { &self.chunks[block as usize / CHUNK][at..at + size] }
    }

    /// The entries of a block, to be changed.
    pub fn block_mut(&mut self, block: u32, size: usize) -> &mut [T] {
        let at = block as usize % CHUNK;
        if size == 0 { &mut [] } else { &mut self.chunks[block as usize / CHUNK][at..at + size] }
    }

    /// Has the processor fetch a block while it does something else.
    pub fn prefetch(&self, block: u32, size: usize) {
        let line = 64 / size_of::<T>();
        self.block(block, size).iter().step_by(line).for_each(prefetch);
    }

    fn pop(&mut self, size: usize) -> Option<u32> {
        let block = Some(self.free[size]).filter(|&block| block != NONE)?;
        self.free[size] = self[block].link();
        Some(block)
    }

    fn fresh(&mut self, size: usize, budget: &mut usize) -> Option<u32> {
        let block = self.place(size);
        if block + size > self.chunks.len() * CHUNK {
            let bytes = CHUNK * self.cost;
            if *budget < bytes || block + CHUNK > NONE as usize {
                return None;
            }
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(CHUNK).ok()?;
            chunk.resize(CHUNK, T::default());
            *budget -= bytes;
            self.chunks.push(chunk.into_boxed_slice());
        }
        self.top = block + size;
        Some(block as u32)
    }

    /// Where the next block begins: at the top, or in the next chunk where this one's rest is too small.
    fn place(&self, size: usize) -> usize {
        let fits = self.top % CHUNK + size <= CHUNK || self.top.is_multiple_of(CHUNK);
        if fits { self.top } else { self.top.next_multiple_of(CHUNK) }
    }

    /// Begins to move all blocks together: from here on those blocks are in use that are passed to
    /// [`Arena::slide`], which must be done in the order in which they lie.
    pub fn begin_sliding(&mut self) {
        self.top = 0;
        self.free = [NONE; MAX_BLOCK + 1];
    }

    /// Moves a block as far to the front as those before it let it; where it is now.
    pub fn slide(&mut self, block: u32, size: usize) -> u32 {
        let to = self.place(size);
        self.top = to + size;
        for i in 0..size as u32 {
            self[to as u32 + i] = self[block + i];
        }
        to as u32
    }

    /// Gives the memory behind the last block back to the budget.
    pub fn end_sliding(&mut self, budget: &mut usize) {
        let used = self.top.div_ceil(CHUNK);
        *budget += (self.chunks.len() - used) * CHUNK * self.cost;
        self.chunks.truncate(used);
    }
}

impl<T> std::ops::Index<u32> for Arena<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        &self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }
}

impl<T> std::ops::IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }
}

/// Without effect but on the time that the next access takes.
fn prefetch<T>(entry: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing; every processor of this architecture has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entry for u32 {
        fn from_link(link: u32) -> Self {
            link
        }

        fn link(self) -> u32 {
            self
        }
    }

    /// Blocks of many sizes, taken, given back in a mixed order and slid now and then, never overlap, and all
    /// memory can be used again.
    #[test]
    fn blocks_do_not_overlap() {
        let (mut arena, mut budget) = (Arena::<u32>::new(0), 5 * CHUNK * 4 + 17);
        let mut held: Vec<(u32, usize, u32)> = Vec::new();
        let (mut full, mut smallest) = (0, usize::MAX);
        for round in 0..20_000_u32 {
            let size = (round as usize * 37) % MAX_BLOCK + 1;
            match arena.take(size, &mut budget) {
                Some(block) => {
                    arena.block_mut(block, size).fill(round);
                    held.push((block, size, round));
                }
                None => full += 1,
            }
            smallest = smallest.min(budget);
            if round % 3 == 0 && !held.is_empty() {
                let (block, size, mark) = held.swap_remove(round as usize % held.len());
                assert!(arena.block(block, size).iter().all(|&entry| entry == mark));
                arena.give(block, size);
            }
            if round % 500 == 0 {
                held.sort();
                held.truncate(held.len() / 3);
                arena.begin_sliding();
                held.iter_mut().for_each(|(block, size, _)| *block = arena.slide(*block, *size));
                arena.end_sliding(&mut budget);
                let used: usize = held.iter().map(|(_, size, _)| size).sum();
                assert!(5 * CHUNK * 4 + 17 - budget <= (used * 4).next_multiple_of(CHUNK * 4) * 2);
            }
        }
        assert_eq!(smallest, 17);
        assert!(full > 1000, "the budget was never used up");
        held.sort();
        assert!(held.windows(2).all(|pair| pair[0].0 + pair[0].1 as u32 <= pair[1].0));
        assert!(held.iter().all(|&(block, size, mark)| arena.block(block, size)[size - 1] == mark));
    }
}
