//! Training shards: positions as numpy reads them, without this program.
//!
//! A shard file holds two arrays in NumPy's `.npy` format, one after the other: `records`, one
//! structured entry per position, and `legal`, the policy indices of all legal moves, `u16`.
//!
//! ```python
//! with open("shard-00000.npy", "rb") as file:
//!     records, legal = np.load(file), np.load(file)
//! ```
//!
//! Every shard has [`POSITIONS`] records, the last one of a folder what is left. The fields of a
//! record, packed and little-endian:
//!
//! | field | type | content |
//! |---|---|---|
//! | `game` | u64 | the game's hash, [`PlayedGame::hash`](crate::game::PlayedGame::hash) |
//! | `legal_start` | u32 | where in `legal` the position's policy indices begin |
//! | `ply` | u16 | half-moves played before the position |
//! | `played` | u16 | policy index of the move played, see [`Encoding::target`] |
//! | `result` | i8 | of the game, for the side to move: 1 won, 0 drawn, -1 lost |
//! | `band` | u8 \[2] | ratings of the side to move and its opponent in hundreds, rounded down; 0 unknown |
//! | `promotion` | u8 | what the move played promotes to: 0 none, 1 knight, 2 bishop, 3 rook, 4 queen |
//! | `legal_count` | u8 | how many policy indices the legal moves have, ascending and distinct |
//! | `constants` | u8 \[constant planes] | values of [`Encoding::constant_planes`] in hundredths |
//! | `squares` | u8 \[other planes, 8] | the other planes, one byte a rank, bit 0 the a-file |
//!
//! A from-to encoding has no index for an under-promotion: none stands in `legal`, and `played` is
//! then the queen's promotion on the same squares. `promotion` tells such records apart.
//!
//! A stream begins with a line of JSON, the folder's manifest as far as it is known before the work:
//! [`Job`](crate::expand::Job). The pairs of arrays follow, each of [`POSITIONS`] records at most, and at
//! the end a pair without any: a stream that ends otherwise was cut.
//!
//! [`Encoding::target`]: fianchetto::encoding::Encoding::target
//! [`Encoding::constant_planes`]: fianchetto::encoding::Encoding::constant_planes

mod frame;
mod layout;
mod packer;

pub use frame::Frame;
pub use layout::Layout;
pub use packer::{About, Packer};

/// How many positions a shard holds.
pub const POSITIONS: usize = 10_000;
