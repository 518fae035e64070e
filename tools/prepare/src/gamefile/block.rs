//! One block of games: columns of bytes, each packed by Zstandard.

use super::order::Moves;
use super::{Entry, GameFileError, crc32, u32_at};
use crate::game::{GameResult, PlayedGame};
use cozy_chess::Board;
use std::ops::Range;

/// The most games in a block.
pub const MAX_GAMES: usize = 1024;
/// A block with as many plies takes no further game.
const FULL_PLIES: usize = 1 << 20;
/// The most plies in a block.
const MAX_PLIES: usize = FULL_PLIES + u16::MAX as usize;

const COLUMNS: usize = 10;
/// The column of the ranks, one byte a ply; all others have one byte a game.
const RANKS: usize = COLUMNS - 1;
pub(super) const BLOCK_HEAD_LEN: usize = 12 + 4 * COLUMNS;
/// Where in a block's head its checksum lies.
pub(super) const CRC_AT: usize = BLOCK_HEAD_LEN - 4;
/// The most bytes of a block, head included: Zstandard adds less than 1 in 128, and 64 a column.
pub(super) const MAX_LEN: usize =
    BLOCK_HEAD_LEN + COLUMNS * 64 + (MAX_PLIES + RANKS * MAX_GAMES) / 128 * 129;
const LEVEL: i32 = 19;

/// A block as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    bytes: Vec<u8>,
    games: u32,
    plies: u32,
}

/// Gathers games until they fill a block.
#[derive(Default)]
pub struct Gather {
    games: Vec<PlayedGame>,
    plies: usize,
}

impl Gather {
    /// Adds a game; true when the block is full and must be [taken](Gather::take).
    #[must_use]
    pub fn push(&mut self, game: PlayedGame) -> bool {
        self.plies += game.moves.len();
        self.games.push(game);
        self.games.len() == MAX_GAMES || self.plies >= FULL_PLIES
    }

    /// The games gathered, as many as there are, for [`Block::pack`].
    pub fn take(&mut self) -> Vec<PlayedGame> {
        self.plies = 0;
        std::mem::take(&mut self.games)
    }

    /// Whether nothing is gathered.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
    }
}

impl Block {
    /// Packs the games of a [`Gather`].
    ///
    /// # Errors
    /// When there are too many or none, or one cannot be written: longer than 65,535 plies, or with
    /// an illegal move.
    pub fn pack(games: &[PlayedGame]) -> Result<Self, GameFileError> {
        let plies: usize = games.iter().map(|game| game.moves.len()).sum();
        if !(1..=MAX_GAMES).contains(&games.len()) || plies > MAX_PLIES {
            return Err(GameFileError::Unwritable(format!(
                "a block of {} games and {plies} plies: expected 1 to {MAX_GAMES}, and at most {MAX_PLIES}",
                games.len()
            )));
        }
        let mut columns = [const { Vec::new() }; COLUMNS];
        for game in games {
            let plies = u16::try_from(game.moves.len()).map_err(|_| {
                GameFileError::Unwritable(format!(
                    "a game of {} plies: expected at most {}; filter it out",
                    game.moves.len(),
                    u16::MAX
                ))
            })?;
            let result = match game.result {
                GameResult::White => 0,
                GameResult::Draw => 1,
                GameResult::Black => 2,
            };
            let [plies, white, black, year] =
                [plies, game.ratings[0], game.ratings[1], game.year].map(u16::to_le_bytes);
            let facts = [&plies[..], &[result], &white, &black, &year].concat();
            for (column, fact) in columns.iter_mut().zip(facts) {
                column.push(fact);
            }
            rank_moves(game, &mut columns[RANKS])?;
        }
        let games = games.len() as u32;
        let plies = columns[RANKS].len() as u32;

        let mut bytes = [games.to_le_bytes(), plies.to_le_bytes()].concat();
        let mut packed = Vec::new();
        for column in &columns {
            let frame = zstd::bulk::compress(column, LEVEL)?;
            bytes.extend((frame.len() as u32).to_le_bytes());
            packed.extend(frame);
        }
        let crc = crc32(&[&bytes, &packed]);
        bytes.extend(crc.to_le_bytes());
        bytes.append(&mut packed);
        Ok(Self { bytes, games, plies })
    }

    /// Takes up a block as read from a file.
    ///
    /// # Errors
    /// When it is not as it was written.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, GameFileError> {
        let entry = Self::entry(&bytes)?;
        let whole = bytes.len() == entry.len as usize;
        let expected = u32_at(&bytes, CRC_AT);
        if !whole || crc32(&[&bytes[..CRC_AT], &bytes[BLOCK_HEAD_LEN..]]) != expected {
            return Err(damaged("a block does not match its checksum"));
        }
        Ok(Self { bytes, games: entry.games, plies: entry.plies })
    }

    /// What the head of a block says of it.
    ///
    /// # Errors
    /// When it is too short, or the numbers in it cannot be.
    pub(super) fn entry(head: &[u8]) -> Result<Entry, GameFileError> {
        if head.len() < BLOCK_HEAD_LEN {
            return Err(damaged("a block is cut off"));
        }
        let (games, plies) = (u32_at(head, 0), u32_at(head, 4));
        let len = BLOCK_HEAD_LEN as u64
            + (0..COLUMNS).map(|column| u64::from(u32_at(head, 8 + 4 * column))).sum::<u64>();
        let entry = Entry { len: len.try_into().unwrap_or(u32::MAX), games, plies };
        if entry.is_possible() { Ok(entry) } else { Err(damaged("a block's head is impossible")) }
    }

    /// The block as it stands in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn as_entry(&self) -> Entry {
        Entry { len: self.bytes.len() as u32, games: self.games, plies: self.plies }
    }

    /// Unpacks the columns.
    ///
    /// # Errors
    /// When they are not as long as the block says.
    pub(super) fn unpack(&self) -> Result<Unpacked, GameFileError> {
        let mut rest = &self.bytes[BLOCK_HEAD_LEN..];
        let mut columns = [const { Vec::new() }; COLUMNS];
        for (number, column) in columns.iter_mut().enumerate() {
            let stored = u32_at(&self.bytes, 8 + 4 * number) as usize;
            let (frame, after) =
                rest.split_at_checked(stored).ok_or_else(|| damaged("a column is cut off"))?;
            rest = after;
            let len = if number == RANKS { self.plies } else { self.games } as usize;
            *column = zstd::bulk::decompress(frame, len).map_err(|error| {
                damaged(&format!("column {number} cannot be unpacked ({error})"))
            })?;
            if column.len() != len {
                return Err(damaged("a column is shorter than its block says"));
            }
        }
        let mut starts = vec![0];
        for game in 0..self.games as usize {
            starts.push(starts[game] + usize::from(u16_of(&columns[0..2], game)));
        }
        if starts[self.games as usize] != self.plies as usize {
            return Err(damaged("a block's games have not as many plies as it says"));
        }
        Ok(Unpacked { columns, starts })
    }
}

impl Entry {
    /// Whether a block can have these numbers.
    pub(super) fn is_possible(self) -> bool {
        (1..=MAX_GAMES).contains(&(self.games as usize))
            && self.plies as usize <= MAX_PLIES
            && (BLOCK_HEAD_LEN..=MAX_LEN).contains(&(self.len as usize))
    }
}

/// The unpacked columns of a block.
pub(super) struct Unpacked {
    columns: [Vec<u8>; COLUMNS],
    /// Where the ranks of each game begin, and the end.
    starts: Vec<usize>,
}

impl Unpacked {
    /// How many games there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The game at `index`, which is below [`Unpacked::len`].
    ///
    /// # Errors
    /// When the ranks lead to no game.
    pub fn game(&self, index: usize) -> Result<PlayedGame, GameFileError> {
        let result = match self.columns[2][index] {
            0 => GameResult::White,
            1 => GameResult::Draw,
            2 => GameResult::Black,
            other => return Err(damaged(&format!("a game's result is {other}, expected 0 to 2"))),
        };
        let number = |columns: Range<usize>| u16_of(&self.columns[columns], index);
        let ranks = &self.columns[RANKS][self.starts[index]..self.starts[index + 1]];
        Ok(PlayedGame {
            moves: moves_of(ranks)?,
            result,
            ratings: [number(3..5), number(5..7)],
            year: number(7..9),
        })
    }
}

fn u16_of(columns: &[Vec<u8>], index: usize) -> u16 {
    u16::from_le_bytes([columns[0][index], columns[1][index]])
}

fn rank_moves(game: &PlayedGame, ranks: &mut Vec<u8>) -> Result<(), GameFileError> {
    let mut board = Board::default();
    let mut last = None;
    for &mv in &game.moves {
        let Some(rank) = Moves::of(&board, last).rank(mv) else {
            return Err(GameFileError::Unwritable(format!(
                "a game with {mv} in {board}: expected a legal move"
            )));
        };
        ranks.push(rank);
        board.play_unchecked(mv);
        last = Some(mv.to);
    }
    Ok(())
}

fn moves_of(ranks: &[u8]) -> Result<Vec<cozy_chess::Move>, GameFileError> {
    let mut board = Board::default();
    let mut last = None;
    let mut moves = Vec::with_capacity(ranks.len());
    for &rank in ranks {
        let Some(mv) = Moves::of(&board, last).at(rank) else {
            return Err(damaged("a game has a move that is not there"));
        };
        moves.push(mv);
        board.play_unchecked(mv);
        last = Some(mv.to);
    }
    Ok(moves)
}

pub(super) fn damaged(what: &str) -> GameFileError {
    GameFileError::Damaged(what.to_owned())
}
