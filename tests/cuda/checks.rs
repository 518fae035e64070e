//! What is checked on whatever driver this process finds.

use crate::gpu;
use crate::random::Random;
use crate::random_weights;
use fianchetto::backend::cuda::{Arithmetic, Cuda, Settings};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::Residual;
use fianchetto::network::{Network, Spec, reference};
use ndarray::Array3;

/// Those that need no stand-in.
pub const ON_A_GPU: [&str; 8] = [
    "single",
    "half",
    "splits",
    "mistake_in_single",
    "mistake_in_half",
    "no_number",
    "unsuitable",
    "parity",
];

/// Makes a check by its name; it panics when something is wrong.
pub fn run(name: &str) {
    match name {
        "single" => reference(Arithmetic::Single),
        "half" => reference(Arithmetic::Half),
        "splits" => splits(),
        "mistake_in_single" => mistake(Arithmetic::Single, 1),
        "mistake_in_half" => mistake(Arithmetic::Half, 1),
        "mistake_in_split_single" => mistake(Arithmetic::Single, 4),
        "mistake_in_split_half" => mistake(Arithmetic::Half, 2),
        "choice" => choice(),
        "no_number" => no_number(),
        "parity" => gpu::parity(1000),
        "few_real_positions" => gpu::parity(2),
        "timing" => gpu::timing(0.5),
        "timing_of_splits" => gpu::splits(0.1),
        "profile" => gpu::profile(),
        "name" => println!("{}", cuda(&everything()).name()),
        "short_memory" => short_memory(),
        "refusal" => refusal(),
        "unsuitable" => unsuitable(),
        _ => panic!("there is no check {name:?}"),
    }
}

/// Of logits relative to the largest, and of values.
fn tolerance(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::Single => 1e-5,
        Arithmetic::Half => 2e-3,
    }
}

/// A network of random weights.
fn network(spec: &Spec) -> Network {
    Network::from_safetensors(&random_weights::file(spec, 3)).unwrap()
}

fn cuda(spec: &Spec) -> Cuda {
    Cuda::new(&network(spec)).unwrap()
}

/// The smallest network with all kinds of layers.
fn everything() -> Spec {
    random_weights::residual(Encoding::Canonical19, small())
}

/// All kinds of layers, and sizes that need filling up.
fn small() -> Residual {
    Residual {
        channels: 32,
        policy_channels: 3,
        value_channels: 2,
        value_hidden: 18,
        se_width: Some(5),
        ..random_weights::small_sizes()
    }
}

/// Planes and indices of a position, unlike any of chess: fractions of both signs, any number of indices, also none.
fn position(spec: &Spec, seed: u64) -> (Vec<f32>, Vec<u16>) {
    let mut random = Random::new(seed + 1);
    let planes = (0..64 * spec.encoding.planes())
        .map(|_| random.below(1 << 20) as f32 / (1 << 18) as f32 - 2.0);
    let planes = planes.collect();
    let count = [9, 0, 0, 1, 40][seed as usize % 5];
    (planes, (0..count).map(|_| random.below(spec.policy_size()) as u16).collect())
}

fn batch(positions: &[(Vec<f32>, Vec<u16>)]) -> Batch {
    let mut batch = Batch::new(positions[0].0.len() / 64);
    for (planes, indices) in positions {
        batch.push(|to, wanted| {
            to.copy_from_slice(planes);
            wanted.extend(indices);
        });
    }
    batch
}

/// The largest difference of a logit, relative to the largest logit, and of a value, from the reference in f64.
fn differences(settings: Settings, spec: &Spec, batches: &[usize]) -> (f64, f64) {
    let exact = Network::<f64>::from_safetensors(&random_weights::file(spec, 3)).unwrap();
    let most = *batches.iter().max().unwrap();
    let positions: Vec<_> = (0..most as u64).map(|seed| position(spec, seed)).collect();
    let expected: Vec<_> = (positions.iter())
        .map(|(planes, indices)| {
            let planes = planes.iter().copied().map(f64::from).collect();
            let planes = Array3::from_shape_vec((spec.encoding.planes(), 8, 8), planes).unwrap();
            let (logits, value) = reference::forward(&exact, planes.view());
            (indices.iter().map(|&index| logits[usize::from(index)]).collect::<Vec<_>>(), value)
        })
        .collect();
    let largest = expected.iter().flat_map(|e| &e.0).fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 0.1, "the logits are too small to tell anything");

    let mut cuda = Cuda::with(&network(spec), settings).unwrap();
    let mut outputs = Outputs::default();
    let (mut logit, mut value) = (0.0, 0.0);
    for &count in batches {
        let chosen = most - count..most;
        let batch = batch(&positions[chosen.clone()]);
        cuda.evaluate(&batch, &mut outputs).unwrap();
        for (i, expected) in expected[chosen].iter().enumerate() {
            let logits = &outputs.logits[batch.span(i..i + 1)];
            assert_eq!(logits.len(), expected.0.len());
            for (ours, theirs) in logits.iter().zip(&expected.0) {
                logit = larger(logit, (f64::from(*ours) - theirs).abs() / largest);
            }
            value = larger(value, (f64::from(outputs.values[i]) - expected.1).abs());
        }
    }
    (logit, value)
}

/// Unlike `f64::max`, NaN is the largest.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b { a } else { b }
}

fn forced(arithmetic: Arithmetic, split: usize) -> Settings {
    Settings { arithmetic: Some(arithmetic), split: Some(split) }
}

fn check(settings: Settings, name: &str, spec: &Spec, batches: &[usize]) {
    let started = std::time::Instant::now();
    let (logit, value) = differences(settings, spec, batches);
    println!("{name:<40} logits {logit:.1e}  values {value:.1e}  {:.1?}", started.elapsed());
    let tolerance = tolerance(settings.arithmetic.unwrap());
    assert!(logit <= tolerance && value <= tolerance, "{name}: more than {tolerance:e}");
}

fn reference(arithmetic: Arithmetic) {
    let settings = forced(arithmetic, 1);
    let check = |name: &str, spec: &Spec, batches: &[usize]| check(settings, name, spec, batches);
    let canonical = |sizes| random_weights::residual(Encoding::Canonical19, sizes);
    check("everything", &canonical(small()), &[1, 2, 7]);
    let plain = Residual { recurrence: 1, gate: false, se_width: None, ..small() };
    check("plain", &canonical(plain.clone()), &[3]);
    check("only stem and heads", &canonical(Residual { blocks: 0, ..plain.clone() }), &[5]);
    check("gate only", &canonical(Residual { gate: true, ..plain.clone() }), &[2]);
    check(
        "squeeze-and-excitation only",
        &canonical(Residual { se_width: Some(8), ..plain.clone() }),
        &[2],
    );
    check("recurrence only", &canonical(Residual { recurrence: 3, ..plain.clone() }), &[2]);
    for channels in [1, 31, 33, 64, 96, 128, 160, 256] {
        let sizes = Residual { channels, blocks: 1, se_width: Some(channels / 4 + 1), ..small() };
        check(&format!("{channels} channels"), &canonical(sizes), &[2]);
    }
    // Heads wider than the trunk, and the widths of RDTChess.
    check(
        "wide heads",
        &canonical(Residual {
            policy_channels: 40,
            value_channels: 50,
            value_hidden: 70,
            ..small()
        }),
        &[2],
    );
    let heads = Residual {
        channels: 64,
        policy_channels: 32,
        value_channels: 16,
        value_hidden: 128,
        ..small()
    };
    check("RDTChess's heads", &canonical(Residual { blocks: 1, ..heads }), &[2]);
    let sigma_go = Residual {
        conv_bias: true,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 256,
        ..plain
    };
    let sigma_go =
        random_weights::residual(Encoding::Absolute14, Residual { channels: 64, ..sigma_go });
    check("like Sigma-Go", &sigma_go, &[3]);
}

/// Over however many blocks a position is split, the outputs are the same bits.
fn splits() {
    let plain = Residual { recurrence: 1, gate: false, se_width: None, ..small() };
    let wide = |channels| Residual { channels, blocks: 1, se_width: Some(40), ..small() };
    let heads = Residual { policy_channels: 40, value_channels: 50, value_hidden: 70, ..small() };
    for (arithmetic, sizes, expected) in [
        (Arithmetic::Single, small(), vec![2]),
        (Arithmetic::Single, Residual { blocks: 0, ..plain.clone() }, vec![2]),
        (Arithmetic::Single, heads.clone(), vec![2]),
        (Arithmetic::Single, Residual { channels: 96, recurrence: 3, ..plain.clone() }, vec![2, 4]),
        (Arithmetic::Single, wide(64), vec![2, 4]),
        (Arithmetic::Single, wide(128), vec![2, 4, 8]),
        (Arithmetic::Single, wide(160), vec![2, 4, 8]),
        (Arithmetic::Single, Residual { recurrence: 1, ..wide(256) }, vec![2, 4, 8]),
        (Arithmetic::Half, small(), vec![]),
        (Arithmetic::Half, Residual { channels: 64, ..small() }, vec![2]),
        (Arithmetic::Half, Residual { channels: 64, ..plain.clone() }, vec![2]),
        (Arithmetic::Half, Residual { channels: 64, ..heads }, vec![2]),
        (Arithmetic::Half, wide(128), vec![2, 4]),
        (Arithmetic::Half, Residual { recurrence: 1, ..wide(256) }, vec![4, 8]),
    ] {
        let name = format!("{arithmetic:?}, {} channels", sizes.channels);
        let spec = random_weights::residual(Encoding::Canonical19, sizes);
        let positions: Vec<_> = (0..5).map(|seed| position(&spec, seed)).collect();
        let [mut whole, mut part] = [Outputs::default(), Outputs::default()];
        let mut unsplit = Cuda::with(&network(&spec), forced(arithmetic, 1)).unwrap();
        let mut done = Vec::new();
        for split in [2, 4, 8] {
            let Ok(mut cuda) = Cuda::with(&network(&spec), forced(arithmetic, split)) else {
                continue;
            };
            for batch in [batch(&positions), batch(&positions[4..])] {
                unsplit.evaluate(&batch, &mut whole).unwrap();
                cuda.evaluate(&batch, &mut part).unwrap();
                let bits =
                    |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert!(whole.logits.iter().chain(&whole.values).all(|x| x.is_finite()));
                assert_eq!(bits(&part.logits), bits(&whole.logits), "{name}, {split} blocks");
                assert_eq!(bits(&part.values), bits(&whole.values), "{name}, {split} blocks");
            }
            done.push(split);
        }
        println!("{name}: as one block: {done:?}");
        assert_eq!(done, expected, "{name}");
    }
}

/// Batches of several sizes, for whoever watches how they are launched.
fn choice() {
    let sizes = Residual { channels: 128, blocks: 0, ..small() };
    let spec = random_weights::residual(Encoding::Canonical19, sizes);
    let settings = Settings { arithmetic: Some(Arithmetic::Single), split: None };
    let mut cuda = Cuda::with(&network(&spec), settings).unwrap();
    for count in [1, 2, 3, 4, 5, 8, 9, 20] {
        let positions: Vec<_> = (0..count).map(|seed| position(&spec, seed)).collect();
        cuda.evaluate(&batch(&positions), &mut Outputs::default()).unwrap();
    }
    let refused = Cuda::with(&network(&spec), Settings { split: Some(3), ..settings });
    println!("\n{}", refused.err().expect("a refusal is expected"));
}

/// What finds a mistake that was made on purpose: every kind of layer, and none, and blocks that evaluate several positions.
fn mistake(arithmetic: Arithmetic, split: usize) {
    let sizes = Residual { channels: 64, blocks: 1, value_hidden: 64, ..small() };
    let plain = Residual { recurrence: 1, gate: false, se_width: None, ..sizes.clone() };
    for (name, sizes) in
        [("everything", Residual { se_width: Some(40), ..sizes }), ("plain", plain)]
    {
        let spec = random_weights::residual(Encoding::Canonical19, sizes);
        check(forced(arithmetic, split), name, &spec, &[5, 5]);
    }
}

/// NaN and infinity in the planes of one position come through to its outputs, and to no other's.
fn no_number() {
    let spec = everything();
    let mut cuda = cuda(&spec);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut positions: Vec<_> = (0..5).map(|_| position(&spec, 0)).collect();
        positions[1].0[64 + 27] = bad;
        let (batch, mut outputs) = (batch(&positions), Outputs::default());
        cuda.evaluate(&batch, &mut outputs).unwrap();
        for i in 0..positions.len() {
            let logits = &outputs.logits[batch.span(i..i + 1)];
            let finite = logits.iter().filter(|x| x.is_finite()).count();
            assert_eq!(finite, if i == 1 { 0 } else { logits.len() }, "{bad}, position {i}");
            assert!(i == 1 || outputs.values[i].is_finite());
        }
    }
}

/// More positions than there is memory for, evaluated all the same: as in a batch of few.
fn short_memory() {
    let spec = random_weights::residual(Encoding::Canonical19, Residual { blocks: 0, ..small() });
    let few: Vec<_> = (0..5).map(|seed| position(&spec, seed)).collect();
    let many: Vec<_> = few.iter().cycle().take(700).cloned().collect();
    let (mut cuda, mut expected, mut outputs) =
        (cuda(&spec), Outputs::default(), Outputs::default());
    cuda.evaluate(&batch(&few), &mut expected).unwrap();
    for _ in 0..2 {
        cuda.evaluate(&batch(&many), &mut outputs).unwrap();
        for (some, all) in
            outputs.logits.chunks(expected.logits.len()).zip(std::iter::repeat(&expected.logits))
        {
            assert_eq!(some, all);
        }
        assert!(outputs.values.chunks(5).all(|some| some == expected.values));
    }
    let memory: usize = std::env::var("STANDIN_MEMORY").unwrap().parse().unwrap();
    // The planes, and the policy's weights in 16 bits.
    assert!(
        700 * 19 * 64 * 4 + 4096 * (3 * 32 + 4) * 4 > memory,
        "all of it fits into {memory} bytes: nothing was tested"
    );
}

/// Prints why a network cannot be run.
fn refusal() {
    let spec = random_weights::residual(Encoding::Canonical19, Residual { blocks: 0, ..small() });
    let network = Network::from_safetensors(&random_weights::file(&spec, 3)).unwrap();
    let evaluated = Cuda::new(&network)
        .and_then(|mut cuda| cuda.evaluate(&batch(&[position(&spec, 0)]), &mut Outputs::default()));
    println!("\n{}", evaluated.expect_err("a refusal is expected"));
}

fn unsuitable() {
    let refused =
        |spec: &Spec| Cuda::new(&network(spec)).err().expect("a refusal is expected").to_string();
    assert!(refused(&random_weights::pair(4, 5)).contains("not pairs that score squares"));
    // No GPU lets a block have half a megabyte.
    for (channels, value_channels) in [(257, 2), (4, 2000)] {
        let sizes = Residual { channels, value_channels, blocks: 0, ..small() };
        let text = refused(&random_weights::residual(Encoding::Canonical19, sizes));
        assert!(
            text.contains(&format!("{channels} channels, its heads of 3 and {value_channels}")),
            "{text}"
        );
    }

    let spec = random_weights::residual(Encoding::Canonical19, Residual { blocks: 0, ..small() });
    let (mut cuda, mut outputs) = (cuda(&spec), Outputs { logits: vec![1.0], values: vec![1.0] });
    for (planes, index, word) in [(19, 4096, "4096"), (14, 0, "14 planes")] {
        let mut batch = Batch::new(planes);
        batch.push(|_, indices| indices.push(index));
        let error = cuda.evaluate(&batch, &mut outputs).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    cuda.evaluate(&Batch::new(19), &mut outputs).unwrap();
    assert!(outputs.logits.is_empty() && outputs.values.is_empty());
}
