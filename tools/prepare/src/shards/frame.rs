//! Records gathered into the two arrays of a shard.

use super::layout::{LEGAL_START, Layout};
use std::io::{self, Write};

/// Records with their policy indices, to be written as one shard.
pub struct Frame {
    layout: Layout,
    records: Vec<u8>,
    legal: Vec<u8>,
}

impl Frame {
    /// An empty frame.
    pub fn new(layout: Layout) -> Self {
        Self { layout, records: Vec::new(), legal: Vec::new() }
    }

    /// How many records.
    pub fn len(&self) -> usize {
        self.records.len() / self.layout.record_len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a loose record, see [`Layout::loose_len`].
    ///
    /// # Panics
    /// When `loose` is shorter than a record.
    pub fn push(&mut self, loose: &[u8]) {
        let (record, legal) = loose.split_at(self.layout.record_len());
        let start = self.records.len();
        // At most 218 indices a record.
        let legal_start = (self.legal.len() / 2) as u32;
        self.records.extend(record);
        self.records[start + LEGAL_START..][..4].copy_from_slice(&legal_start.to_le_bytes());
        self.legal.extend(legal);
    }

    /// Writes both arrays and empties the frame.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&header(&self.layout.descr(), self.len()))?;
        out.write_all(&self.records)?;
        out.write_all(&header("'<u2'", self.legal.len() / 2))?;
        out.write_all(&self.legal)?;
        self.records.clear();
        self.legal.clear();
        Ok(())
    }
}

/// The head of an array of one dimension in NumPy's format, version 1.0: magic, version, length of
/// what follows, a Python dictionary, padded so that the data begin at a multiple of 64 bytes.
/// <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>
fn header(descr: &str, len: usize) -> Vec<u8> {
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({len},), }}");
    let total = (10 + dictionary.len() + 1).next_multiple_of(64);
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(((total - 10) as u16).to_le_bytes());
    header.extend(dictionary.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}
