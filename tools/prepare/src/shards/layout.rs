//! Where the fields of a record lie.

use fianchetto::encoding::Encoding;

/// Where `legal_start` begins.
pub(super) const LEGAL_START: usize = 8;
/// Where `legal_count` lies.
pub(super) const LEGAL_COUNT: usize = 20;
/// Where the planes begin.
pub(super) const PLANES: usize = 21;

/// How an encoding's positions are laid out in bytes.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The encoding.
    pub encoding: Encoding,
    /// The planes of `constants`, in order.
    pub constant_planes: Vec<usize>,
    /// The planes of `squares`, in order.
    pub square_planes: Vec<usize>,
}

impl Layout {
    /// The layout for an encoding.
    pub fn new(encoding: Encoding) -> Self {
        let (constant_planes, square_planes) =
            (0..encoding.planes()).partition(|plane| encoding.constant_planes().contains(plane));
        Self { encoding, constant_planes, square_planes }
    }

    /// Bytes of one record.
    pub fn record_len(&self) -> usize {
        PLANES + self.constant_planes.len() + 8 * self.square_planes.len()
    }

    /// The length of the loose record that `bytes` begins with: a record and, right after it, its
    /// policy indices.
    ///
    /// # Panics
    /// When `bytes` is shorter than a record.
    pub fn loose_len(&self, bytes: &[u8]) -> usize {
        self.record_len() + 2 * usize::from(bytes[LEGAL_COUNT])
    }

    /// The type of a record as NumPy writes it.
    pub(super) fn descr(&self) -> String {
        format!(
            "[('game', '<u8'), ('legal_start', '<u4'), ('ply', '<u2'), ('played', '<u2'), \
             ('result', '|i1'), ('band', '|u1', (2,)), ('promotion', '|u1'), ('legal_count', '|u1'), \
             ('constants', '|u1', ({},)), ('squares', '|u1', ({}, 8))]",
            self.constant_planes.len(),
            self.square_planes.len()
        )
    }
}
