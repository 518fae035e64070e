//! The parts that a network has, with their shapes in terms of its sizes.

use fianchetto::encoding::Encoding;
use std::collections::{BTreeMap, BTreeSet};

/// What the parts outside the blocks, and the blocks, are called in the weights file, and in the published
/// checkpoints of Sigma-Go.
const NAMES: [[&str; 2]; 9] = [
    ["stem", "conv_input"],
    ["tower", "res_tower"],
    ["policy_conv", "policy_head.0"],
    ["policy_bn", "policy_head.1"],
    ["policy_fc", "policy_head.4"],
    ["value_conv", "value_head.0"],
    ["value_bn", "value_head.1"],
    ["value_fc1", "value_head.4"],
    ["value_fc2", "value_head.6"],
];

/// The names that a checkpoint uses: a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names(usize);

impl Names {
    /// Those of which most are among the modules, the weights file's own in a tie.
    pub fn among<'a>(modules: impl Iterator<Item = &'a str> + Clone) -> Self {
        let found = |column: usize| {
            let is_there = |row: &&[&str; 2]| {
                modules.clone().any(|module| rest(module, row[column]).is_some())
            };
            NAMES.iter().filter(is_there).count()
        };
        Self(if found(1) > found(0) { 1 } else { 0 })
    }

    /// What a module of the weights file is called.
    pub fn of(self, module: &str) -> String {
        let renamed = NAMES.iter().find_map(|row| Some((row[self.0], rest(module, row[0])?)));
        renamed.map_or_else(|| module.to_owned(), |(name, rest)| format!("{name}{rest}"))
    }

    /// The block that a module lies in.
    pub fn block(self, module: &str) -> Option<usize> {
        let rest = rest(module, &self.of("tower"))?.strip_prefix('.')?;
        rest.split('.').next()?.parse().ok()
    }
}

/// What follows the first dotted components of a name.
fn rest<'a>(name: &'a str, first: &str) -> Option<&'a str> {
    name.strip_prefix(first).filter(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A size that is not known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Var {
    Channels,
    SeWidth,
    PolicyChannels,
    ValueChannels,
    ValueHidden,
    Filters,
    Hidden,
}

impl Var {
    fn name(self) -> &'static str {
        match self {
            Self::Channels => "channels",
            Self::SeWidth => "se_width",
            Self::PolicyChannels => "policy_channels",
            Self::ValueChannels => "value_channels",
            Self::ValueHidden => "value_hidden",
            Self::Filters => "filters",
            Self::Hidden => "hidden",
        }
    }
}

/// One dimension of an expected shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// This number.
    Is(usize),
    /// So many times a size.
    Times(usize, Var),
}

/// Why a tensor is not the part that its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A number that every supported network has is another one.
    Architecture,
    /// Squeeze-and-excitation without offsets.
    ScaleOnly,
    /// The sizes contradict those that other tensors have shown, in words.
    Sizes(String),
}

/// The sizes known so far, each with the tensor that showed it.
#[derive(Clone, Debug, Default)]
pub struct Sizes(BTreeMap<Var, (usize, String)>);

impl Sizes {
    /// The size, if known.
    pub fn get(&self, var: Var) -> Option<usize> {
        self.0.get(&var).map(|(size, _)| *size)
    }

    /// Learns from a tensor of this shape. 1x1 convolutions and linear layers are one thing here.
    ///
    /// # Errors
    /// When it does not fit what is known.
    pub fn fit(&mut self, dims: &[Dim], shape: &[usize], name: &str) -> Result<(), Misfit> {
        let flat = match shape {
            [out, inputs, 1, 1] => &[*out, *inputs][..],
            other => other,
        };
        let two_c = Dim::Times(2, Var::Channels);
        let channels = self.get(Var::Channels);
        if dims.first() == Some(&two_c) && channels.is_some() && channels == flat.first().copied() {
            return Err(Misfit::ScaleOnly);
        }
        let known = |(&found, dim): (&usize, &Dim)| match *dim {
            Dim::Is(n) => found == n,
            Dim::Times(factor, _) => found % factor == 0,
        };
        if flat.len() != dims.len() || !flat.iter().zip(dims).all(known) {
            return Err(Misfit::Architecture);
        }
        let mut sizes = self.clone();
        let fits = flat.iter().zip(dims).all(|(&found, dim)| match *dim {
            Dim::Is(_) => true,
            Dim::Times(factor, var) => {
                let size = found / factor;
                sizes.0.entry(var).or_insert((size, name.to_owned())).0 == size
            }
        });
        if !fits {
            return Err(Misfit::Sizes(sizes.origins(dims)));
        }
        *self = sizes;
        Ok(())
    }

    /// The shape with the sizes that are known, `[64, 2 * se_width]`.
    pub fn show(&self, dims: &[Dim]) -> String {
        let dims = dims.iter().map(|dim| match *dim {
            Dim::Is(n) => n.to_string(),
            Dim::Times(factor, var) => match (self.get(var), factor) {
                (Some(size), _) => factor.saturating_mul(size).to_string(),
                (None, 1) => var.name().to_owned(),
                (None, _) => format!("{factor} * {}", var.name()),
            },
        });
        format!("[{}]", dims.collect::<Vec<_>>().join(", "))
    }

    /// Where the sizes come from: `channels = 64 by stem.0.weight`.
    fn origins(&self, dims: &[Dim]) -> String {
        let vars: BTreeSet<Var> = dims
            .iter()
            .filter_map(|dim| match *dim {
                Dim::Is(_) => None,
                Dim::Times(_, var) => Some(var),
            })
            .collect();
        let origin = |var: Var| {
            let (size, from) = self.0.get(&var)?;
            Some(format!("{} = {size} by {from}", var.name()))
        };
        vars.into_iter().filter_map(origin).collect::<Vec<_>>().join(", ")
    }
}

/// One module of a network.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name in the weights file.
    pub name: String,
    /// Its name in the checkpoint, by the names used there.
    pub given: String,
    /// The block it belongs to; `None` outside the tower.
    pub block: Option<usize>,
    /// The feature that it is part of, where networks may do without: `gate` or `se`.
    pub optional: Option<&'static str>,
    /// What its shape cannot show about the order of its inputs or outputs.
    pub order: Option<&'static str>,
    /// Its tensors; 1x1 convolutions as `[out, in]`.
    pub parts: Vec<(&'static str, Vec<Dim>)>,
    /// The checkpoint's name of each tensor found.
    pub filled: BTreeMap<&'static str, String>,
}

impl Slot {
    fn new(name: impl Into<String>, parts: Vec<(&'static str, Vec<Dim>)>) -> Self {
        let name = name.into();
        Self {
            given: name.clone(),
            name,
            block: None,
            optional: None,
            order: None,
            parts,
            filled: BTreeMap::new(),
        }
    }

    fn convolution(name: impl Into<String>, weight: Vec<Dim>, bias: bool) -> Self {
        let channels = weight[0];
        let mut parts = vec![("weight", weight)];
        parts.extend(bias.then(|| ("bias", vec![channels])));
        Self::new(name, parts)
    }

    fn linear(name: impl Into<String>, outputs: Dim, inputs: Dim) -> Self {
        Self::new(name, vec![("weight", vec![outputs, inputs]), ("bias", vec![outputs])])
    }

    fn batch_norm(name: impl Into<String>, channels: Dim) -> Self {
        let parts = ["weight", "bias", "running_mean", "running_var"];
        Self::new(name, parts.map(|part| (part, vec![channels])).into())
    }

    fn inside(self, block: usize) -> Self {
        Self { block: Some(block), ..self }
    }

    fn part_of(self, feature: &'static str) -> Self {
        Self { optional: Some(feature), ..self }
    }

    fn in_order(self, order: &'static str) -> Self {
        Self { order: Some(order), ..self }
    }
}

/// The parts of a residual network with so many blocks, in the order of the forward pass; `conv_bias` says whether
/// the convolutions before a BatchNorm have biases.
pub fn residual(names: Names, encoding: Encoding, blocks: usize, conv_bias: bool) -> Vec<Slot> {
    use Dim::{Is, Times};
    let c = Times(1, Var::Channels);
    let (w, p, v, h) = (
        Times(1, Var::SeWidth),
        Times(1, Var::PolicyChannels),
        Times(1, Var::ValueChannels),
        Times(1, Var::ValueHidden),
    );
    let two_c = Times(2, Var::Channels);

    let mut slots = vec![
        Slot::convolution("stem.0", vec![c, Is(encoding.planes()), Is(3), Is(3)], conv_bias),
        Slot::batch_norm("stem.1", c),
    ];
    for i in 0..blocks {
        for n in 1..=2 {
            let weight = vec![c, c, Is(3), Is(3)];
            slots
                .push(Slot::convolution(format!("tower.{i}.conv{n}"), weight, conv_bias).inside(i));
            slots.push(Slot::batch_norm(format!("tower.{i}.bn{n}"), c).inside(i));
        }
        slots.push(Slot::linear(format!("tower.{i}.se.fc1"), w, c).inside(i).part_of("se"));
        slots.push(
            Slot::linear(format!("tower.{i}.se.fc2"), two_c, w)
                .inside(i)
                .part_of("se")
                .in_order("the first half of the outputs scales, the second is added"),
        );
    }
    slots.extend([
        Slot::linear("gate", c, two_c).part_of("gate").in_order(
            "the first half of the inputs is the candidate, the second the previous state",
        ),
        Slot::convolution("policy_conv", vec![p, c], conv_bias),
        Slot::batch_norm("policy_bn", p),
        Slot::linear("policy_fc", Is(encoding.policy_size()), Times(64, Var::PolicyChannels)),
        Slot::convolution("value_conv", vec![v, c], conv_bias),
        Slot::batch_norm("value_bn", v),
        Slot::linear("value_fc1", h, Times(64, Var::ValueChannels)),
        Slot::linear("value_fc2", Is(1), h),
    ]);
    for slot in &mut slots {
        slot.given = names.of(&slot.name);
    }
    slots
}

/// The parts of a pair of networks that score squares.
pub fn square_pair(encoding: Encoding) -> Vec<Slot> {
    use Dim::{Is, Times};
    let (f, h) = (Times(1, Var::Filters), Times(1, Var::Hidden));
    let convolution = |name, inputs| Slot::convolution(name, vec![f, inputs, Is(2), Is(2)], true);
    let network = |network: &str| {
        [
            convolution(format!("{network}.conv1"), Is(encoding.planes())),
            convolution(format!("{network}.conv2"), f),
            Slot::linear(format!("{network}.fc1"), h, Times(36, Var::Filters)),
            Slot::linear(format!("{network}.fc2"), h, h),
            Slot::linear(format!("{network}.fc3"), Is(64), h),
        ]
    };
    ["origin", "target"].into_iter().flat_map(network).collect()
}
