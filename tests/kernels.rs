//! The kernels of the processor backend, every algorithm on every instruction set that this machine has,
//! against the reference in f64.

mod random_weights;

use fianchetto::backend::cpu::{Algorithm, Cpu, Instructions, Settings};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::{Int8, Residual};
use fianchetto::network::{Network, Spec, reference};
use half::f16;
use ndarray::Array3;
use random_weights::{Stored, planes};
use safetensors::tensor::Dtype;

/// Those that a network has.
fn indices(spec: &Spec) -> impl Iterator<Item = u16> + Clone {
    let some = [0, 1, 63, 796, 2048, 4094, 4095, 4096, 4159, 4160, 4223, 4543];
    let size = spec.policy_size();
    some.into_iter().filter(move |&index| usize::from(index) < size)
}

const TOLERANCE: f64 = 1e-5;

fn sizes(channels: usize) -> Residual {
    Residual { channels, se_width: Some(channels / 4 + 1), ..random_weights::small_sizes() }
}

fn spec(sizes: Residual) -> Spec {
    random_weights::residual(Encoding::Canonical19, sizes)
}

fn network(spec: &Spec) -> Network {
    Network::from_safetensors(&random_weights::file(spec, 3)).unwrap()
}

/// The logits of [`indices`] and the value of a position.
type Answer = (Vec<f64>, f64);

fn expected(spec: &Spec, positions: usize) -> Vec<Answer> {
    let network = Network::<f64>::from_safetensors(&random_weights::file(spec, 3)).unwrap();
    let answer = |position| {
        let planes = planes(spec, position).into_iter().map(f64::from).collect();
        let planes = Array3::from_shape_vec((spec.encoding.planes(), 8, 8), planes).unwrap();
        let (logits, value) = reference::forward(&network, planes.view());
        (indices(spec).map(|index| logits[usize::from(index)]).collect(), value)
    };
    (0..positions).map(answer).collect()
}

/// Evaluates the positions from `first` on in one batch.
fn evaluate(cpu: &mut Cpu, spec: &Spec, first: usize, n: usize) -> Outputs {
    let mut batch = Batch::new(spec.encoding.planes());
    for position in first..first + n {
        batch.push(|to, wanted| {
            to.copy_from_slice(&planes(spec, position));
            wanted.extend(indices(spec));
        });
    }
    let mut outputs = Outputs::default();
    cpu.evaluate(&batch, &mut outputs).unwrap();
    outputs
}

fn bits(outputs: &Outputs) -> Vec<u32> {
    outputs.logits.iter().chain(&outputs.values).map(|x| x.to_bits()).collect()
}

/// All kernels that there are for a network.
fn kernels(spec: &Spec) -> impl Iterator<Item = (Instructions, Algorithm)> {
    let algorithms = Algorithm::built(spec);
    Instructions::available(spec)
        .flat_map(move |set| algorithms.iter().map(move |&algorithm| (set, algorithm)))
}

fn cpu(spec: &Spec, set: Instructions, algorithm: Algorithm, threads: usize) -> Cpu {
    let settings = Settings { threads, instructions: Some(set), algorithm: Some(algorithm) };
    Cpu::with(network(spec), settings).unwrap()
}

/// Sizes below, at and between the blocks of every instruction set.
#[test]
fn narrow_kernels_are_the_reference() {
    for channels in [1, 3, 8, 12, 16, 33] {
        check_all_kernels(&spec(sizes(channels)), &[1, 2, 3, 9]);
    }
}

/// The sizes of real networks, too much for an emulated processor.
#[test]
fn wide_kernels_are_the_reference() {
    for channels in [64, 128, 256] {
        check_all_kernels(&spec(sizes(channels)), &[1, 2, 3, 9]);
    }
}

#[test]
fn a_large_tower_is_the_reference() {
    check_all_kernels(&random_weights::sigma_go(), &[1, 2]);
}

/// Pairs of square networks with sizes below, at and between the blocks of every instruction set.
#[test]
fn every_pair_is_the_reference() {
    for (filters, hidden) in [(3, 6), (8, 33), (24, 40), (128, 64)] {
        check_all_kernels(&random_weights::pair(filters, hidden), &[1, 2, 9, 40]);
    }
}

/// Batches of these sizes on every kernel, against the reference.
fn check_all_kernels(spec: &Spec, batches: &[usize]) {
    let most = *batches.iter().max().unwrap();
    let expected = expected(spec, most);
    let largest =
        expected.iter().flat_map(|(logits, _)| logits).fold(0.0, |m: f64, x| m.max(x.abs()));
    let sizes = format!("{:?}", spec.architecture);
    assert!(largest > 0.1, "{sizes}: the logits are too small to tell anything");
    for (set, algorithm) in kernels(spec) {
        let mut cpu = cpu(spec, set, algorithm, 1);
        for &n in batches {
            let outputs = evaluate(&mut cpu, spec, most - n, n);
            let logits = outputs.logits.chunks(indices(spec).count());
            for ((logits, value), expected) in
                logits.zip(&outputs.values).zip(&expected[most - n..])
            {
                let case = format!("{sizes}, {set}, {algorithm}, batch {n}");
                for (&logit, expected) in logits.iter().zip(&expected.0) {
                    let difference = (f64::from(logit) - expected).abs() / largest;
                    assert!(difference <= TOLERANCE, "{case}: a logit is {difference:e} off");
                }
                let difference = (f64::from(*value) - expected.1).abs();
                assert!(difference <= TOLERANCE, "{case}: a value is {difference:e} off");
            }
        }
    }
}

/// The same bits for any number of threads, any neighbours in the batch, and at every call.
#[test]
fn a_position_has_the_same_bits_whoever_computes_it() {
    for (channels, recurrence) in [(24, 2), (128, 1)] {
        let spec = spec(Residual { blocks: 1, recurrence, ..sizes(channels) });
        for (set, algorithm) in kernels(&spec) {
            let mut alone = cpu(&spec, set, algorithm, 1);
            let single: Vec<_> = (0..9).map(|i| evaluate(&mut alone, &spec, i, 1)).collect();
            for threads in 1..=3 {
                let mut cpu = cpu(&spec, set, algorithm, threads);
                for (first, n) in [(0, 9), (3, 2), (8, 1), (1, 4)] {
                    let outputs = evaluate(&mut cpu, &spec, first, n);
                    let single = Outputs {
                        logits: single[first..first + n]
                            .iter()
                            .flat_map(|o| o.logits.clone())
                            .collect(),
                        values: single[first..first + n]
                            .iter()
                            .flat_map(|o| o.values.clone())
                            .collect(),
                    };
                    let case =
                        format!("{channels} channels, {set}, {algorithm}, {threads} threads");
                    assert!(bits(&outputs) == bits(&single), "{case}, positions {first} + {n}");
                }
            }
        }
    }
}

/// What is chosen when nobody says, over all batch sizes at which the choice may change.
#[test]
fn the_choice_is_one_of_the_kernels() {
    let plain = Residual { gate: false, se_width: None, ..sizes(100) };
    let sizes = Residual { blocks: 1, recurrence: 1, ..plain };
    let spec = random_weights::residual(Encoding::Absolute14, sizes);
    for set in Instructions::available(&spec) {
        let settings = Settings { threads: 2, instructions: Some(set), algorithm: None };
        let mut chosen = Cpu::with(network(&spec), settings).unwrap();
        let mut all = Algorithm::PLAIN.map(|algorithm| cpu(&spec, set, algorithm, 1));
        for n in [1, 2, 3, 4, 8, 9, 17] {
            let outputs = bits(&evaluate(&mut chosen, &spec, 0, n));
            let same = all.iter_mut().any(|cpu| bits(&evaluate(cpu, &spec, 0, n)) == outputs);
            assert!(same, "{set}, batch {n}");
        }
    }
}

/// Numbers of 16 bits and the same ones of 32.
#[test]
fn the_width_of_stored_weights_changes_no_bit() {
    let spec = spec(Residual { policy_channels: 3, ..sizes(12) });
    let rounded: Vec<(String, Vec<usize>, Vec<f16>)> = random_weights::tensors(&spec, 3)
        .into_iter()
        .map(|(name, shape, values)| (name, shape, values.into_iter().map(f16::from_f32).collect()))
        .collect();
    let file = |dtype, bytes: fn(&f16) -> Vec<u8>| {
        let stored: Vec<Stored> = (rounded.iter())
            .map(|(name, shape, values)| {
                (name.clone(), dtype, shape.clone(), values.iter().flat_map(bytes).collect())
            })
            .collect();
        random_weights::safetensors_file(spec.to_metadata(), &stored)
    };
    let narrow = file(Dtype::F16, |x| x.to_le_bytes().to_vec());
    let wide = file(Dtype::F32, |x| x.to_f32().to_le_bytes().to_vec());
    for set in Instructions::available(&spec) {
        let [narrow, wide] = [&narrow, &wide].map(|file| {
            let settings = Settings { instructions: Some(set), ..Settings::default() };
            let mut cpu = Cpu::with(Network::from_safetensors(file).unwrap(), settings).unwrap();
            bits(&evaluate(&mut cpu, &spec, 0, 3))
        });
        assert!(narrow == wide, "{set}");
    }
}

/// More positions than go into one job.
#[test]
fn a_batch_of_any_size_is_evaluated() {
    let spec = spec(Residual { blocks: 0, recurrence: 1, ..sizes(8) });
    let mut cpu = Cpu::new(network(&spec), 2);
    let mut batch = Batch::new(spec.encoding.planes());
    let positions: Vec<_> = (0..7).map(|position| planes(&spec, position)).collect();
    for planes in positions.iter().cycle().take(9000) {
        batch.push(|to, indices| {
            to.copy_from_slice(planes);
            indices.push(5);
        });
    }
    let mut outputs = Outputs::default();
    cpu.evaluate(&batch, &mut outputs).unwrap();
    let few = outputs.logits[..7].to_vec();
    assert!(few.windows(2).all(|pair| pair[0] != pair[1]));
    for (i, logit) in outputs.logits.iter().enumerate() {
        assert_eq!(*logit, few[i % 7], "position {i}");
    }
}

/// NaN and infinity in the planes of one position come through to its outputs, and to no other's.
#[test]
fn no_number_comes_through() {
    let spec = spec(sizes(24));
    for (set, algorithm) in kernels(&spec) {
        let mut cpu = cpu(&spec, set, algorithm, 1);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut batch = Batch::new(spec.encoding.planes());
            for position in 0..3 {
                batch.push(|to, wanted| {
                    to.copy_from_slice(&planes(&spec, position));
                    if position == 1 {
                        to[64 + 27] = bad;
                    }
                    wanted.extend(indices(&spec));
                });
            }
            let mut outputs = Outputs::default();
            cpu.evaluate(&batch, &mut outputs).unwrap();
            for (position, logits) in outputs.logits.chunks(indices(&spec).count()).enumerate() {
                let finite = logits.iter().filter(|logit| logit.is_finite()).count();
                let case = format!("{set}, {algorithm}, {bad}, position {position}");
                assert_eq!(
                    finite,
                    if position == 1 { 0 } else { indices(&spec).count() },
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn an_instruction_set_of_another_processor_is_refused() {
    let spec = spec(sizes(8));
    let missing = Instructions::ALL
        .into_iter()
        .find(|set| Instructions::available(&spec).all(|available| available != *set));
    let missing = missing.expect("no processor has both NEON and AVX2");
    let settings = Settings { threads: 1, instructions: Some(missing), algorithm: None };
    let error = Cpu::with(network(&spec), settings).err().unwrap().to_string();
    assert!(error.contains(missing.name()) && error.contains("portable"), "{error}");
}

#[test]
fn an_algorithm_for_other_convolutions_is_refused() {
    let settings = Settings { algorithm: Some(Algorithm::F2x2), ..Settings::default() };
    let error =
        Cpu::with(network(&random_weights::pair(3, 6)), settings).err().unwrap().to_string();
    assert!(error.contains("f2x2") && error.contains("direct"), "{error}");
    let settings = Settings { algorithm: Some(Algorithm::Int8), ..Settings::default() };
    let error = Cpu::with(network(&spec(sizes(8))), settings).err().unwrap().to_string();
    assert!(error.contains("int8") && error.contains("f4x4"), "{error}");
    let settings = Settings { algorithm: Some(Algorithm::Direct), ..Settings::default() };
    let int8 = spec(Residual { int8: Int8::Tower, ..sizes(8) });
    let error = Cpu::with(network(&int8), settings).err().unwrap().to_string();
    assert!(error.contains("direct") && error.contains("int8"), "{error}");
}

/// Threads come and go with the backend, and many of them on few cores still give the right answer.
#[test]
fn many_threads_on_few_cores() {
    let spec = spec(sizes(33));
    let set = Instructions::available(&spec).last().unwrap();
    let expected = bits(&evaluate(&mut cpu(&spec, set, Algorithm::F2x2, 1), &spec, 0, 3));
    for threads in [2, 8, 16] {
        for _ in 0..5 {
            let mut cpu = cpu(&spec, set, Algorithm::F2x2, threads);
            for _ in 0..10 {
                assert!(bits(&evaluate(&mut cpu, &spec, 0, 3)) == expected, "{threads} threads");
            }
        }
    }
}
