//! The records of shards, taken apart.

use fianchetto::encoding::Encoding;
use fianchetto_prepare::shards::Layout;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files of a folder with their bytes.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// A record taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    pub game: u64,
    pub ply: u16,
    pub played: u16,
    pub result: i8,
    pub band: [u8; 2],
    pub promotion: u8,
    pub constants: Vec<u8>,
    pub squares: Vec<u8>,
    pub legal: Vec<u16>,
}

/// Splits off an array of this many bytes an entry.
fn array<'a>(bytes: &mut &'a [u8], entry: usize) -> &'a [u8] {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(header.is_multiple_of(64) && bytes[header - 1] == b'\n');
    let text = std::str::from_utf8(&bytes[10..header]).unwrap();
    let len: usize =
        text.split("'shape': (").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    let (data, rest) = bytes[header..].split_at(len * entry);
    *bytes = rest;
    data
}

/// The records of shards one after the other; a shard without any comes last, if at all.
pub fn records(mut bytes: &[u8], encoding: Encoding) -> Vec<Record> {
    let layout = Layout::new(encoding);
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let entries = array(&mut bytes, layout.record_len());
        let legal: Vec<u16> =
            array(&mut bytes, 2).chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        let mut next_legal = 0;
        assert!(entries.len() <= 10_000 * layout.record_len());
        assert!(!entries.is_empty() || bytes.is_empty());
        for entry in entries.chunks(layout.record_len()) {
            let (fields, planes) = entry.split_at(21);
            let (constants, squares) = planes.split_at(layout.constant_planes.len());
            let start = u32::from_le_bytes(fields[8..12].try_into().unwrap()) as usize;
            assert_eq!(start, next_legal);
            next_legal += usize::from(fields[20]);
            records.push(Record {
                game: u64::from_le_bytes(fields[..8].try_into().unwrap()),
                ply: u16::from_le_bytes(fields[12..14].try_into().unwrap()),
                played: u16::from_le_bytes(fields[14..16].try_into().unwrap()),
                result: fields[16] as i8,
                band: [fields[17], fields[18]],
                promotion: fields[19],
                constants: constants.to_vec(),
                squares: squares.to_vec(),
                legal: legal[start..next_legal].to_vec(),
            });
        }
        assert_eq!(legal.len(), next_legal);
    }
    records
}

pub fn shard_records(files: &BTreeMap<String, Vec<u8>>, encoding: Encoding) -> Vec<Record> {
    let shards = files.iter().filter(|(name, _)| name.starts_with("shard-"));
    shards.flat_map(|(_, bytes)| records(bytes, encoding)).collect()
}

/// Game and ply of each record, sorted.
pub fn places(records: &[Record]) -> Vec<(u64, u16)> {
    let mut places: Vec<_> = records.iter().map(|record| (record.game, record.ply)).collect();
    places.sort_unstable();
    places
}
