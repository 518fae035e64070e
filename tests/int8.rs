//! Networks of bytes: against the reference, and to the bit between all instruction sets, numbers of threads and batch
//! sizes.

mod random_weights;

use fianchetto::backend::cpu::{Cpu, Instructions, Settings};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::{Int8, Residual};
use fianchetto::network::{Network, Real, Spec, reference};
use ndarray::Array3;
use random_weights::planes;

const INDICES: [u16; 7] = [0, 1, 63, 796, 2048, 4094, 4095];
const SEED: u64 = 3;

/// Mostly 1e-6 is kept; where f32 rounds an input to another byte than f64 does, outputs move by some 1e-4.
const TOLERANCE: f64 = 2e-3;

/// Sizes below, at and between the blocks of every instruction set, with every part that a network may have.
fn narrow() -> Vec<Spec> {
    let small = random_weights::small_sizes();
    let base = Residual { int8: Int8::TowerAndPolicy, ..small };
    let full = [1, 7, 8, 16, 33, 40].map(|channels| Residual {
        channels,
        se_width: Some(channels / 4 + 1),
        ..base.clone()
    });
    let plain =
        Residual { channels: 24, recurrence: 1, gate: false, se_width: None, ..base.clone() };
    let twice = Residual {
        int8: Int8::Tower,
        channels: 20,
        gate: false,
        policy_channels: 3,
        ..base.clone()
    };
    let stem = Residual { blocks: 0, ..base };
    full.into_iter().chain([plain, twice, stem]).map(spec).collect()
}

fn wide() -> Vec<Spec> {
    let sizes = [64, 128].map(|channels| Residual {
        channels,
        se_width: Some(32),
        value_channels: 5,
        policy_channels: 9,
        value_hidden: 30,
        int8: Int8::Tower,
        ..random_weights::small_sizes()
    });
    sizes.into_iter().map(spec).collect()
}

fn spec(sizes: Residual) -> Spec {
    random_weights::residual(Encoding::Canonical19, sizes)
}

fn network<T: Real>(spec: &Spec) -> Network<T> {
    Network::from_safetensors(&random_weights::file(spec, SEED)).unwrap()
}

/// The logits of [`INDICES`] and the value of some positions, one batch.
fn evaluate(cpu: &mut Cpu, spec: &Spec, positions: std::ops::Range<usize>) -> Vec<Vec<f32>> {
    let mut batch = Batch::new(spec.encoding.planes());
    for position in positions {
        batch.push(|to, wanted| {
            to.copy_from_slice(&planes(spec, position));
            wanted.extend(INDICES);
        });
    }
    let mut outputs = Outputs::default();
    cpu.evaluate(&batch, &mut outputs).unwrap();
    let logits = outputs.logits.chunks(INDICES.len());
    logits.zip(&outputs.values).map(|(logits, value)| [logits, &[*value]].concat()).collect()
}

fn cpu(spec: &Spec, instructions: Instructions, threads: usize) -> Cpu {
    let settings = Settings { threads, instructions: Some(instructions), algorithm: None };
    Cpu::with(network(spec), settings).unwrap()
}

/// What the reference says about some positions.
fn expected(spec: &Spec, positions: usize) -> Vec<Vec<f64>> {
    let network = network::<f64>(spec);
    let answer = |position| {
        let planes = planes(spec, position).into_iter().map(f64::from).collect();
        let planes = Array3::from_shape_vec((spec.encoding.planes(), 8, 8), planes).unwrap();
        let (logits, value) = reference::forward(&network, planes.view());
        INDICES.map(|index| logits[usize::from(index)]).into_iter().chain([value]).collect()
    };
    (0..positions).map(answer).collect()
}

/// The largest difference, in parts of the largest of all numbers.
fn difference(ours: &[Vec<f32>], theirs: &[Vec<f64>]) -> f64 {
    let largest = theirs.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 0.1, "the outputs are too small to tell anything");
    let pairs = ours.iter().flatten().zip(theirs.iter().flatten());
    pairs.fold(0.0, |m, (&x, y)| f64::max(m, (f64::from(x) - y).abs() / largest))
}

fn check(specs: Vec<Spec>) {
    const POSITIONS: usize = 9;
    for spec in specs {
        let all: Vec<_> = Instructions::available(&spec).collect();
        let portable = evaluate(&mut cpu(&spec, Instructions::Portable, 1), &spec, 0..POSITIONS);
        let off = difference(&portable, &expected(&spec, POSITIONS));
        assert!(off < TOLERANCE, "{:?}: {off:.1e} off", spec.architecture);
        for set in all {
            for threads in [1, 2, 3] {
                let mut cpu = cpu(&spec, set, threads);
                for (first, n) in [(0, 9), (3, 2), (8, 1), (1, 4)] {
                    let ours = evaluate(&mut cpu, &spec, first..first + n);
                    let bits = |rows: &[Vec<f32>]| -> Vec<u32> {
                        rows.iter().flatten().map(|x| x.to_bits()).collect()
                    };
                    assert!(
                        bits(&ours) == bits(&portable[first..first + n]),
                        "{:?}: {set}, {threads} threads, positions {first} + {n}: {ours:?}, portable {:?}",
                        spec.architecture,
                        &portable[first..first + n]
                    );
                }
            }
        }
    }
}

#[test]
fn narrow_networks() {
    check(narrow());
}

#[test]
fn wide_networks() {
    check(wide());
}
