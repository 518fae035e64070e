//! What a checkpoint says of its own architecture, held against its tensors.

use crate::{Result, fail, shown};
use fianchetto::network::{Architecture, Spec};
use std::collections::BTreeMap;

/// Numbers and switches (0 or 1) by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// What is said, and where.
    entries: BTreeMap<String, (usize, &'static str)>,
}

impl Config {
    /// The dicts that may hold it in a checkpoint; where both do, the last one counts.
    pub const KEYS: [&str; 2] = ["config", "network_config"];

    /// The configuration that a weights file stands for.
    pub fn of_spec(spec: &Spec) -> Self {
        let entries = match &spec.architecture {
            Architecture::Residual(sizes) => vec![
                ("channels", sizes.channels),
                ("blocks", sizes.blocks),
                ("recurrence", sizes.recurrence),
                ("gated", usize::from(sizes.gate)),
                ("se_width", sizes.se_width.unwrap_or(0)),
                ("conv_bias", usize::from(sizes.conv_bias)),
            ],
            Architecture::SquarePair(sizes) => {
                vec![("filters", sizes.filters), ("hidden", sizes.hidden)]
            }
        };
        let entries = entries.into_iter();
        let entries = entries.map(|(key, value)| (key.to_owned(), (value, "__metadata__")));
        Self { entries: entries.collect() }
    }

    /// Takes over one entry of the dict called `place`.
    pub fn set(&mut self, place: &'static str, key: &str, value: usize) {
        self.entries.insert(key.to_owned(), (value, place));
    }

    /// Holds every entry against `spec`, which was read off the tensors, and finds the recurrence,
    /// which no tensor shows: `asked` on the command line, or configured, or 1 where there is no gate.
    ///
    /// # Errors
    /// When two sources contradict each other, or a gated network's recurrence is not known.
    pub fn check(
        &self,
        spec: &mut Spec,
        asked: Option<usize>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        for (key, &(said, place)) in &self.entries {
            let Some(seen) = seen(spec, key, said) else {
                if key != RECURRENCE {
                    let key = shown(key);
                    notes.push(format!("left out, not understood: {place}.{key} = {said}"));
                }
                continue;
            };
            if said != seen {
                return fail(format!(
                    "{place}.{key} is {said}, but the tensors say {seen}: the checkpoint contradicts itself; correct the one that is wrong"
                ));
            }
        }
        match &mut spec.architecture {
            Architecture::Residual(sizes) => {
                sizes.recurrence = self.recurrence(sizes.gate, asked, notes)?;
                Ok(())
            }
            Architecture::SquarePair(_) if asked.is_some() => fail(
                "--recurrence is for towers, and this is a pair of networks without one: leave it out",
            ),
            Architecture::SquarePair(_) => Ok(()),
        }
    }

    fn recurrence(
        &self,
        gate: bool,
        asked: Option<usize>,
        notes: &mut Vec<String>,
    ) -> Result<usize> {
        match (asked, self.entries.get(RECURRENCE).copied()) {
            (Some(asked), Some((said, place))) if asked != said => fail(format!(
                "--recurrence is {asked}, but {place}.recurrence is {said}: leave out --recurrence or correct it"
            )),
            (Some(n), _) | (None, Some((n, _))) => Ok(n),
            (None, None) if gate => fail(
                "there is a gate, so the tower may be applied more than once, but nothing says how often: give --recurrence N, \
                 or save it with the network, {\"network\": ..., \"network_config\": {\"recurrence\": N}} (or `config`)",
            ),
            (None, None) => {
                notes.push(
                    "nothing says how often the tower is applied: taken as once; if it is more, give --recurrence N"
                        .to_owned(),
                );
                Ok(1)
            }
        }
    }
}

/// The one size that no tensor shows.
const RECURRENCE: &str = "recurrence";

/// What the tensors say about an entry of this name, `None` where they say nothing.
fn seen(spec: &Spec, key: &str, said: usize) -> Option<usize> {
    Some(match (key, &spec.architecture) {
        ("input_planes", _) => spec.encoding.planes(),
        ("action_size", _) => spec.encoding.policy_size(),
        ("channels", Architecture::Residual(sizes)) => sizes.channels,
        ("blocks", Architecture::Residual(sizes)) => sizes.blocks,
        ("gated" | "gate", Architecture::Residual(sizes)) => usize::from(sizes.gate),
        ("se", Architecture::Residual(sizes)) if said <= 1 => usize::from(sizes.se_width.is_some()),
        ("se" | "se_width", Architecture::Residual(sizes)) => sizes.se_width.unwrap_or(0),
        ("conv_bias", Architecture::Residual(sizes)) => usize::from(sizes.conv_bias),
        ("filters", Architecture::SquarePair(sizes)) => sizes.filters,
        ("hidden", Architecture::SquarePair(sizes)) => sizes.hidden,
        _ => return None,
    })
}
