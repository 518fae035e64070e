//! The name map of the command line.

use std::fmt;
use std::str::FromStr;

/// `FROM=TO`: a name, or everything under a dotted prefix, gets another one.
///
/// A `*` stands for one dotted component; those of TO take what those of FROM met, in order.
/// `tower.*.squeeze=tower.*.se` turns `tower.3.squeeze.fc1.weight` into `tower.3.se.fc1.weight`;
/// `net.=` drops a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    from: Vec<String>,
    to: Vec<String>,
}

impl Rename {
    /// The new name, where this map fits the name.
    pub fn apply(&self, name: &str) -> Option<String> {
        let mut rest = name.split('.');
        let mut met = Vec::new();
        for part in &self.from {
            let component = rest.next()?;
            if part == "*" {
                met.push(component);
            } else if part != component {
                return None;
            }
        }
        let mut met = met.into_iter();
        let head =
            self.to.iter().map(|part| if part == "*" { met.next().unwrap_or("*") } else { part });
        Some(head.chain(rest).collect::<Vec<_>>().join("."))
    }
}

impl FromStr for Rename {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, to)) = text.split_once('=') else {
            return Err("expected FROM=TO".to_owned());
        };
        let parts = |side: &str| -> Vec<String> {
            side.trim_end_matches('.')
                .split('.')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let rename = Self { from: parts(from), to: parts(to) };
        let stars = |side: &[String]| side.iter().filter(|part| *part == "*").count();
        if rename.from.is_empty() {
            return Err("expected a name before the `=`".to_owned());
        }
        if stars(&rename.from) != stars(&rename.to) {
            return Err("expected as many `*` on both sides".to_owned());
        }
        Ok(rename)
    }
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from.join("."), self.to.join("."))
    }
}
