//! The compact game file: played games, about half a byte a ply, with access to any one of them.
//!
//! # Format, version 1
//!
//! All integers are little-endian. The file is a head, blocks of games one after the other, a table
//! of the blocks and a foot:
//!
//! ```text
//! head      8 bytes  "FIANGAME"
//!           u32      version: 1
//!           u32      0
//! block     any number of times; at most 1,024 games and 1,114,111 plies each, at least one game:
//!           u32      games in this block
//!           u32      plies in this block
//!           10 x u32 length of each column as stored
//!           u32      CRC-32 of the head's 48 bytes before this field and of the columns
//!           columns  each a Zstandard frame, in the order below
//! table     for each block:
//!           u32      its length in the file
//!           u32      its games
//!           u32      its plies
//! foot      u64      blocks
//!           u64      games
//!           u64      plies
//!           u32      CRC-32 of the table and of the foot's 24 bytes before this field
//!           4 bytes  "FEND"
//! ```
//!
//! A column is a run of bytes, unpacked one a game, but for the last, which has one a ply:
//!
//! | column | bytes |
//! |---|---|
//! | 0, 1 | plies of the game, low byte and high byte |
//! | 2 | result: 0 White won, 1 draw, 2 Black won |
//! | 3, 4 | White's rating, low and high byte; 0 unknown |
//! | 5, 6 | Black's rating |
//! | 7, 8 | year; 0 unknown |
//! | 9 | the moves of all games, one after the other: each its rank among the legal moves in the [order] |
//!
//! A game begins at the start position of standard chess. Which games are held back for measuring and
//! which shard a game belongs to follow from its moves: [`PlayedGame::held_out`](crate::game::PlayedGame::held_out).
//!
//! A block is read by itself, so a game costs the unpacking of at most 1,024. Blocks need not be
//! full: joined files keep theirs.

mod block;
mod error;
pub mod order;
mod reader;
pub mod weights;
mod writer;

pub use block::{Block, Gather, MAX_GAMES};
pub use error::GameFileError;
pub use reader::{GameFile, Games};
pub use writer::Writer;

/// The first bytes of a game file.
const MAGIC: [u8; 8] = *b"FIANGAME";
/// The version that this program writes and reads.
const VERSION: u32 = 1;
/// Bytes before the first block.
const HEAD_LEN: usize = 16;
/// The last bytes of a game file.
const END: [u8; 4] = *b"FEND";
/// Bytes after the table.
const FOOT_LEN: usize = 32;
/// Bytes of a block's entry in the table.
const ENTRY_LEN: usize = 12;

/// One block as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    len: u32,
    games: u32,
    plies: u32,
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        for (field, value) in bytes.chunks_exact_mut(4).zip([self.len, self.games, self.plies]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

/// The file's head.
fn head() -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// Whether `bytes` begin as a game file of this version does.
///
/// # Errors
/// When they do not.
fn check_head(bytes: &[u8; HEAD_LEN]) -> Result<(), GameFileError> {
    if bytes[..8] != MAGIC {
        return Err(GameFileError::NotAGameFile);
    }
    if *bytes != head() {
        return Err(GameFileError::Version(u32_at(bytes, 8)));
    }
    Ok(())
}

/// A file's size in words: `1200 bytes, 0.480 bytes a ply`.
pub fn size(bytes: u64, plies: u64) -> String {
    if plies == 0 {
        return format!("{bytes} bytes");
    }
    format!("{bytes} bytes, {:.3} bytes a ply", bytes as f64 / plies as f64)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// CRC-32 (ISO 3309) of several runs of bytes as if they were one.
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    let mut crc = flate2::Crc::new();
    for part in parts {
        crc.update(part);
    }
    crc.sum()
}
