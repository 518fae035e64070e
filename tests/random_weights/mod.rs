//! Networks with random weights from a formula: the twin of `tests/golden/random_weights.py`, so that
//! golden outputs need no weights beside them.

use fianchetto::encoding::Encoding;
use fianchetto::network::spec::{Int8, Numbers, Residual, SquarePair};
use fianchetto::network::{Architecture, Spec};
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::collections::HashMap;

/// A tensor as it lies in a file: name, type, shape, little-endian values.
pub type Stored = (String, Dtype, Vec<usize>, Vec<u8>);

/// A network with every kind of layer, as small as its policy layer allows.
#[allow(dead_code)] // Not every test that uses this module needs it.
pub fn small() -> Spec {
    residual(Encoding::Canonical19, small_sizes())
}

/// The same in bytes.
#[allow(dead_code)] // As above.
pub fn int8() -> Spec {
    residual(Encoding::Canonical19, Residual { int8: Int8::TowerAndPolicy, ..small_sizes() })
}

/// Its sizes.
#[allow(dead_code)] // As above.
pub fn small_sizes() -> Residual {
    Residual {
        channels: 4,
        blocks: 2,
        recurrence: 2,
        gate: true,
        se_width: Some(2),
        conv_bias: false,
        policy_channels: 1,
        value_channels: 1,
        value_hidden: 4,
        int8: Int8::Nothing,
    }
}

/// A residual network of these sizes.
#[allow(dead_code)] // As above.
pub fn residual(encoding: Encoding, sizes: Residual) -> Spec {
    spec(encoding, Architecture::Residual(sizes))
}

/// The published size of Sigma-Go: 256 x 10, whose convolutions have biases.
#[allow(dead_code)] // As above.
pub fn sigma_go() -> Spec {
    let sizes = Residual {
        channels: 256,
        blocks: 10,
        recurrence: 1,
        gate: false,
        se_width: None,
        conv_bias: true,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 256,
        int8: Int8::Nothing,
    };
    residual(Encoding::Absolute14, sizes)
}

/// A pair of square networks of these sizes.
#[allow(dead_code)] // As above.
pub fn pair(filters: usize, hidden: usize) -> Spec {
    spec(Encoding::Canonical12, Architecture::SquarePair(SquarePair { filters, hidden }))
}

#[allow(dead_code)] // As above.
fn spec(encoding: Encoding, architecture: Architecture) -> Spec {
    Spec { encoding, architecture, source: "a test".into(), licence: "none".into() }
}

/// The tensors of an architecture: name, shape, values.
#[allow(dead_code)] // As above.
pub fn tensors(spec: &Spec, seed: u64) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    spec.stored()
        .map(|(name, shape, kind)| {
            let values = values(&name, &shape, kind, seed);
            (name, shape, values)
        })
        .collect()
}

/// The same as they lie in a file, as F32 and, where they are bytes, I8.
pub fn stored(spec: &Spec, seed: u64) -> Vec<Stored> {
    let store = |(name, shape, kind): (String, Vec<usize>, Numbers)| {
        let values = values(&name, &shape, kind, seed).into_iter();
        match kind {
            Numbers::Float => {
                (name, Dtype::F32, shape, values.flat_map(f32::to_le_bytes).collect())
            }
            Numbers::Int8 => (name, Dtype::I8, shape, values.map(|x| x as i8 as u8).collect()),
        }
    };
    spec.stored().map(store).collect()
}

/// A weights file, stored as F32.
pub fn file(spec: &Spec, seed: u64) -> Vec<u8> {
    safetensors_file(spec.to_metadata(), &stored(spec, seed))
}

/// A safetensors file with the given metadata and tensors.
pub fn safetensors_file(metadata: HashMap<String, String>, tensors: &[Stored]) -> Vec<u8> {
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        (name, TensorView::new(*dtype, shape.clone(), bytes).unwrap())
    });
    serialize(views, Some(metadata.into_iter().collect())).unwrap()
}

fn values(name: &str, shape: &[usize], kind: Numbers, seed: u64) -> Vec<f32> {
    let (low, high) = match kind {
        Numbers::Float => range(name, shape),
        Numbers::Int8 => (-127.0, 128.0),
    };
    let start = fnv1a(name) ^ seed;
    (0..shape.iter().product::<usize>() as u64)
        .map(|i| {
            let bits = split_mix(start.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let unit = (bits >> 40) as f64 / f64::from(1 << 24);
            let value = low + (high - low) * unit;
            if kind == Numbers::Int8 { value.floor() as f32 } else { value as f32 }
        })
        .collect()
}

fn range(name: &str, shape: &[usize]) -> (f64, f64) {
    match shape {
        [_] if name.ends_with("running_var") => (0.5, 2.0),
        [_] if name.ends_with(".input_scale") => (0.01, 0.03),
        [_] if name == "policy_fc.scale" => (0.0005, 0.002),
        [channels] if name.ends_with(".scale") => {
            // As the weights of a plain network, for bytes that are inputs divided by 0.02.
            let middle = 0.02 / 127.0 * (1.0 / (3.0 * *channels as f64)).sqrt();
            (0.5 * middle, 1.5 * middle)
        }
        [_] if name.ends_with("running_mean") => (-0.5, 0.5),
        [_] if name.ends_with("weight") => (0.5, 1.5),
        [_] if name == "gate.bias" => (-2.3, -1.7),
        [_] => (-0.3, 0.3),
        _ => {
            let fan_in: usize = shape[1..].iter().product();
            let limit = (3.0 / fan_in as f64).sqrt();
            (-limit, limit)
        }
    }
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn split_mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A position's planes: random, with whole numbers and fractions of both signs, unlike any chess position.
#[allow(dead_code)] // As above.
pub fn planes(spec: &Spec, position: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(position as u64 + 1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * 2.0
    };
    (0..64 * spec.encoding.planes()).map(|_| next()).collect()
}
