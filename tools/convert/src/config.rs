//! What a checkpoint says of its own architecture, held against its tensors.

use crate::{Result, fail, shown};
use fianchetto::network::Spec;
use std::collections::BTreeMap;

/// Numbers and switches (0 or 1) by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    place: &'static str,
    entries: BTreeMap<String, usize>,
}

impl Config {
    /// The dict that holds it in a checkpoint.
    pub const KEY: &str = "network_config";

    /// The configuration that a weights file stands for.
    pub fn of_spec(spec: &Spec) -> Self {
        let entries = [
            ("channels", spec.channels),
            ("blocks", spec.blocks),
            ("recurrence", spec.recurrence),
            ("gated", usize::from(spec.gate)),
            ("se_width", spec.se_width.unwrap_or(0)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        Self { place: "__metadata__", entries }
    }

    /// Takes over one entry of [`Config::KEY`].
    pub fn set(&mut self, key: &str, value: usize) {
        self.place = Self::KEY;
        self.entries.insert(key.to_owned(), value);
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
        for (key, &said) in &self.entries {
            let seen = match key.as_str() {
                "input_planes" => spec.encoding.planes(),
                "action_size" => spec.encoding.policy_size(),
                "channels" => spec.channels,
                "blocks" => spec.blocks,
                "gated" | "gate" => usize::from(spec.gate),
                "se" if said <= 1 => usize::from(spec.se_width.is_some()),
                "se" | "se_width" => spec.se_width.unwrap_or(0),
                "recurrence" => continue,
                other => {
                    notes.push(format!(
                        "left out, not understood: {}.{} = {said}",
                        self.place,
                        shown(other)
                    ));
                    continue;
                }
            };
            if said != seen {
                return fail(format!(
                    "{}.{key} is {said}, but the tensors say {seen}: the checkpoint contradicts itself; correct the one that is wrong",
                    self.place
                ));
            }
        }
        match (asked, self.entries.get("recurrence").copied()) {
            (Some(asked), Some(said)) if asked != said => fail(format!(
                "--recurrence is {asked}, but {}.recurrence is {said}: leave out --recurrence or correct it",
                self.place
            )),
            (Some(n), _) | (None, Some(n)) => Ok(n),
            (None, None) if spec.gate => fail(
                "there is a gate, so the tower may be applied more than once, but nothing says how often: give --recurrence N",
            ),
            (None, None) => Ok(1),
        }
    }
}
