//! From a plain network to one of [bytes](fianchetto::network::int8), by what it does on positions.
//!
//! - [`positions`]: the calibration file.
//! - [`mod@observe`]: what goes into each convolution of the tower.
//! - [`rounding`]: of a row of numbers, so that their errors cancel.
//! - [`scales`]: from that to scales, weights and biases.
//! - [`mod@write`]: the weights file's bytes.
//! - [`compare`]: the new network against the old one, on positions that were kept apart.

pub mod compare;
pub mod observe;
pub mod positions;
pub mod rounding;
pub mod scales;
pub mod write;

use crate::{Failure, Result, fail};
use fianchetto::network::{Architecture, Layers, Network, Tower};
use observe::{Largest, Means, Products, observe};
use positions::Positions;
use std::num::NonZero;
use std::path::Path;
use std::thread;

/// Inputs are clipped in one of so many positions, in each channel: the largest of all depends too much on which
/// positions there are.
const CLIPPED: usize = 1000;

/// The weights file of a network of bytes, made from the plain weights file `plain`, its policy layer too
/// where that is wanted; with it, what came out, for people.
///
/// # Errors
/// When the network is a pair of square networks, or the calibration file has unusable or too few positions.
pub fn quantize(plain: &[u8], calibration: &Path, policy: bool) -> Result<(Vec<u8>, Vec<String>)> {
    let load = |bytes: &[u8]| Network::from_safetensors(bytes).map_err(|e| Failure(e.to_string()));
    let network = load(plain)?;
    let Positions { calibrating, apart } = positions::read(calibration)?;
    let (Architecture::Residual(_), Layers::Residual(layers)) =
        (&network.spec.architecture, &network.layers)
    else {
        return fail("a pair that scores squares has no tower: leave --quantize out");
    };
    let Tower::Plain(blocks) = &layers.tower else {
        return fail("it is quantized already: leave --quantize out");
    };
    let convolutions: Vec<_> = blocks.iter().flat_map(|b| [&b.conv1, &b.conv2]).collect();

    let mut largest = observe::<Largest>(&network, &calibrating, &());
    let input_scales: Vec<_> = (largest.iter_mut())
        .map(|largest| scales::input_scales(&largest.all_but_one_in(CLIPPED)))
        .collect();
    let means = observe::<Means>(&network, &calibrating, &input_scales);
    let products = observe::<Products>(&network, &calibrating, &input_scales);
    let seen = means.iter().zip(&products);
    let tower: Vec<_> = (convolutions.into_iter().zip(input_scales).zip(seen))
        .map(|((plain, scales), (means, products))| {
            scales::convolution(plain, scales, means, &rounding::Inputs::new(&products.get()))
        })
        .collect();
    let rows = policy.then(|| scales::rows(&layers.policy));
    let file = write::file(&network.spec, plain, &tower, rows.as_ref())?;

    let (calibrated, kept) = (calibrating.len(), apart.len());
    let difference = compare::compare(network, load(&file)?, &apart)?;
    let lines = vec![
        format!(
            "quantized by {calibrated} positions of {}, {kept} kept apart",
            calibration.display()
        ),
        format!("on the positions kept apart: {difference}"),
    ];
    Ok((file, lines))
}

/// How many threads there are cores for.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
