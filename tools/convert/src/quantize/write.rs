//! The bytes of the weights file.

use crate::{Failure, Result};
use fianchetto::network::spec::{Int8, Numbers, Residual};
use fianchetto::network::{Architecture, Spec, int8};
use ndarray::{Array1, Array2};
use safetensors::SafeTensors;
use std::collections::BTreeMap;

/// A tensor: type, shape, size of a number, bytes.
type Stored = (String, Vec<usize>, usize, Vec<u8>);

/// The file of a network of bytes: the tower is given, and the policy layer's rows where they are to be bytes; all else is that of the plain file.
///
/// # Errors
/// When the plain file cannot be read.
pub fn file(
    spec: &Spec,
    plain: &[u8],
    tower: &[int8::Convolution],
    policy: Option<&(Array2<i8>, Array1<f32>)>,
) -> Result<Vec<u8>> {
    let Architecture::Residual(sizes) = &spec.architecture else {
        return crate::fail("a pair that scores squares has no tower: leave --quantize out");
    };
    let int8 = if policy.is_some() { Int8::TowerAndPolicy } else { Int8::Tower };
    let architecture = Architecture::Residual(Residual { int8, ..sizes.clone() });
    let spec = Spec { architecture, ..spec.clone() };
    let plain = SafeTensors::deserialize(plain).map_err(|e| Failure(e.to_string()))?;

    let mut new: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (i, convolution) in tower.iter().enumerate() {
        let name = |part: &str| format!("tower.{}.conv{}.{part}", i / 2, 1 + i % 2);
        new.insert(name("weight"), convolution.weight.iter().map(|&x| x as u8).collect());
        new.insert(name("scale"), floats(&convolution.scale));
        new.insert(name("bias"), floats(&convolution.bias));
        new.insert(name("input_scale"), floats(&convolution.input_scale));
    }
    if let Some((rows, scales)) = policy {
        new.insert("policy_fc.weight".to_owned(), rows.iter().map(|&x| x as u8).collect());
        new.insert("policy_fc.scale".to_owned(), floats(scales));
    }

    let mut tensors: BTreeMap<String, Stored> = BTreeMap::new();
    for (name, shape, kind) in spec.stored() {
        let stored = match (new.remove(&name), kind) {
            (Some(bytes), Numbers::Int8) => ("I8".to_owned(), shape, 1, bytes),
            (Some(bytes), Numbers::Float) => ("F32".to_owned(), shape, 4, bytes),
            (None, _) => {
                let view = plain.tensor(&name).map_err(|e| Failure(format!("{name}: {e}")))?;
                let dtype = view.dtype();
                (dtype.to_string(), shape, dtype.bitsize() / 8, view.data().to_vec())
            }
        };
        tensors.insert(name, stored);
    }
    // Large numbers first, so that every tensor starts at a multiple of its element.
    let mut tensors: Vec<(String, Stored)> = tensors.into_iter().collect();
    tensors.sort_by_key(|(_, (_, _, size, _))| std::cmp::Reverse(*size));
    let entries = tensors
        .iter()
        .map(|(name, (dtype, shape, size, _))| (name.as_str(), dtype.as_str(), &shape[..], *size));
    let mut out = crate::write::header(&spec, entries);
    tensors.iter().for_each(|(_, (.., bytes))| out.extend(bytes));
    Ok(out)
}

fn floats(numbers: &Array1<f32>) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}
