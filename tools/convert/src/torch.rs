//! The archive that torch.save writes: a zip file with the entries `<prefix>/data.pkl`,
//! `<prefix>/byteorder` and, for each storage, `<prefix>/data/<key>`, none of them compressed.

use crate::pickle::{Pickle, Storage, TensorParts, size};
use crate::tensor::{Layout, Tensor};
use crate::{Failure, Result, fail, shown};
use std::collections::HashMap;
use std::io::Cursor;
use zip::{CompressionMethod, ZipArchive};

/// An opened archive.
pub struct Torch<'a> {
    bytes: &'a [u8],
    zip: ZipArchive<Cursor<&'a [u8]>>,
    prefix: String,
    big_endian: bool,
    /// Storages read so far, by key.
    storages: HashMap<&'a str, &'a [u8]>,
    /// The table of contents.
    pub pickle: Pickle<'a>,
}

impl<'a> Torch<'a> {
    /// Opens an archive and reads its table of contents; storages are read when asked for.
    ///
    /// # Errors
    /// When it is damaged or not an archive of torch.save.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
            Failure(format!("the zip archive is damaged or cut short ({e}): get the file again"))
        })?;
        let names = || zip.file_names().filter_map(|name| name.ok());
        if names().any(|name| name.ends_with("/constants.pkl") || name.contains("/code/")) {
            return fail(
                "a TorchScript archive (torch.jit.save), expected one of torch.save: load it with torch.jit.load and \
                 torch.save its state_dict()",
            );
        }
        let prefix = names().find_map(|name| Some(name.strip_suffix("data.pkl")?.to_owned()));
        let Some(prefix) = prefix else {
            return fail(
                "a zip archive without data.pkl, expected one of torch.save: give the .pt file itself",
            );
        };
        let big_endian = match zip.index_for_name(&format!("{prefix}byteorder")) {
            None => false,
            Some(_) => match entry(&mut zip, bytes, &format!("{prefix}byteorder"))? {
                b"little" => false,
                b"big" => true,
                other => {
                    let found = shown(&String::from_utf8_lossy(other));
                    return fail(format!("the byte order is `{found}`, expected little or big"));
                }
            },
        };
        let contents = entry(&mut zip, bytes, &format!("{prefix}data.pkl"))?;
        let pickle = Pickle::read(contents, bytes.len().saturating_mul(3).saturating_add(1 << 16))?;
        Ok(Self { bytes, zip, prefix, big_endian, storages: HashMap::new(), pickle })
    }

    /// The view that `parts` describe.
    ///
    /// # Errors
    /// When the parts are not what they should be or its storage cannot be read.
    pub fn tensor(&mut self, parts: &TensorParts<'a>) -> Result<Tensor<'a>> {
        let sizes = |value, what: &str| {
            let sizes = self.pickle.sizes(value);
            sizes.ok_or_else(|| Failure(format!("its {what} is no list of numbers from 0")))
        };
        let layout = Layout {
            dtype: parts.storage.dtype,
            shape: sizes(parts.shape, "shape")?,
            strides: sizes(parts.strides, "stride")?,
            offset: size(&parts.offset)
                .ok_or_else(|| Failure("its storage offset is no number from 0".to_owned()))?,
        };
        Tensor::new(layout, self.storage(&parts.storage)?, self.big_endian)
    }

    fn storage(&mut self, storage: &Storage<'a>) -> Result<&'a [u8]> {
        let data = match self.storages.get(storage.key) {
            Some(&data) => data,
            None => {
                let data = entry(
                    &mut self.zip,
                    self.bytes,
                    &format!("{}data/{}", self.prefix, storage.key),
                )?;
                self.storages.insert(storage.key, data);
                data
            }
        };
        let elements = data.len() / storage.dtype.size();
        if usize::try_from(storage.elements) != Ok(elements) {
            return fail(format!(
                "its storage {} holds {elements} elements, expected {}: the file is damaged",
                shown(storage.key),
                storage.elements
            ));
        }
        Ok(data)
    }
}

/// The bytes of an entry, its checksum verified, without copying them.
fn entry<'a>(
    zip: &mut ZipArchive<Cursor<&'a [u8]>>,
    bytes: &'a [u8],
    name: &str,
) -> Result<&'a [u8]> {
    let damaged = |e: &dyn std::fmt::Display| {
        Failure(format!(
            "the archive's entry {} cannot be read ({e}): get the file again",
            shown(name)
        ))
    };
    let missing = || damaged(&"it is not there");
    let index = zip.index_for_name(name).ok_or_else(missing)?;
    let header = zip.by_index_data(index).map_err(|e| damaged(&e))?;
    if header.compression() != CompressionMethod::Stored
        || header.size() != header.compressed_size()
    {
        return fail(format!(
            "the archive's entry {} is compressed, which torch.save never does: load it and torch.save it again",
            shown(name)
        ));
    }
    let mut file = zip.by_index(index).map_err(|e| damaged(&e))?;
    let length = std::io::copy(&mut file, &mut std::io::sink()).map_err(|e| damaged(&e))?;
    let range = file.data_start().and_then(|start| {
        let start = usize::try_from(start).ok()?;
        Some(start..start.checked_add(usize::try_from(length).ok()?)?)
    });
    range.and_then(|range| bytes.get(range)).ok_or_else(|| damaged(&"it lies outside the file"))
}
