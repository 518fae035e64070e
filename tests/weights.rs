//! Weights files: what is read from good ones, what is said about bad ones, and that none does harm.

mod peak_memory;
mod random;
mod random_weights;

use fianchetto::backend::cpu::Cpu;
use fianchetto::chess::Game;
use fianchetto::evaluator::Evaluator;
use fianchetto::network::weights::{ResidualLayers, Rows};
use fianchetto::network::{Contents, Layers, Network, Real, Spec, Tower, WeightsError};
use half::{bf16, f16};
use peak_memory::peak_memory;
use random::Random;
use random_weights::{Stored, safetensors_file, small as spec};
use safetensors::tensor::Dtype;
use std::collections::HashMap;
use std::str::FromStr;

const SEED: u64 = 1;

fn store(values: &[f32], dtype: Dtype) -> Vec<u8> {
    let each = |x: &f32| match dtype {
        Dtype::F16 => f16::from_f32(*x).to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::from_f32(*x).to_le_bytes().to_vec(),
        Dtype::F32 => x.to_le_bytes().to_vec(),
        other => panic!("no weights are stored as {other}"),
    };
    values.iter().flat_map(each).collect()
}

/// Random tensors, each value passed through `change`, stored as `dtype`.
fn tensors(dtype: Dtype, change: impl Fn(f32) -> f32) -> Vec<Stored> {
    let stored = |(name, shape, values): (String, Vec<usize>, Vec<f32>)| {
        let values: Vec<f32> = values.into_iter().map(&change).collect();
        (name, dtype, shape, store(&values, dtype))
    };
    random_weights::tensors(&spec(), SEED).into_iter().map(stored).collect()
}

/// About 0.6 MB.
fn small_file() -> Vec<u8> {
    safetensors_file(spec().to_metadata(), &tensors(Dtype::F16, |x| x))
}

/// Where the tensors' data begin in a safetensors file.
fn data_start(file: &[u8]) -> usize {
    8 + u64::from_le_bytes(*file.first_chunk().unwrap()) as usize
}

/// Reads `file` both ways, checking that neither takes more than ten times its memory.
fn read(file: &[u8], case: &str) -> Result<Network, WeightsError> {
    let most = 10 * file.len() + 4096;
    let (contents, peak) = peak_memory(|| Contents::from_safetensors(file));
    assert!(peak <= most, "{case}: {peak} bytes for the contents of {}", file.len());
    let (network, peak) = peak_memory(|| Network::from_safetensors(file));
    assert!(peak <= most, "{case}: {peak} bytes for the network of {}", file.len());
    if let (Err(error), Ok(_)) = (&contents, &network) {
        panic!("{case}: a network, but no contents: {error}");
    }
    network
}

fn residual<T>(network: Network<T>) -> ResidualLayers<T> {
    match network.layers {
        Layers::Residual(layers) => layers,
        Layers::SquarePair(_) => panic!("no residual network"),
    }
}

/// Every number of a network in turn.
fn numbers<T: Real>(network: &ResidualLayers<T>) -> Vec<T> {
    let mut all = Vec::new();
    let mut convolutions = vec![&network.stem, &network.policy_conv, &network.value_conv];
    let mut layers = vec![&network.value_hidden, &network.value];
    let Tower::Plain(blocks) = &network.tower else { panic!("no plain network") };
    for block in blocks {
        convolutions.extend([&block.conv1, &block.conv2]);
        layers.extend(block.se.iter().flat_map(|se| [&se.squeeze, &se.excite]));
    }
    convolutions.extend(&network.gate);
    for convolution in convolutions {
        all.extend(convolution.weight.iter().chain(&convolution.bias));
    }
    for layer in layers {
        all.extend(layer.weight.iter().chain(&layer.bias));
    }
    all.extend((0..network.policy.bias.len()).flat_map(|row| network.policy.weight.row(row)));
    all.extend(&network.policy.bias);
    all
}

/// Evaluates the start position. A network of odd numbers may be refused there, too.
fn evaluate(network: Network, case: &str) {
    let evaluator = &mut Evaluator::new(network.spec.encoding, Box::new(Cpu::new(network, 1)));
    if let Ok(evaluation) = evaluator.evaluate(&Game::default()) {
        let sum: f64 = evaluation.priors.iter().map(|(_, p)| p).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{case}: the priors add up to {sum}");
        assert!(evaluation.value.abs() <= 1.0, "{case}: value {}", evaluation.value);
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let file = small_file();
    let start = data_start(&file);
    let header = (0..start).step_by(3);
    let data = (start..file.len()).step_by(5_000).chain([file.len() - 1]);
    for length in header.chain(data) {
        let case = format!("the first {length} bytes");
        let error = read(&file[..length], &case).expect_err(&case);
        assert!(matches!(error, WeightsError::Format(_)), "{case}: {error}");
    }
    assert!(read(&file, "the whole file").is_ok());
    let longer = [&file[..], &[0]].concat();
    assert!(matches!(read(&longer, "a byte more"), Err(WeightsError::Format(_))));
}

#[test]
fn a_wrong_byte_does_no_harm() {
    let file = small_file();
    let start = data_start(&file);
    let mut random = Random::new(SEED);
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..200 {
        let end = random.choose(&[start, file.len()]);
        let at = random.below(end);
        let mut file = file.clone();
        file[at] ^= 1 + random.below(255) as u8;
        let case = format!("byte {at} changed to {:#04x}", file[at]);
        match read(&file, &case) {
            Ok(network) => {
                taken += 1;
                evaluate(network, &case);
            }
            Err(error) => {
                refused += 1;
                check_message(&error, &case);
            }
        }
    }
    // Changes to the header are mostly noticed, changes to the data mostly not.
    assert!(refused > 70 && taken > 70, "{refused} refused, {taken} taken");
}

/// Every weight is finite, but not what comes of them: no move may be played on that.
#[test]
fn an_overflow_inside_the_network_is_refused() {
    let file = safetensors_file(spec().to_metadata(), &tensors(Dtype::F32, |x| x * 1e18));
    let network = read(&file, "huge weights").unwrap();
    let encoding = network.spec.encoding;
    let planes = {
        let mut planes = vec![0.0; 64 * encoding.planes()];
        encoding.encode(&Game::default(), &mut planes);
        ndarray::Array3::from_shape_vec((encoding.planes(), 8, 8), planes).unwrap()
    };
    let (logits, _) = fianchetto::network::reference::forward(&network, planes.view());
    assert!(logits.iter().any(|logit| !logit.is_finite()));
    let mut evaluator = Evaluator::new(encoding, Box::new(Cpu::new(network, 1)));
    let error = evaluator.evaluate(&Game::default()).unwrap_err().to_string();
    assert!(error.contains("finite number"), "{error}");
}

/// Headers that promise much, or hold much that is good for nothing.
#[test]
fn a_hostile_header_does_no_harm() {
    let tensor = |name: &str, shape: &str, end: u64| {
        format!(r#""{name}":{{"dtype":"F32","shape":[{shape}],"data_offsets":[0,{end}]}}"#)
    };
    let many: Vec<_> = (0..2_000).map(|i| tensor(&format!("t{i}"), "0", 0)).collect();
    let headers = [
        "{}".to_owned(),
        "[".repeat(100_000),
        format!(r#"{{"a":{}"#, "{\"a\":".repeat(100_000)),
        format!("{{{}}}", many.join(",")),
        format!("{{{}}}", tensor("t", &["0"; 50_000].join(","), 0)),
        format!("{{{}}}", tensor("t", &["1"; 50_000].join(","), 8)),
        format!("{{{}}}", tensor("stem.0.weight", "4611686018427387904,4", 0)),
        format!("{{{}}}", tensor("stem.0.weight", "1000000000000", 4_000_000_000_000)),
        format!("{{{}}}", tensor(&"long".repeat(50_000), "1", 8)),
        format!(r#"{{"__metadata__":{{"format_version":"{}"}}}}"#, "1".repeat(200_000)),
    ];
    for header in headers {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.bytes());
        let case = format!("{header:.60}");
        check_message(&read(&file, &case).expect_err(&case), &case);
        // With data behind it the header is in proportion, and so is parsed.
        file.resize(8 + 4 * header.len(), 0);
        check_message(&read(&file, &case).expect_err(&case), &case);
    }
    for length in [0, 1, 7, u64::from(u32::MAX), u64::MAX / 2, u64::MAX - 7, u64::MAX] {
        let mut file = small_file();
        file[..8].copy_from_slice(&length.to_le_bytes());
        let case = format!("a header of {length} bytes");
        check_message(&read(&file, &case).expect_err(&case), &case);
    }
}

fn check_message(error: &WeightsError, case: &str) {
    let message = error.to_string();
    let shown = message.chars().count();
    assert!((20..=300).contains(&shown), "{case}: {shown} characters: {message:.300}");
    assert!(!message.contains(char::is_control), "{case}: more than a line: {message}");
    assert!(message.contains("convert"), "{case}: does not say what to do: {message}");
}

#[test]
fn every_type_gives_the_same_network() {
    // Multiples of 1/64 up to 2 have at most eight significant bits: every type holds them exactly.
    let round = |x: f32| (64.0 * x).round().clamp(-128.0, 128.0) / 64.0;
    let networks = [Dtype::F32, Dtype::F16, Dtype::BF16].map(|dtype| {
        let file = safetensors_file(spec().to_metadata(), &tensors(dtype, round));
        let contents = Contents::from_safetensors(&file).unwrap();
        let stored: usize = spec().tensors().map(|(_, s)| s.iter().product::<usize>()).sum();
        assert_eq!(contents.values, [(dtype.to_string(), stored)].into());
        Network::<f32>::from_safetensors(&file).unwrap()
    });
    let bits = networks.map(|network| {
        assert_eq!(network.spec, spec());
        numbers(&residual(network)).into_iter().map(f32::to_bits).collect::<Vec<_>>()
    });
    assert!(bits[0] == bits[1], "F16 is not F32");
    assert!(bits[0] == bits[2], "BF16 is not F32");
}

#[test]
fn a_linear_layer_holds_the_numbers_of_the_file() {
    let network: Network = read(&random_weights::file(&spec(), SEED), "a file as it is").unwrap();
    let tensors = random_weights::tensors(&spec(), SEED);
    let (.., policy) = tensors.iter().find(|(name, ..)| name == "policy_fc.weight").unwrap();
    let Rows::Full(found) = residual(network).policy.weight else { panic!("F32 is not halved") };
    assert_eq!(found.dim(), (4096, 64));
    assert_eq!(found.as_slice(), Some(&policy[..]));
}

/// Gain, offset, mean and variance of a channel; the filter's first three weights; what scale, weights
/// and bias become, computed by Python's `decimal` with 50 digits and epsilon 1e-5, to the nearest `f64`.
const FOLDED: [([f32; 4], [f32; 3], [f64; 4]); 4] = [
    (
        [1.5, -0.75, 0.5, 2.0],
        [1.0, -2.0, 0.5],
        [
            1.060_657_520_139_335_6,
            -2.121_315_040_278_671,
            0.530_328_760_069_667_8,
            -1.280_328_760_069_667_8,
        ],
    ),
    (
        [-0.25, 0.125, -3.0, 0.0],
        [1.0, -2.0, 0.5],
        [
            -79.056_941_504_209_49,
            158.113_883_008_418_98,
            -39.528_470_752_104_745,
            -237.045_824_512_628_46,
        ],
    ),
    (
        [2.0, 1.0, 0.25, 0.5],
        [0.25, 3.0, -1.0],
        [
            0.707_099_710_224_799_9,
            8.485_196_522_697_6,
            -2.828_398_840_899_199_6,
            0.292_900_289_775_200_1,
        ],
    ),
    ([0.0, 0.625, 100.0, 1.0], [1.0, -2.0, 0.5], [0.0, 0.0, 0.0, 0.625]),
];

#[test]
fn batch_norm_is_folded_in_f64() {
    let mut tensors = random_weights::stored(&spec(), SEED);
    let mut set = |name: &str, values: &[f32]| {
        let (.., bytes) = tensors.iter_mut().find(|tensor| tensor.0 == name).unwrap();
        assert_eq!(bytes.len(), 4 * values.len());
        *bytes = store(values, Dtype::F32);
    };
    let parts = ["weight", "bias", "running_mean", "running_var"];
    for (i, part) in parts.into_iter().enumerate() {
        set(&format!("stem.1.{part}"), &FOLDED.map(|(norm, ..)| norm[i]));
    }
    let filter = |weights: [f32; 3]| (0..19 * 9).map(move |i| *weights.get(i).unwrap_or(&0.0));
    let weights: Vec<f32> = FOLDED.into_iter().flat_map(|(_, w, _)| filter(w)).collect();
    set("stem.0.weight", &weights);
    let file = safetensors_file(spec().to_metadata(), &tensors);

    let exact = residual(Network::<f64>::from_safetensors(&file).unwrap()).stem;
    let single = residual(Network::<f32>::from_safetensors(&file).unwrap()).stem;
    assert_eq!(exact.weight.dim(), (4, 19, 3, 3));
    for (o, (_, _, expected)) in FOLDED.into_iter().enumerate() {
        let at = |i| [o, 0, 0, i];
        let found = [exact.weight[at(0)], exact.weight[at(1)], exact.weight[at(2)], exact.bias[o]];
        for (found, expected) in found.into_iter().zip(expected) {
            let tolerance = 4.0 * f64::EPSILON * expected.abs();
            assert!((found - expected).abs() <= tolerance, "channel {o}: {found}, not {expected}");
        }
        let found =
            [single.weight[at(0)], single.weight[at(1)], single.weight[at(2)], single.bias[o]];
        assert_eq!(found, expected.map(|x| x as f32), "channel {o}");
        assert!(exact.weight[[o, 0, 1, 0]] == 0.0 && exact.weight[[o, 18, 2, 2]] == 0.0);
    }
}

/// A weights file before it is written, to be spoilt.
struct Draft {
    metadata: HashMap<String, String>,
    tensors: Vec<Stored>,
}

impl Draft {
    fn new(spec: &Spec) -> Self {
        Self { metadata: spec.to_metadata(), tensors: random_weights::stored(spec, SEED) }
    }

    fn tensor(&mut self, name: &str) -> &mut Stored {
        let tensor = self.tensors.iter_mut().find(|tensor| tensor.0 == name);
        tensor.unwrap_or_else(|| panic!("there is no tensor {name}"))
    }

    /// Does what the second column of `tests/data/weights.tsv` says.
    fn edit(&mut self, edit: &str) {
        match edit.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["nothing"] => {}
            ["pair"] => *self = Self::new(&random_weights::pair(4, 5)),
            ["int8"] => *self = Self::new(&random_weights::int8()),
            ["clear"] => self.metadata.clear(),
            ["remove", key] => assert!(self.metadata.remove(key).is_some(), "no key {key}"),
            ["set", key, value] => {
                assert!(self.metadata.insert(key.into(), value.into()).is_some(), "no key {key}");
            }
            ["new", key, value] => {
                assert!(self.metadata.insert(key.into(), value.into()).is_none(), "a key {key}");
            }
            ["drop", name] => {
                let before = self.tensors.len();
                self.tensors.retain(|tensor| tensor.0 != name);
                assert_eq!(self.tensors.len(), before - 1, "no tensor {name}");
            }
            ["add", name] => {
                self.tensors.push((name.into(), Dtype::F32, vec![1], vec![0; 4]));
            }
            ["shape", name, shape] => {
                let shape: Vec<usize> = shape.split(',').map(|n| n.parse().unwrap()).collect();
                let bytes = vec![0; 4 * shape.iter().product::<usize>()];
                *self.tensor(name) = (name.into(), Dtype::F32, shape, bytes);
            }
            ["type", name, dtype] => {
                let dtype: Dtype = serde_json::from_value(dtype.into()).unwrap();
                let (.., shape, bytes) = self.tensor(name);
                let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
                let (shape, bytes) = (shape.clone(), {
                    bytes.clear();
                    vec![0; len]
                });
                *self.tensor(name) = (name.into(), dtype, shape, bytes);
            }
            ["last", name, number] => {
                let number = f32::from_str(number).unwrap();
                let (.., bytes) = self.tensor(name);
                *bytes.last_chunk_mut().unwrap() = number.to_le_bytes();
            }
            _ => panic!("no edit is called {edit:?}"),
        }
    }
}

#[test]
fn bad_files_are_refused_with_reasons() {
    let mut cases = 0;
    for line in include_str!("data/weights.tsv").lines().filter(|line| !line.starts_with('#')) {
        let [edit, kind, words] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line:?}");
        };
        let mut draft = Draft::new(&spec());
        edit.split("; ").for_each(|edit| draft.edit(edit));
        let file = safetensors_file(draft.metadata, &draft.tensors);
        cases += 1;
        match (read(&file, edit), kind) {
            (Ok(network), "fine") => evaluate(network, edit),
            (Ok(_), _) => panic!("{edit}: taken, expected {kind}"),
            (Err(error), _) => {
                let found = format!("{error:?}");
                assert!(found.starts_with(kind), "{edit}: {found}, expected {kind}");
                check_message(&error, edit);
                let message = error.to_string();
                for word in words.split(" | ") {
                    assert!(message.contains(word), "{edit}: no {word:?} in {message:?}");
                }
            }
        }
    }
    assert!(cases > 50, "only {cases} cases were found");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let missing = Network::<f32>::load("no/such.safetensors").expect_err("no such file");
    assert!(matches!(missing, WeightsError::Read(_)), "{missing}");
    check_message(&missing, "no such file");
    let folder = Network::<f32>::load(env!("CARGO_MANIFEST_DIR")).expect_err("a folder");
    assert!(matches!(folder, WeightsError::Read(_)), "{folder}");
    check_message(&folder, "a folder");
}
