//! The whole forward pass with the vectors of AVX-512 on a machine that may lack it: everything but its
//! instructions themselves, against the reference in f64.

#[path = "../../../tests/random_weights/mod.rs"]
mod random_weights;

use super::simd::{Simd, Wide};
use super::*;
use crate::encoding::Encoding;
use crate::network::spec::Residual;
use crate::network::{Spec, reference};
use ndarray::Array3;

const INDICES: [u16; 6] = [0, 1, 63, 796, 2048, 4095];
const POSITIONS: usize = 9;

/// Around the 16 lanes of a vector, and the 32 of a block.
const CHANNELS: [usize; 8] = [1, 15, 16, 17, 31, 32, 33, 72];

fn batch(positions: &[Vec<f32>]) -> Batch {
    let mut batch = Batch::new(positions[0].len() / 64);
    for planes in positions {
        batch.push(|to, indices| {
            to.copy_from_slice(planes);
            indices.extend(INDICES);
        });
    }
    batch
}

#[test]
fn a_wide_set_is_the_reference() {
    assert_eq!((Wide::BLOCK, Wide::ROWS), (32, 8));
    for channels in CHANNELS {
        let sizes = Residual {
            channels,
            se_width: Some(channels.div_ceil(2)),
            policy_channels: 2,
            value_hidden: 19,
            ..random_weights::small_sizes()
        };
        check(&random_weights::residual(Encoding::Canonical19, sizes));
    }
    for filters in [5, 32, 40] {
        check(&random_weights::pair(filters, 3 * filters));
    }
}

/// Every algorithm, several batches and threads.
fn check(spec: &Spec) {
    let file = random_weights::file(spec, 5);
    let planes = spec.encoding.planes();
    let positions: Vec<Vec<f32>> = (0..POSITIONS)
        .map(|i| {
            (0..64 * planes).map(move |j| ((i * 7919 + j * 104_729) % 997) as f32 / 300.0 - 1.5)
        })
        .map(Iterator::collect)
        .collect();
    let exact = Network::<f64>::from_safetensors(&file).unwrap();
    let expected: Vec<_> = (positions.iter())
        .map(|numbers| {
            let numbers = numbers.iter().copied().map(f64::from).collect();
            let numbers = Array3::from_shape_vec((planes, 8, 8), numbers).unwrap();
            let (logits, value) = reference::forward(&exact, numbers.view());
            (INDICES.map(|index| logits[usize::from(index)]), value)
        })
        .collect();
    let largest = expected.iter().flat_map(|e| e.0).fold(0.0, |m: f64, x| m.max(x.abs()));
    let sizes = format!("{:?}", spec.architecture);
    assert!(largest > 0.1, "{sizes}: the logits are too small to tell anything");

    for threads in [1, 3] {
        let settings = Settings { threads, ..Settings::default() };
        let network = Network::from_safetensors(&file).unwrap();
        let mut engine = plain(Wide::detect(), network, settings);
        for (algorithm, n) in
            Algorithm::PLAIN.into_iter().flat_map(|a| [1, 2, 5, 9].map(|n| (a, n)))
        {
            let case = format!("{sizes}, {algorithm}, batch {n}, {threads} threads");
            let batch = batch(&positions[POSITIONS - n..]);
            let mut outputs = Outputs::default();
            outputs.resize(&batch);
            engine.evaluate(&batch, &mut outputs, algorithm);
            let logits = outputs.logits.chunks(INDICES.len());
            let ours = logits.zip(&outputs.values);
            for ((logits, &value), expected) in ours.zip(&expected[POSITIONS - n..]) {
                for (&logit, expected) in logits.iter().zip(expected.0) {
                    let difference = (f64::from(logit) - expected).abs() / largest;
                    assert!(difference <= 1e-5, "{case}: a logit is {difference:e} off");
                }
                let difference = (f64::from(value) - expected.1).abs();
                assert!(difference <= 1e-5, "{case}: a value is {difference:e} off");
            }
        }
    }
}
