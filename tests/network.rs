//! The forward passes against PyTorch.

mod random_weights;

use fianchetto::backend::cpu::Cpu;
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::chess::Game;
use fianchetto::network::{Architecture, Network, Real, Spec, reference};
use ndarray::Array3;
use std::collections::HashMap;
use std::io::Write;
use std::process::Command;

/// Outputs that PyTorch computed in f64 (`tests/golden/network.py`).
struct Golden {
    name: &'static str,
    spec: Spec,
    seed: u64,
    positions: Vec<Position>,
}

struct Position {
    game: Game,
    value: f64,
    logits: Vec<(u16, f64)>,
}

macro_rules! golden {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("golden/network/", $name, ".tsv")))),*]
    };
}

fn golden() -> impl Iterator<Item = Golden> {
    let files = golden!(
        "16x1" "16x3-se" "16x3-r3-gate" "16x2-r2-gate-se-int8" "64x3-r2" "64x3-r2-se" "64x8-gate-se" "128x8" "128x8-r2-gate-se"
        "24x3-absolute" "20-70-pair"
    );
    files.into_iter().map(|(name, text)| {
        let (header, lines): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("# "));
        let header: HashMap<String, String> = header
            .iter()
            .map(|line| line[2..].split_once('\t').unwrap())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Golden {
            name,
            spec: Spec::from_metadata(&header).unwrap(),
            seed: header["seed"].parse().unwrap(),
            positions: lines.into_iter().map(position).collect(),
        }
    })
}

fn position(line: &str) -> Position {
    let fields: Vec<&str> = line.split('\t').collect();
    let logits = fields[2].split(' ').map(|pair| {
        let (index, logit) = pair.split_once(':').unwrap();
        (index.parse().unwrap(), logit.parse().unwrap())
    });
    Position {
        game: Game::from_fen(fields[0]).unwrap().0,
        value: fields[1].parse().unwrap(),
        logits: logits.collect(),
    }
}

impl Golden {
    fn network<T: Real>(&self) -> Network<T> {
        Network::from_safetensors(&random_weights::file(&self.spec, self.seed)).unwrap()
    }

    fn planes(&self, position: &Position) -> Vec<f32> {
        let mut planes = vec![0.0; 64 * self.spec.encoding.planes()];
        self.spec.encoding.encode(&position.game, &mut planes);
        planes
    }

    /// The largest difference of a logit, relative to the largest logit of all, and of a value.
    fn differences(&self, outputs: impl Iterator<Item = (Vec<f64>, f64)>) -> (f64, f64) {
        let (mut largest, mut logit_difference, mut value_difference) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (position, (logits, value)) in self.positions.iter().zip(outputs) {
            assert_eq!(logits.len(), position.logits.len());
            for (ours, (_, theirs)) in logits.into_iter().zip(&position.logits) {
                largest = largest.max(theirs.abs());
                logit_difference = logit_difference.max((ours - theirs).abs());
            }
            value_difference = value_difference.max((value - position.value).abs());
        }
        assert!(largest > 0.5, "the logits of {} are too small to tell anything", self.name);
        (logit_difference / largest, value_difference)
    }

    fn reference<T: Real>(&self) -> (f64, f64) {
        let network = self.network::<T>();
        let all = self.positions.iter().map(|position| {
            let planes = self.planes(position).into_iter().map(T::from_f32).collect();
            let planes =
                Array3::from_shape_vec((self.spec.encoding.planes(), 8, 8), planes).unwrap();
            let (logits, value) = reference::forward(&network, planes.view());
            let f64 = |x: T| x.to_f64().unwrap();
            (
                position.logits.iter().map(|&(index, _)| f64(logits[index as usize])).collect(),
                f64(value),
            )
        });
        self.differences(all)
    }

    fn backend(&self, backend: &mut dyn Backend, batch_size: usize) -> (f64, f64) {
        let mut batch = Batch::new(self.spec.encoding.planes());
        let mut outputs = Outputs::default();
        let all = self.positions.chunks(batch_size).flat_map(|positions| {
            batch.clear();
            for position in positions {
                batch.push(|planes, indices| {
                    planes.copy_from_slice(&self.planes(position));
                    indices.extend(position.logits.iter().map(|(index, _)| index));
                });
            }
            backend.evaluate(&batch, &mut outputs).unwrap();
            let position = |i| {
                let logits = &outputs.logits[batch.span(i..i + 1)];
                (logits.iter().copied().map(f64::from).collect(), outputs.values[i].into())
            };
            (0..positions.len()).map(position).collect::<Vec<_>>()
        });
        self.differences(all)
    }
}

fn check(name: &str, what: &str, (logits, values): (f64, f64), tolerance: f64) {
    println!("{name:<17} {what:<26} logits {logits:.1e}  values {values:.1e}");
    assert!(logits <= tolerance && values <= tolerance, "{name}, {what}: more than {tolerance:e}");
}

#[test]
fn reference_in_f64_is_pytorch() {
    for golden in golden() {
        check(golden.name, "reference f64", golden.reference::<f64>(), 1e-9);
    }
}

#[test]
fn reference_in_f32_is_pytorch() {
    for golden in golden() {
        check(golden.name, "reference f32", golden.reference::<f32>(), 1e-5);
    }
}

/// For any batch and threads.
fn cpu_is_pytorch(networks: impl Iterator<Item = Golden>) {
    for golden in networks {
        for threads in [1, 3] {
            let mut cpu = Cpu::new(golden.network(), threads);
            for batch_size in [1, 7, 8, 64] {
                let what = format!("cpu, {threads} threads, batch {batch_size}");
                check(golden.name, &what, golden.backend(&mut cpu, batch_size), 1e-5);
            }
        }
    }
}

fn is_narrow(golden: &Golden) -> bool {
    match &golden.spec.architecture {
        Architecture::Residual(sizes) => sizes.channels < 64,
        Architecture::SquarePair(sizes) => sizes.filters < 64,
    }
}

#[test]
fn cpu_is_pytorch_for_narrow_networks() {
    cpu_is_pytorch(golden().filter(is_narrow));
}

/// Too much for an emulated processor.
#[test]
fn cpu_is_pytorch_for_wide_networks() {
    cpu_is_pytorch(golden().filter(|golden| !is_narrow(golden)));
}

#[test]
fn an_empty_batch_is_no_work() {
    let golden = golden().next().unwrap();
    let mut outputs = Outputs { logits: vec![1.0], values: vec![1.0] };
    let batch = Batch::new(golden.spec.encoding.planes());
    Cpu::new(golden.network(), 2).evaluate(&batch, &mut outputs).unwrap();
    assert!(outputs.logits.is_empty() && outputs.values.is_empty());
}

#[test]
fn a_batch_for_another_network_is_refused() {
    let golden = golden().next().unwrap();
    let mut cpu = Cpu::new(golden.network(), 1);
    for (planes, index, word) in [(19, 4096, "4096"), (14, 0, "14 planes")] {
        let mut batch = Batch::new(planes);
        batch.push(|_, indices| indices.push(index));
        let error = cpu.evaluate(&batch, &mut Outputs::default()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// The golden files are what PyTorch computes today. Needs a Python with torch, numpy and chess:
/// `FIANCHETTO_PYTHON`, by default `python3`.
#[test]
fn golden_files_are_what_pytorch_computes() {
    let python = std::env::var("FIANCHETTO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/network.py");
    let output = Command::new(&python).args([script, "--check"]).output();
    let skip = |why: &str| {
        // Past the test runner's capture: a skipped check must be seen.
        let line = format!("SKIPPED golden_files_are_what_pytorch_computes: {why}\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    };
    match output {
        Err(error) => skip(&format!("cannot start {python}: {error}")),
        Ok(output) if output.status.code() == Some(3) => {
            skip(String::from_utf8_lossy(&output.stdout).trim());
        }
        Ok(output) => assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}
