//! What goes into each convolution of the tower, over many positions.

use super::threads;
use fianchetto::chess::Game;
use fianchetto::network::{Layers, Network, Tower, int8, reference};
use ndarray::{Array1, Array3, ArrayView3};
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

/// Observes all convolutions of the tower on positions. However many threads there are, the result is the same.
pub fn observe<O: Observation>(network: &Network, games: &[Game], given: &O::Given) -> Vec<O> {
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

/// The largest input of each channel, `[channels]`.
pub struct Largest(pub Array1<f32>);

impl Observation for Largest {
    type Given = ();

    fn new((): &(), _: usize, channels: usize) -> Self {
        Self(Array1::zeros(channels))
    }

    fn note(&mut self, input: ArrayView3<'_, f32>) {
        for (largest, board) in self.0.iter_mut().zip(input.outer_iter()) {
            *largest = board.iter().copied().fold(*largest, f32::max);
        }
    }

    fn append(&mut self, later: &Self) {
        self.0.zip_mut_with(&later.0, |a, b| *a = a.max(*b));
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
