//! Reading a game file, whole or any game of it.

use super::block::{BLOCK_HEAD_LEN, CRC_AT, Unpacked, damaged};
use super::{
    Block, END, ENTRY_LEN, Entry, FOOT_LEN, GameFileError, HEAD_LEN, check_head, crc32, u32_at,
    u64_at,
};
use crate::game::PlayedGame;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A game file, open for reading, from as many threads as you like.
pub struct GameFile {
    path: PathBuf,
    file: Mutex<File>,
    blocks: Vec<Place>,
    games: u64,
    plies: u64,
}

/// Where a block is.
struct Place {
    offset: u64,
    /// The number of its first game.
    first_game: u64,
    entry: Entry,
}

impl GameFile {
    /// Opens a file and reads its table of blocks.
    ///
    /// # Errors
    /// When it is no game file or is damaged; the error names the file. Damage inside a block shows
    /// when the block is read.
    pub fn open(path: &Path) -> Result<Self, GameFileError> {
        if path == Path::new("-") {
            return Err(GameFileError::StandardInput.of(path));
        }
        Self::read_table(path).map_err(|error| error.of(path))
    }

    fn read_table(path: &Path) -> Result<Self, GameFileError> {
        // To open a pipe would wait for somebody to write to it.
        match fs::metadata(path)? {
            found if found.is_dir() => return Err(GameFileError::NotAFile("a folder")),
            found if !found.is_file() => return Err(GameFileError::NotAFile("a pipe or device")),
            _ => {}
        }
        let mut file = File::open(path)?;
        let mut head = [0; HEAD_LEN];
        file.read_exact(&mut head).map_err(|_| GameFileError::NotAGameFile)?;
        check_head(&head)?;

        let len = file.metadata()?.len();
        let cut_off = || {
            damaged(
                "it does not end as one: it is cut off, not finished, or has more behind its end",
            )
        };
        let foot_at = len.checked_sub(FOOT_LEN as u64).ok_or_else(cut_off)?;
        let mut foot = [0; FOOT_LEN];
        file.seek(SeekFrom::Start(foot_at))?;
        file.read_exact(&mut foot)?;
        if foot[28..] != END {
            return Err(cut_off());
        }
        let table_len = u64_at(&foot, 0)
            .checked_mul(ENTRY_LEN as u64)
            .filter(|table_len| table_len + HEAD_LEN as u64 <= foot_at)
            .ok_or_else(|| damaged("it claims more blocks than it can hold"))?;
        let table_at = foot_at - table_len;
        let mut table = vec![0; table_len as usize];
        file.seek(SeekFrom::Start(table_at))?;
        file.read_exact(&mut table)?;
        if crc32(&[&table, &foot[..24]]) != u32_at(&foot, 24) {
            return Err(damaged("its table does not match its checksum"));
        }

        let mut blocks = Vec::with_capacity(table.len() / ENTRY_LEN);
        let (mut offset, mut games, mut plies) = (HEAD_LEN as u64, 0, 0);
        for bytes in table.chunks_exact(ENTRY_LEN) {
            let [len, games_here, plies_here] = [0, 4, 8].map(|at| u32_at(bytes, at));
            let entry = Entry { len, games: games_here, plies: plies_here };
            if !entry.is_possible() {
                return Err(damaged("its table has an impossible block"));
            }
            blocks.push(Place { offset, first_game: games, entry });
            offset += u64::from(len);
            games += u64::from(games_here);
            plies += u64::from(plies_here);
        }
        if offset != table_at || games != u64_at(&foot, 8) || plies != u64_at(&foot, 16) {
            return Err(damaged("its blocks do not add up to it (`join` puts files together)"));
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), blocks, games, plies })
    }

    /// How many games there are.
    pub fn len(&self) -> u64 {
        self.games
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.games == 0
    }

    /// How many plies all games have together.
    pub fn plies(&self) -> u64 {
        self.plies
    }

    /// CRC-32 of the checksums of all blocks, one after the other: by it the file is known again.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn checksum(&self) -> Result<u32, GameFileError> {
        let mut checksums = Vec::with_capacity(4 * self.blocks.len());
        for place in &self.blocks {
            let mut bytes = [0; BLOCK_HEAD_LEN - CRC_AT];
            self.read_at(place.offset + CRC_AT as u64, &mut bytes)
                .map_err(|error| GameFileError::from(error).of(&self.path))?;
            checksums.extend(bytes);
        }
        Ok(crc32(&[&checksums]))
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How many games the blocks before this one hold.
    pub fn games_before(&self, block: usize) -> u64 {
        self.blocks.get(block).map_or(self.games, |place| place.first_game)
    }

    /// The games of a block, in order.
    ///
    /// # Errors
    /// When there is no such block, or it is damaged.
    pub fn block(&self, index: usize) -> Result<Vec<PlayedGame>, GameFileError> {
        let games = || -> Result<Vec<_>, GameFileError> {
            let unpacked = self.unpack(index)?;
            (0..unpacked.len()).map(|game| unpacked.game(game)).collect()
        };
        games().map_err(|error| error.of(&self.path))
    }

    /// The game of a number, from 0. Unpacks the block it is in.
    ///
    /// # Errors
    /// When there is no such game, or its block is damaged.
    pub fn game(&self, number: u64) -> Result<PlayedGame, GameFileError> {
        let game = || {
            if number >= self.games {
                return Err(GameFileError::NoSuch { what: "game", number, count: self.games });
            }
            let block = self.blocks.partition_point(|place| place.first_game <= number) - 1;
            self.unpack(block)?.game((number - self.blocks[block].first_game) as usize)
        };
        game().map_err(|error| error.of(&self.path))
    }

    /// All games, in order.
    pub fn iter(&self) -> Games<'_> {
        Games { file: self, next_block: 0, block: Vec::new().into_iter() }
    }

    /// A block as it stands in the file.
    ///
    /// # Errors
    /// See [`GameFile::block`].
    pub fn raw_block(&self, index: usize) -> Result<Block, GameFileError> {
        self.read_block(index).map_err(|error| error.of(&self.path))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        // A thread that died while it held the file leaves nothing that matters behind.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    fn unpack(&self, index: usize) -> Result<Unpacked, GameFileError> {
        self.read_block(index)?.unpack()
    }

    fn read_block(&self, index: usize) -> Result<Block, GameFileError> {
        let Some(place) = self.blocks.get(index) else {
            let count = self.blocks.len() as u64;
            return Err(GameFileError::NoSuch { what: "block", number: index as u64, count });
        };
        let mut bytes = vec![0; place.entry.len as usize];
        self.read_at(place.offset, &mut bytes)?;
        let block = Block::from_bytes(bytes)?;
        if block.as_entry() != place.entry {
            return Err(damaged("a block is not as the table has it"));
        }
        Ok(block)
    }
}

impl<'a> IntoIterator for &'a GameFile {
    type Item = Result<PlayedGame, GameFileError>;
    type IntoIter = Games<'a>;

    fn into_iter(self) -> Games<'a> {
        self.iter()
    }
}

/// The games of a file in order; ends after an error.
pub struct Games<'a> {
    file: &'a GameFile,
    next_block: usize,
    block: std::vec::IntoIter<PlayedGame>,
}

impl Iterator for Games<'_> {
    type Item = Result<PlayedGame, GameFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(game) = self.block.next() {
                return Some(Ok(game));
            }
            if self.next_block >= self.file.block_count() {
                return None;
            }
            match self.file.block(self.next_block) {
                Ok(games) => self.block = games.into_iter(),
                Err(error) => {
                    self.next_block = self.file.block_count();
                    return Some(Err(error));
                }
            }
            self.next_block += 1;
        }
    }
}
