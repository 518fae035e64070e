//! By what data is known again.

use fianchetto_prepare::game::spread;

/// A hash of bytes, as 16 digits; against accidents, not against malice.
pub fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> String {
    let add = |hash: u64, byte| spread(hash ^ u64::from(byte)).wrapping_add(1);
    format!("{:016x}", bytes.into_iter().fold(0, add))
}
