//! What the network has said before, found again by a key.

/// Words before the logits of an entry: the key in two, the value, the number of logits.
const HEAD: usize = 4;

/// A ring of remembered outputs: the newest entry takes the place of the oldest ones. Its size is fixed.
pub(super) struct Cache {
    /// Entries one after the other: [`HEAD`], then the bits of the logits. Grows into its capacity and no further.
    ring: Vec<u32>,
    /// Where the next entry goes.
    next: usize,
    /// For each value of the key's low bits, where in the ring the latest such entry begins.
    places: Vec<u32>,
}

impl Cache {
    /// A cache that takes at most this many bytes of memory; it remembers nothing below a few hundred.
    pub fn new(bytes: usize) -> Self {
        // A typical entry has 30 logits: one place for each leaves few places contested or unused.
        let words = (bytes / 4).min(u32::MAX as usize);
        let places = ((words / (HEAD + 31)).max(2) / 2 + 1).next_power_of_two();
        let mut cache = Self { ring: Vec::new(), next: 0, places: Vec::new() };
        // Where there is no memory for it there is no cache.
        if words >= 2 * places
            && cache.ring.try_reserve_exact(words - places).is_ok()
            && cache.places.try_reserve_exact(places).is_ok()
        {
            cache.places.resize(places, 0);
        }
        cache
    }

    /// The value and logits that belong to `key`, if they are still there; `count` says how many logits.
    pub fn get(&self, key: u64, count: usize) -> Option<(f32, impl Iterator<Item = f32>)> {
        let place = *self.places.get(key as usize & self.places.len().wrapping_sub(1))? as usize;
        let entry = self.ring.get(place..place + HEAD + count)?;
        let (head, logits) = entry.split_at(HEAD);
        let same = head[..2] == halves(key) && head[3] as usize == count && count > 0;
        same.then(|| (f32::from_bits(head[2]), logits.iter().map(|&bits| f32::from_bits(bits))))
    }

    /// Remembers a value and logits, unless they are larger than the whole cache.
    pub fn put(&mut self, key: u64, value: f32, logits: &[f32]) {
        let size = HEAD + logits.len();
        if self.places.is_empty() || size > self.ring.capacity() {
            return;
        }
        if self.next + size > self.ring.capacity() {
            self.next = 0;
        }
        if self.next + size > self.ring.len() {
            self.ring.resize(self.next + size, 0);
        }
        let entry = &mut self.ring[self.next..self.next + size];
        entry[..2].copy_from_slice(&halves(key));
        entry[2] = value.to_bits();
        entry[3] = logits.len() as u32;
        for (bits, logit) in entry[HEAD..].iter_mut().zip(logits) {
            *bits = logit.to_bits();
        }
        let place = key as usize & (self.places.len() - 1);
        self.places[place] = self.next as u32;
        self.next += size;
    }

    /// The memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        4 * (self.ring.capacity() + self.places.capacity())
    }
}

fn halves(key: u64) -> [u32; 2] {
    [key as u32, (key >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logits(cache: &Cache, key: u64, count: usize) -> Option<(f32, Vec<f32>)> {
        cache.get(key, count).map(|(value, logits)| (value, logits.collect()))
    }

    #[test]
    fn gives_back_what_was_put_in() {
        let mut cache = Cache::new(1 << 16);
        cache.put(7 << 40, 0.5, &[1.0, -2.0]);
        cache.put(9, -0.5, &[3.0]);
        assert_eq!(logits(&cache, 7 << 40, 2), Some((0.5, vec![1.0, -2.0])));
        assert_eq!(logits(&cache, 9, 1), Some((-0.5, vec![3.0])));
        // Same place, other key; same key, other number of moves.
        assert_eq!(logits(&cache, 8 << 40, 2), None);
        assert_eq!(logits(&cache, 7 << 40, 1), None);
        assert_eq!(logits(&cache, 0, 0), None);
    }

    #[test]
    fn forgets_the_oldest_and_keeps_its_size() {
        let mut cache = Cache::new(4096);
        let bytes = cache.bytes();
        assert!((3000..=4096).contains(&bytes), "{bytes}");
        for key in 1..=1000 {
            cache.put(key, key as f32, &[key as f32; 30]);
            let newest = Some((key as f32, vec![key as f32; 30]));
            assert_eq!(logits(&cache, key, 30), newest);
        }
        assert_eq!(logits(&cache, 1, 30), None);
        assert_eq!(cache.bytes(), bytes);
    }

    #[test]
    fn no_room_is_no_trouble() {
        for bytes in 0..300 {
            let mut cache = Cache::new(bytes);
            cache.put(1, 1.0, &[0.0; 218]);
            assert!(cache.bytes() <= bytes && logits(&cache, 1, 218).is_none(), "{bytes}");
        }
    }
}
