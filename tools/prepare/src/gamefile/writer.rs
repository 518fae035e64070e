//! Writing a game file, front to back.

use super::block::BLOCK_HEAD_LEN;
use super::{Block, END, Entry, GameFileError, Gather, HEAD_LEN, check_head, crc32, head};
use crate::game::PlayedGame;
use std::io::{Read, Write};

/// Writes games into a file, block by block. Without [`Writer::finish`] the file cannot be read.
pub struct Writer<W: Write> {
    output: W,
    table: Vec<Entry>,
    gather: Gather,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut output: W) -> Result<Self, GameFileError> {
        output.write_all(&head())?;
        Ok(Self { output, table: Vec::new(), gather: Gather::default() })
    }

    /// Goes on with a file that was begun: reads its first `blocks` blocks and writes after them.
    ///
    /// # Errors
    /// When the file has not as many whole blocks.
    pub fn resume(mut file: W, blocks: u64) -> Result<Self, GameFileError>
    where
        W: Read,
    {
        let mut bytes = [0; HEAD_LEN];
        file.read_exact(&mut bytes)?;
        check_head(&bytes)?;
        let mut table = Vec::new();
        for _ in 0..blocks {
            let mut bytes = vec![0; BLOCK_HEAD_LEN];
            file.read_exact(&mut bytes)?;
            bytes.resize(Block::entry(&bytes)?.len as usize, 0);
            file.read_exact(&mut bytes[BLOCK_HEAD_LEN..])?;
            table.push(Block::from_bytes(bytes)?.as_entry());
        }
        Ok(Self { output: file, table, gather: Gather::default() })
    }

    /// Adds a game.
    ///
    /// # Errors
    /// When the file cannot be written, or the game cannot be: see [`Block::pack`].
    pub fn push(&mut self, game: &PlayedGame) -> Result<(), GameFileError> {
        if self.gather.push(game.clone()) { self.write_gathered() } else { Ok(()) }
    }

    /// Adds a block, after the games pushed before it.
    ///
    /// # Errors
    /// See [`Writer::push`].
    pub fn append(&mut self, block: &Block) -> Result<(), GameFileError> {
        if !self.gather.is_empty() {
            self.write_gathered()?;
        }
        self.output.write_all(block.bytes())?;
        self.table.push(block.as_entry());
        Ok(())
    }

    fn write_gathered(&mut self) -> Result<(), GameFileError> {
        let block = Block::pack(&self.gather.take())?;
        self.append(&block)
    }

    /// How many blocks the file has.
    pub fn blocks(&self) -> u64 {
        self.table.len() as u64
    }

    /// How many games the file has, without those of a block not yet full.
    pub fn games(&self) -> u64 {
        self.table.iter().map(|entry| u64::from(entry.games)).sum()
    }

    /// How many plies these games have.
    pub fn plies(&self) -> u64 {
        self.table.iter().map(|entry| u64::from(entry.plies)).sum()
    }

    /// What is written to.
    pub fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Writes what is pending and the table, and returns what was written to.
    ///
    /// # Errors
    /// See [`Writer::push`].
    pub fn finish(mut self) -> Result<W, GameFileError> {
        if !self.gather.is_empty() {
            self.write_gathered()?;
        }
        let table: Vec<u8> = self.table.iter().flat_map(|entry| entry.to_bytes()).collect();
        let foot = [self.blocks(), self.games(), self.plies()].map(u64::to_le_bytes).concat();
        let crc = crc32(&[&table, &foot]).to_le_bytes();
        for part in [&table[..], &foot, &crc, &END] {
            self.output.write_all(part)?;
        }
        self.output.flush()?;
        Ok(self.output)
    }
}
