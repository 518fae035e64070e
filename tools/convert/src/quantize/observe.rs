//! What goes into each convolution of the tower, over many positions.

use super::threads;
use fianchetto::chess::Game;
use fianchetto::network::{Layers, Network, Tower, int8, reference};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Array3, ArrayView3};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Positions that one thread takes at a time.
const CHUNK: usize = 16;

/// Something that is kept of the inputs of one convolution.
pub trait Observation: Send + Sized {
    /// What must be known of all convolutions.
    type Given: Sync + ?Sized;

    /// Of no input yet, of convolution `number` with so many input channels.
    fn new(given: &Self::Given, number: usize, channels: usize) -> Self;

    /// Takes note of an input, `[channels, 8, 8]`.
    fn note(&mut self, input: ArrayView3<'_, f32>);

    /// Adds what was noted of later inputs.
    fn append(&mut self, later: &Self);
}

/// Observes all convolutions of the tower on positions; on a terminal a bar shows how far that is. However many threads there
/// are, the result is the same.
pub fn observe<O: Observation>(network: &Network, games: &[Game], given: &O::Given) -> Vec<O> {
    let style = ProgressStyle::with_template("calibrating  {wide_bar} {pos}/{len}  {eta} left");
    let bar = ProgressBar::new(games.len() as u64).with_style(style.expect("it is well-formed"));
    let bar = bar.with_finish(ProgressFinish::AndClear);
    let chunks: Vec<&[Game]> = games.chunks(CHUNK).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads() {
            let (next, chunks, sender) = (&next, &chunks, sender.clone());
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(chunk) = chunks.get(i) else { break };
                    if sender.send((i, observe_chunk::<O>(network, chunk, given))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        // Sums of floating point depend on their order.
        let mut early = std::collections::BTreeMap::new();
        let mut all: Vec<O> = empty(network, given);
        let mut wanted = 0;
        for (i, observed) in receiver {
            early.insert(i, observed);
            while let Some(observed) = early.remove(&wanted) {
                all.iter_mut()
                    .zip(&observed)
                    .for_each(|(all, observed): (&mut O, &O)| all.append(observed));
                wanted += 1;
                bar.inc(CHUNK as u64);
            }
        }
        all
    })
}

fn empty<O: Observation>(network: &Network, given: &O::Given) -> Vec<O> {
    let Layers::Residual(layers) = &network.layers else { return Vec::new() };
    let blocks = match &layers.tower {
        Tower::Plain(blocks) => blocks.len(),
        Tower::Int8(blocks) => blocks.len(),
    };
    (0..2 * blocks).map(|number| O::new(given, number, layers.stem.bias.len())).collect()
}

fn observe_chunk<O: Observation>(network: &Network, games: &[Game], given: &O::Given) -> Vec<O> {
    let encoding = network.spec.encoding;
    let mut all = empty::<O>(network, given);
    for game in games {
        let mut planes = Array3::zeros((encoding.planes(), 8, 8));
        encoding.encode(game, planes.as_slice_mut().expect("it is contiguous"));
        reference::observe(network, planes.view(), &mut |number, input| all[number].note(input));
    }
    all
}

/// The largest input of each channel in each position, `[channels][positions]`.
pub struct Largest(Vec<Vec<f32>>);

impl Largest {
    /// What is exceeded in one position of so many only, `[channels]`; sorts.
    pub fn all_but_one_in(&mut self, many: usize) -> Array1<f32> {
        let all = self.0.iter_mut().map(|all| {
            all.sort_unstable_by(f32::total_cmp);
            let rank = all.len().saturating_sub(1 + all.len() / many);
            all.get(rank).copied().unwrap_or_default()
        });
        all.collect()
    }
}

impl Observation for Largest {
    type Given = ();

    fn new((): &(), _: usize, channels: usize) -> Self {
        Self(vec![Vec::new(); channels])
    }

    fn note(&mut self, input: ArrayView3<'_, f32>) {
        for (all, board) in self.0.iter_mut().zip(input.outer_iter()) {
            all.push(board.iter().copied().fold(0.0, f32::max));
        }
    }

    fn append(&mut self, later: &Self) {
        self.0.iter_mut().zip(&later.0).for_each(|(all, later)| all.extend(later));
    }
}

/// The mean inputs, and what bytes make of them.
pub struct Means {
    input_scale: Array1<f32>,
    count: f64,
    /// Sums `[channels, 8, 8]`.
    exact: Array3<f64>,
    bytes: Array3<f64>,
}

impl Means {
    /// The mean of the inputs and of the bytes that they become, `[channels, 8, 8]` both.
    pub fn get(&self) -> (Array3<f64>, Array3<f64>) {
        (&self.exact / self.count.max(1.0), &self.bytes / self.count.max(1.0))
    }
}

/// The products of the bytes that a filter sees, `[channels * 9, channels * 9]`, summed over positions and squares.
pub struct Products {
    input_scale: Array1<f32>,
    sums: Array2<f32>,
}

impl Products {
    /// The sums.
    pub fn get(&self) -> Array2<f64> {
        self.sums.mapv(f64::from)
    }
}

impl Observation for Products {
    type Given = [Array1<f32>];

    fn new(input_scales: &[Array1<f32>], number: usize, channels: usize) -> Self {
        let input_scale = input_scales[number].clone();
        Self { input_scale, sums: Array2::zeros((channels * 9, channels * 9)) }
    }

    fn note(&mut self, input: ArrayView3<'_, f32>) {
        let mut seen = Array2::zeros((self.sums.nrows(), 64));
        for (c, board) in input.outer_iter().enumerate() {
            for ((rank, file), &x) in board.indexed_iter() {
                let byte = f32::from(int8::byte(x, self.input_scale[c]));
                // The filter's tap (y, x) sees this square from that on the other side of it.
                for (tap, (y, x)) in (0..9).map(|tap| (tap, (tap / 3, tap % 3))) {
                    let (Some(rank), Some(file)) =
                        ((rank + 1).checked_sub(y), (file + 1).checked_sub(x))
                    else {
                        continue;
                    };
                    if rank < 8 && file < 8 {
                        seen[[9 * c + tap, 8 * rank + file]] = byte;
                    }
                }
            }
        }
        general_mat_mul(1.0, &seen, &seen.t(), 1.0, &mut self.sums);
    }

    fn append(&mut self, later: &Self) {
        self.sums += &later.sums;
    }
}

impl Observation for Means {
    type Given = [Array1<f32>];

    fn new(input_scales: &[Array1<f32>], number: usize, channels: usize) -> Self {
        let sums = || Array3::zeros((channels, 8, 8));
        let input_scale = input_scales[number].clone();
        Self { input_scale, count: 0.0, exact: sums(), bytes: sums() }
    }

    fn note(&mut self, input: ArrayView3<'_, f32>) {
        self.count += 1.0;
        self.exact.zip_mut_with(&input, |sum, &x| *sum += f64::from(x));
        for (c, input) in input.outer_iter().enumerate() {
            let scale = self.input_scale[c];
            let mut sums = self.bytes.index_axis_mut(ndarray::Axis(0), c);
            sums.zip_mut_with(&input, |sum, &x| *sum += f64::from(int8::byte(x, scale)));
        }
    }

    fn append(&mut self, later: &Self) {
        self.count += later.count;
        self.exact += &later.exact;
        self.bytes += &later.bytes;
    }
}
