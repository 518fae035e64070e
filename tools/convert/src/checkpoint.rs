//! A checkpoint of any accepted kind as named tensors and a configuration.

use crate::config::Config;
use crate::pickle::{Pickle, Value, size};
use crate::rename::Rename;
use crate::tensor::{Dtype, Layout, Tensor};
use crate::torch::Torch;
use crate::{Failure, Result, fail, shown};
use fianchetto::network::Spec;
use safetensors::SafeTensors;
use std::collections::BTreeMap;

/// Where the tensors of a training checkpoint usually lie.
const STATE_DICTS: [&str; 4] = ["network", "state_dict", "model_state_dict", "model"];
/// How deep they may lie; a dict may hold itself.
const DEEPEST: usize = 4;
/// BatchNorm's counter, of no use to a finished network.
const COUNTER: &str = "num_batches_tracked";

/// The contents of a checkpoint.
#[derive(Debug, Default)]
pub struct Checkpoint<'a> {
    /// The tensors, by name.
    pub tensors: BTreeMap<String, Tensor<'a>>,
    /// What the checkpoint says of its architecture.
    pub config: Config,
    /// Where the weights come from, if it says so.
    pub source: Option<String>,
    /// Their licence, if it says so.
    pub licence: Option<String>,
    /// What was found and left out, for people.
    pub notes: Vec<String>,
}

impl<'a> Checkpoint<'a> {
    /// Reads a file of torch.save or a safetensors file.
    ///
    /// # Errors
    /// When it is neither, is damaged, or holds no named tensors.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        match bytes {
            [b'P', b'K', ..] => Self::read_torch(bytes),
            [0x80, 2, 0x8a, 10, ..] => fail(
                "a torch.save file of before PyTorch 1.6, expected the zip form: load it in Python and torch.save it again",
            ),
            [0x80, 2..=5, ..] => {
                fail("a bare Python pickle, expected a torch.save file: save it with torch.save")
            }
            [_, _, _, _, _, _, _, _, b'{', ..] => Self::read_safetensors(bytes),
            _ => fail(format!(
                "{} bytes that are neither a zip archive of torch.save nor a safetensors file: give one of these",
                bytes.len()
            )),
        }
    }

    /// Gives the tensors the names that the user maps them to.
    ///
    /// # Errors
    /// When a rename fits no tensor, or two tensors get the same name.
    pub fn rename(&mut self, renames: &[Rename]) -> Result<()> {
        let mut used = vec![false; renames.len()];
        for (name, tensor) in std::mem::take(&mut self.tensors) {
            let renamed =
                renames.iter().enumerate().find_map(|(i, rename)| Some((i, rename.apply(&name)?)));
            let new = match renamed {
                Some((i, new)) => {
                    used[i] = true;
                    new
                }
                None => name,
            };
            self.insert(new, tensor)?;
        }
        match used.iter().position(|&used| !used) {
            Some(i) => fail(format!(
                "--rename {} fits no tensor; the names are those without what all of them begin with, as `module.`",
                renames[i]
            )),
            None => Ok(()),
        }
    }

    fn insert(&mut self, name: String, tensor: Tensor<'a>) -> Result<()> {
        match self.tensors.insert(name.clone(), tensor) {
            Some(_) => fail(format!("two tensors are called {}: rename one", shown(&name))),
            None => Ok(()),
        }
    }

    fn read_torch(bytes: &'a [u8]) -> Result<Self> {
        let mut torch = Torch::open(bytes)?;
        let mut checkpoint = Self::default();
        let (place, dict) = state_dict(&torch.pickle, &mut checkpoint)?;
        let mut found = BTreeMap::new();
        let mut others = Vec::new();
        for &(key, value) in torch.pickle.dict(dict).unwrap_or_default() {
            match (key, torch.pickle.tensor(value)) {
                (Value::Text(name), Some(parts)) => drop(found.insert(name, *parts)),
                _ => others.push(text(key)),
            }
        }
        if found.is_empty() {
            return fail(format!(
                "no tensors at {place}, which holds {}; expected named tensors there or under `{}`: \
                 torch.save({{\"network\": model.state_dict()}}, ...)",
                if others.is_empty() { "nothing".to_owned() } else { listed(&others) },
                STATE_DICTS.join("`, `"),
            ));
        }
        // The entries of one storage take more than this in the archive.
        if found.len() > bytes.len() / 64 {
            return fail(format!(
                "{} tensors in {} bytes: the file is damaged",
                found.len(),
                bytes.len()
            ));
        }
        let total = found.len();
        found.retain(|name, _| !is_counter(name));
        checkpoint.notes.push(format!(
            "{total} tensors at {place}, {} of them `{COUNTER}`, left out",
            total - found.len()
        ));
        if !others.is_empty() {
            checkpoint.notes.push(format!("left out at {place}: {}", listed(&others)));
        }
        for (name, parts) in found {
            let tensor = torch
                .tensor(&parts)
                .map_err(|e| Failure(format!("tensor {}: {e}", shown(name))))?;
            checkpoint.insert(name.to_owned(), tensor)?;
        }
        checkpoint.unwrap_names();
        Ok(checkpoint)
    }

    /// Takes off the components that all names begin with: what DistributedDataParallel (`module.`),
    /// torch.compile (`_orig_mod.`) or a module around the network put there.
    fn unwrap_names(&mut self) {
        let ends = (self.tensors.first_key_value(), self.tensors.last_key_value());
        let (Some((first, _)), Some((last, _))) = ends else {
            return;
        };
        // What the first and the last name in order share, all share.
        let shared = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
        let Some(dot) = first.as_bytes()[..shared].iter().rposition(|&byte| byte == b'.') else {
            return;
        };
        self.notes.push(format!("all names begin with {}, left out", shown(&first[..=dot])));
        let tensors = std::mem::take(&mut self.tensors).into_iter();
        self.tensors = tensors.map(|(name, tensor)| (name[dot + 1..].to_owned(), tensor)).collect();
    }

    fn read_safetensors(bytes: &'a [u8]) -> Result<Self> {
        let damaged = |e| Failure(format!("the safetensors file is damaged ({e}): get it again"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let mut checkpoint = Self::default();
        if let Some(metadata) = header.metadata() {
            let metadata =
                metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            if let Ok(spec) = Spec::from_metadata(&metadata) {
                checkpoint.config = Config::of_spec(&spec);
                checkpoint.source = Some(spec.source);
                checkpoint.licence = Some(spec.licence);
            }
        }
        for (name, view) in file.iter().filter(|(name, _)| !is_counter(name)) {
            let dtype = match view.dtype() {
                safetensors::Dtype::F16 => Dtype::F16,
                safetensors::Dtype::BF16 => Dtype::BF16,
                safetensors::Dtype::F32 => Dtype::F32,
                safetensors::Dtype::F64 => Dtype::F64,
                other => {
                    return fail(format!(
                        "tensor {} is {other:?}, expected F16, BF16, F32 or F64",
                        shown(name)
                    ));
                }
            };
            let shape = view.shape().to_vec();
            let mut strides = vec![1; shape.len()];
            for d in (1..shape.len()).rev() {
                strides[d - 1] = shape[d].saturating_mul(strides[d]);
            }
            let layout = Layout { dtype, shape, strides, offset: 0 };
            let tensor = Tensor::new(layout, view.data(), false)
                .map_err(|e| Failure(format!("tensor {}: {e}", shown(name))))?;
            checkpoint.insert(name.to_owned(), tensor)?;
        }
        checkpoint
            .notes
            .push(format!("{} tensors in a safetensors file", checkpoint.tensors.len()));
        checkpoint.unwrap_names();
        Ok(checkpoint)
    }
}

const TOP: &str = "the top level";

/// Descends to the dict that holds the tensors; reads the configuration on the way.
fn state_dict<'a>(pickle: &Pickle<'a>, checkpoint: &mut Checkpoint) -> Result<(String, Value<'a>)> {
    let mut place = TOP.to_owned();
    let mut dict = pickle.root();
    if pickle.dict(dict).is_none() {
        return fail(
            "the checkpoint is no dict, expected named tensors: torch.save(model.state_dict(), ...)",
        );
    }
    for _ in 0..DEEPEST {
        for key in Config::KEYS {
            if let Some(config) = pickle.get(dict, key) {
                read_config(pickle, key, config, checkpoint);
            }
        }
        let Some((key, inner)) = inner_dict(pickle, dict, &place)? else {
            break;
        };
        let entries = pickle.dict(dict).unwrap_or_default();
        let keys = entries.iter().map(|(key, _)| text(*key));
        let others: Vec<&str> =
            keys.filter(|other| *other != key && !Config::KEYS.contains(other)).collect();
        if !others.is_empty() {
            checkpoint.notes.push(format!("left out at {place}: {}", listed(&others)));
        }
        place = format!("`{}`", shown(key));
        dict = inner;
    }
    Ok((place, dict))
}

/// The entry of `dict` to descend into: one of the usual name or, where no tensors lie in `dict` itself, the only
/// one that has tensors.
///
/// # Errors
/// When there are several.
fn inner_dict<'a>(
    pickle: &Pickle<'a>,
    dict: Value<'a>,
    place: &str,
) -> Result<Option<(&'a str, Value<'a>)>> {
    let mut found: Vec<(&str, Value)> = STATE_DICTS
        .iter()
        .filter_map(|key| Some((*key, pickle.get(dict, key)?)))
        .filter(|(_, value)| pickle.dict(*value).is_some())
        .collect();
    let has_tensors = |value| {
        let entries = pickle.dict(value).unwrap_or_default();
        entries.iter().any(|(_, value)| pickle.tensor(*value).is_some())
    };
    if found.is_empty() && !has_tensors(dict) {
        // Each one once, however many names it has, so that the time stays in proportion to the file.
        let parts: BTreeMap<usize, &str> = pickle
            .dict(dict)
            .unwrap_or_default()
            .iter()
            .filter_map(|(key, value)| match (key, value) {
                (Value::Text(key), Value::Node(part)) => Some((*part, *key)),
                _ => None,
            })
            .collect();
        let parts = parts.into_iter().map(|(part, key)| (key, Value::Node(part)));
        found = parts.filter(|(_, part)| has_tensors(*part)).collect();
    }
    match found[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        ref several => {
            let keys: Vec<&str> = several.iter().map(|(key, _)| *key).collect();
            fail(format!(
                "several dicts at {place} may hold the network: {}; expected one of them: save only the one to convert",
                listed(&keys)
            ))
        }
    }
}

fn read_config(pickle: &Pickle, place: &'static str, config: Value, checkpoint: &mut Checkpoint) {
    let Some(entries) = pickle.dict(config) else {
        checkpoint.notes.push(format!("left out: {place}, no dict"));
        return;
    };
    for (key, value) in entries {
        let number = match value {
            Value::Bool(switch) => Some(usize::from(*switch)),
            other => size(other),
        };
        match (key, number) {
            (Value::Text(key), Some(number)) => checkpoint.config.set(place, key, number),
            (Value::Text(key), None) => {
                checkpoint.notes.push(format!("left out: {place}.{}, no number", shown(key)));
            }
            _ => {}
        }
    }
}

fn is_counter(name: &str) -> bool {
    name.rsplit('.').next() == Some(COUNTER)
}

/// A key as text.
fn text<'a>(key: Value<'a>) -> &'a str {
    match key {
        Value::Text(text) => text,
        _ => "(no text)",
    }
}

/// Names as they may be shown, not too many of them.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 20;
    let mut text = names.iter().take(MOST).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(&format!(" and {} more", names.len() - MOST));
    }
    text
}
