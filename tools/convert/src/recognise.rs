//! Which tensor is which part of the network.
//!
//! The expected parts are slots with shapes in terms of a few sizes (channels, widths). Modules
//! with the expected name fill their slot and so fix those sizes. A module with another name goes
//! to the one open slot of its place (its block, or outside the tower) that its tensors fit; where
//! several fit, that is an error, never a guess.

use crate::slots::{self, Misfit, Names, Sizes, Slot, Var};
use crate::tensor::Tensor;
use crate::{Failure, Result, fail, shown};
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::{Int8, Residual, SquarePair};
use fianchetto::network::{Architecture, Spec};
use std::collections::BTreeMap;

/// A network whose parts are all found.
#[derive(Clone, Debug)]
pub struct Network {
    /// What the tensors show; the recurrence and the texts are not for tensors to say.
    pub spec: Spec,
    /// The checkpoint's name for each tensor of the weights file.
    pub names: BTreeMap<String, String>,
    /// The placements by shape and role, for people.
    pub notes: Vec<String>,
}

/// The tensors of one module: the last component of each name, and the shape.
type Module<'a> = BTreeMap<&'a str, &'a [usize]>;

/// Finds every part of a network among `tensors`.
///
/// # Errors
/// When a tensor cannot be placed, could be placed twice, has the wrong shape, or a part is missing.
pub fn recognise(tensors: &BTreeMap<String, Tensor>) -> Result<Network> {
    let mut modules: BTreeMap<&str, Module> = BTreeMap::new();
    for (name, tensor) in tensors {
        let (module, part) = name.rsplit_once('.').unwrap_or((name, ""));
        modules.entry(module).or_default().insert(part, tensor.shape());
    }
    let names = Names::among(modules.keys().copied());
    // No other network has 2x2 convolutions.
    let is_pair = tensors.values().any(|tensor| matches!(tensor.shape(), [_, _, 2, 2]));
    let first = if is_pair { "origin.conv1".to_owned() } else { names.of("stem.0") };
    let encoding = encoding(modules.get(&*first)).unwrap_or(match is_pair {
        true => Encoding::Canonical12,
        false => Encoding::Canonical19,
    });
    // A block has ten tensors or more, so a higher number than that is not a block's.
    let blocks =
        modules.keys().filter_map(|name| names.block(name)).filter(|&i| i < tensors.len() / 10);
    let blocks = blocks.max().map_or(0, |last| last + 1);
    let conv_bias = modules.values().any(|module| {
        module.contains_key("bias") && matches!(module.get("weight"), Some([_, _, 3, 3]))
    });
    let slots = match is_pair {
        true => slots::square_pair(encoding),
        false => slots::residual(names, encoding, blocks, conv_bias),
    };

    let mut board = Board { names, slots, sizes: Sizes::default(), notes: Vec::new() };
    board.place_by_name(&mut modules)?;
    board.place_by_shape(&mut modules)?;
    board.check(&modules)?;
    let size = |var| board.sizes.get(var).unwrap_or(0);
    let architecture = match is_pair {
        true => Architecture::SquarePair(SquarePair {
            filters: size(Var::Filters),
            hidden: size(Var::Hidden),
        }),
        false => Architecture::Residual(Residual {
            channels: size(Var::Channels),
            blocks,
            recurrence: 1,
            gate: board.has("gate"),
            se_width: board.has("se").then(|| size(Var::SeWidth)),
            conv_bias,
            policy_channels: size(Var::PolicyChannels),
            value_channels: size(Var::ValueChannels),
            value_hidden: size(Var::ValueHidden),
            int8: Int8::Nothing,
        }),
    };
    let spec = Spec { encoding, architecture, source: String::new(), licence: String::new() };
    Ok(Network { spec, names: board.filled(), notes: board.notes })
}

/// The encoding with as many planes as the first convolution reads.
fn encoding(first: Option<&Module>) -> Option<Encoding> {
    let planes = first?.get("weight")?.get(1)?;
    Encoding::ALL.into_iter().find(|encoding| encoding.planes() == *planes)
}

/// The end of a sentence on a tensor that does not have the expected shape.
fn explain(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Architecture => {
            let supported = Encoding::ALL.map(|encoding| {
                let (planes, logits) = (encoding.planes(), encoding.policy_size());
                format!(
                    "{} ({planes} input planes, {logits} policy logits, one value)",
                    encoding.name()
                )
            });
            format!(
                ": another architecture than the supported ones, {}, or a pair of networks with two 2x2 convolutions \
                 that score 64 squares each",
                supported.join(", ")
            )
        }
        Misfit::ScaleOnly => {
            ": squeeze-and-excitation is supported with a scale and an offset for each channel \
             (2 * channels outputs), not with scales alone"
                .to_owned()
        }
        Misfit::Sizes(origins) => format!(", {origins}: the tensors contradict each other"),
    }
}

/// The slots, and what is known while they fill.
struct Board {
    names: Names,
    slots: Vec<Slot>,
    sizes: Sizes,
    notes: Vec<String>,
}

impl Board {
    fn place_by_name(&mut self, modules: &mut BTreeMap<&str, Module>) -> Result<()> {
        for slot in &mut self.slots {
            let Some(module) = modules.get_mut(slot.given.as_str()) else {
                continue;
            };
            for (part, dims) in &slot.parts {
                let Some(shape) = module.remove(part) else {
                    continue;
                };
                let name = format!("{}.{part}", slot.given);
                self.sizes.fit(dims, shape, &name).map_err(|misfit| {
                    let expected = self.sizes.show(dims);
                    let reason = explain(&misfit);
                    Failure(format!("{name} is {shape:?}, expected {expected}{reason}"))
                })?;
                slot.filled.insert(part, name);
            }
            if module.is_empty() {
                modules.remove(slot.given.as_str());
            }
        }
        Ok(())
    }

    fn place_by_shape(&mut self, modules: &mut BTreeMap<&str, Module>) -> Result<()> {
        loop {
            let mut ambiguous = Vec::new();
            let mut forced: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for (&name, module) in &*modules {
                match self.candidates(name, module)[..] {
                    [] => {}
                    [only] => forced.entry(only).or_default().push(name),
                    ref several => {
                        let several: Vec<&str> =
                            several.iter().map(|&i| self.slots[i].given.as_str()).collect();
                        ambiguous.push(format!("{} may be {}", shown(name), several.join(" or ")));
                    }
                }
            }
            for (&slot, names) in forced.iter().filter(|(_, names)| names.len() > 1) {
                let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
                ambiguous.push(format!("{} may be {}", self.slots[slot].given, names.join(" or ")));
            }
            forced.retain(|_, names| names.len() == 1);
            if forced.is_empty() {
                return match ambiguous.is_empty() {
                    true => Ok(()),
                    false => fail(format!(
                        "ambiguous: {}; say which with --rename FROM=TO",
                        ambiguous.join("; ")
                    )),
                };
            }
            for (slot, names) in forced {
                let name = names[0];
                let Some(sizes) = self.fits(&self.slots[slot], &modules[name]) else {
                    continue;
                };
                self.sizes = sizes;
                let Some(module) = modules.remove(name) else {
                    continue;
                };
                self.fill(slot, name, &module);
            }
        }
    }

    /// The open slots in the module's place that it fits.
    fn candidates(&self, name: &str, module: &Module) -> Vec<usize> {
        let place = self.names.block(name);
        let open = |slot: &Slot| slot.filled.is_empty() && slot.block == place;
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| open(slot) && self.fits(slot, module).is_some())
            .map(|(i, _)| i)
            .collect()
    }

    /// The sizes if the module were to fill the slot, `None` if it cannot.
    fn fits(&self, slot: &Slot, module: &Module) -> Option<Sizes> {
        let mut sizes = self.sizes.clone();
        if module.len() != slot.parts.len() {
            return None;
        }
        for (part, dims) in &slot.parts {
            sizes.fit(dims, module.get(part)?, &slot.given).ok()?;
        }
        Some(sizes)
    }

    fn fill(&mut self, slot: usize, name: &str, module: &Module) {
        let slot = &mut self.slots[slot];
        let parts: Vec<String> =
            module.iter().map(|(part, shape)| format!("{part} {shape:?}")).collect();
        let order = slot.order.map(|order| format!("; taken: {order}")).unwrap_or_default();
        self.notes.push(format!(
            "placed by shape and role: {} as {} ({}{order})",
            shown(name),
            slot.given,
            parts.join(", ")
        ));
        for part in module.keys() {
            if let Some((part, _)) = slot.parts.iter().find(|(p, _)| p == part) {
                slot.filled.insert(part, format!("{name}.{part}"));
            }
        }
    }

    /// Whether any part of this feature is there.
    fn has(&self, feature: &str) -> bool {
        let part_of = |slot: &&Slot| slot.optional == Some(feature);
        self.slots.iter().filter(part_of).any(|slot| !slot.filled.is_empty())
    }

    /// Whether all is placed and nothing is missing.
    fn check(&self, rest: &BTreeMap<&str, Module>) -> Result<()> {
        let needed = |slot: &Slot| slot.optional.is_none_or(|feature| self.has(feature));
        let unplaced: Vec<String> = rest
            .iter()
            .flat_map(|(name, module)| module.iter().map(move |(part, shape)| (name, part, shape)))
            .map(|(name, part, shape)| match part.is_empty() {
                true => format!("{} {shape:?}", shown(name)),
                false => format!("{}.{} {shape:?}", shown(name), shown(part)),
            })
            .collect();
        let parts = |wanted: &dyn Fn(&Slot) -> bool| -> Vec<String> {
            let slots = self.slots.iter().filter(|slot| wanted(slot));
            slots
                .flat_map(|slot| slot.parts.iter().map(move |part| (slot, part)))
                .filter(|(slot, (part, _))| !slot.filled.contains_key(part))
                .map(|(slot, (part, dims))| {
                    format!("{}.{part} {}", slot.given, self.sizes.show(dims))
                })
                .collect()
        };
        let missing = parts(&needed);
        if !unplaced.is_empty() {
            let tower = self.names.of("tower");
            let or_none = |list: Vec<String>| {
                if list.is_empty() { "none".to_owned() } else { list.join(", ") }
            };
            return fail(format!(
                "tensors that cannot be placed: {}; parts still unfilled: {}; optional parts unfilled: {}; name them with --rename FROM=TO (the blocks are {tower}.0, {tower}.1, ...)",
                unplaced.join(", "),
                or_none(missing),
                or_none(parts(&|slot| !needed(slot))),
            ));
        }
        if !missing.is_empty() {
            return fail(format!(
                "missing: {}; expected all parts of a network: save its whole state_dict()",
                missing.join(", ")
            ));
        }
        Ok(())
    }

    /// The checkpoint's name for each tensor of the weights file.
    fn filled(&self) -> BTreeMap<String, String> {
        let of = |slot: &Slot| -> Vec<(String, String)> {
            let filled = slot.filled.iter();
            filled.map(|(part, name)| (format!("{}.{part}", slot.name), name.clone())).collect()
        };
        self.slots.iter().flat_map(of).collect()
    }
}
