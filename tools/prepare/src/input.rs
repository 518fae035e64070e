//! Opening what games come in: plain text, Zstandard or gzip, told apart by content.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read at a time.
const BUFFER: usize = 1 << 17;

/// The longest window (log2 of bytes) that a Zstandard file may ask for: what `zstd --long=30` writes.
/// The decoder holds one window in memory, no more.
const WINDOW_LOG_MAX: u32 = 30;

/// Starts of files that people try, four bytes at most, and what to do about them.
const FOREIGN: [(&[u8], &str); 8] = [
    (b"\0", "not text: it begins with zero bytes"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (b"Rar!", "a rar archive: unpack it first"),
    (b"BZh", "bzip2: pipe it through `bzip2 -dc` and read `-`"),
    (b"\xfd7zX", "xz: pipe it through `xz -dc` and read `-`"),
    (b"\xff\xfe", "UTF-16 text: convert it to UTF-8 first"),
    (b"\xfe\xff", "UTF-16 text: convert it to UTF-8 first"),
];

/// Why an input cannot be read.
#[derive(Debug)]
pub enum InputError {
    /// The file cannot be opened, or its first bytes not be read.
    Io(PathBuf, io::Error),
    /// It is not what games come in; what it is and what to do.
    NotText(PathBuf, &'static str),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => {
                write!(
                    f,
                    "{}: cannot be read: {error}; give a readable file, or - for standard input",
                    path.display()
                )
            }
            Self::NotText(path, found) => write!(
                f,
                "{}: expected text, plain or compressed by zstd or gzip, but it is {found}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::NotText(..) => None,
        }
    }
}

/// Opens a file of games, or standard input for `-`, and undoes its compression. What is read is
/// streamed: memory does not depend on the size of the file. Several compressed streams one after
/// the other are read as one.
///
/// # Errors
/// When the file cannot be opened, its first block is damaged, or it is plainly not text.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, InputError> {
    open_counting(path, &Arc::default())
}

/// Like [`open`]; the bytes taken from the file, as stored, are added to `read`.
///
/// # Errors
/// See [`open`].
pub fn open_counting(
    path: &Path,
    read: &Arc<AtomicU64>,
) -> Result<Box<dyn BufRead + Send>, InputError> {
    let io_error = |error| InputError::Io(path.to_owned(), error);
    let source: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(io_error)?;
        if file.metadata().map_err(io_error)?.is_dir() {
            return Err(io_error(io::ErrorKind::IsADirectory.into()));
        }
        Box::new(file)
    };
    let source = Box::new(Counting { source, read: Arc::clone(read) });
    let mut text = decompressed(source).map_err(io_error)?;
    let start = text.fill_buf().map_err(io_error)?;
    let foreign = FOREIGN.iter().find(|(magic, _)| start.starts_with(magic));
    if let Some((_, found)) = foreign {
        return Err(InputError::NotText(path.to_owned(), found));
    }
    Ok(text)
}

/// Counts the bytes that come through.
struct Counting {
    source: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

fn decompressed(source: Box<dyn Read + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    // The magic bytes are put back in front, because a pipe may deliver less than asked for.
    let (mut magic, mut source) = (Vec::new(), source);
    source.by_ref().take(4).read_to_end(&mut magic)?;
    let is_zstd = matches!(magic[..], [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
    let is_gzip = magic.starts_with(&[0x1f, 0x8b]);
    let whole = BufReader::with_capacity(BUFFER, io::Cursor::new(magic).chain(source));
    Ok(if is_zstd {
        let mut decoder = zstd::Decoder::with_buffer(whole)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Box::new(BufReader::with_capacity(BUFFER, decoder))
    } else if is_gzip {
        let decoder = flate2::bufread::MultiGzDecoder::new(whole);
        Box::new(BufReader::with_capacity(BUFFER, decoder))
    } else {
        Box::new(whole)
    })
}
