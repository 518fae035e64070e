//! What a checkpoint says of its own architecture, held against its tensors.

use crate::{Result, fail, shown};
use fianchetto::network::Spec;
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
        let entries = [
            ("channels", spec.channels),
            ("blocks", spec.blocks),
            ("recurrence", spec.recurrence),
            ("gated", usize::from(spec.gate)),
            ("se_width", spec.se_width.unwrap_or(0)),
            ("conv_bias", usize::from(spec.conv_bias)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), (value, "__metadata__")));
        Self { entries: entries.into() }
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
        spec: &Spec,
        asked: Option<usize>,
        notes: &mut Vec<String>,
    ) -> Result<usize> {
        for (key, &(said, place)) in &self.entries {
            let seen = match key.as_str() {
                "input_planes" => spec.encoding.planes(),
                "action_size" => spec.encoding.policy_size(),
                "channels" => spec.channels,
                "blocks" => spec.blocks,
                "gated" | "gate" => usize::from(spec.gate),
                "se" if said <= 1 => usize::from(spec.se_width.is_some()),
                "se" | "se_width" => spec.se_width.unwrap_or(0),
                "conv_bias" => usize::from(spec.conv_bias),
                "recurrence" => continue,
                other => {
                    notes.push(format!(
                        "left out, not understood: {place}.{} = {said}",
                        shown(other)
                    ));
                    continue;
                }
            };
            if said != seen {
                return fail(format!(
                    "{place}.{key} is {said}, but the tensors say {seen}: the checkpoint contradicts itself; correct the one that is wrong"
                ));
            }
        }
        match (asked, self.entries.get("recurrence").copied()) {
            (Some(asked), Some((said, place))) if asked != said => fail(format!(
                "--recurrence is {asked}, but {place}.recurrence is {said}: leave out --recurrence or correct it"
            )),
            (Some(n), _) | (None, Some((n, _))) => Ok(n),
            (None, None) if spec.gate => fail(
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
