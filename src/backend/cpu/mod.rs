//! The forward pass on the processor, with kernels of our own.
//!
//! - `simd`: vectors of numbers, one file for each instruction set.
//! - `product`: the micro-kernel, a product of some rows and a panel of weights.
//! - `convolution`: the layout of everything, and the 3x3 convolutions: read this page first.
//! - `winograd`, `boards`: transforms, and what else happens to a block of channels.
//! - `layer`: packed weights.
//! - `crew`, `order`, `buffer`: threads that work on one thing, and what they share.
//! - `tower`, `heads`: a residual network, phase by phase; `pair`: two networks that score squares.
//! - `choice`: which algorithm, by measurement; `clock`, `peak`: the measuring.
//!
//! One instruction set gives the same bits for any number of threads. The algorithm depends on the size of
//! the batch, and on nothing else in it: a position's outputs are the same bits in all batches of a size
//! for which `choice::algorithm` is the same.

mod boards;
mod buffer;
mod choice;
mod clock;
mod convolution;
mod crew;
mod heads;
mod layer;
mod order;
mod pair;
mod peak;
mod product;
mod simd;
#[cfg(test)]
mod tests;
mod tower;
mod winograd;

pub use clock::{Spent, Stage};
pub use convolution::Algorithm;

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::spec::Residual;
use crate::network::weights::ResidualLayers;
use crate::network::{Architecture, Layers, Network};
use buffer::Shared;
use choice::GROUP;
use clock::Clock;
use crew::{Crew, Member, Program};
use heads::{Features, Heads};
use order::Order;
use pair::Pair;
use simd::{Portable, Simd};
use std::cell::UnsafeCell;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tower::{Maps, Scratch, Tower};

/// Positions in a job, at most.
const JOB: usize = 4096;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// What every processor has.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512F.
    Avx512,
    /// NEON.
    Neon,
}

impl Instructions {
    /// All of them, the fastest last.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Those that this program has kernels for, the fastest last.
    pub fn built() -> impl Iterator<Item = Self> {
        let is_built = |set: &Self| match set {
            Self::Portable => true,
            Self::Avx2 | Self::Avx512 => cfg!(target_arch = "x86_64"),
            Self::Neon => cfg!(target_arch = "aarch64"),
        };
        Self::ALL.into_iter().filter(is_built)
    }

    /// Those of them that this processor has, the fastest last.
    pub fn available() -> impl Iterator<Item = Self> {
        let has = |set: &Self| match set {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => simd::Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => simd::Avx512::detect().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => simd::Neon::detect().is_some(),
            #[allow(unreachable_patterns)] // Sets of other processors.
            _ => false,
        };
        Self::ALL.into_iter().filter(has)
    }

    /// The fastest here.
    pub fn preferred() -> Self {
        Self::available().last().unwrap_or(Self::Portable)
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How to run a network. What is not said is chosen for this processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// At least one.
    pub threads: usize,
    /// The instruction set.
    pub instructions: Option<Instructions>,
    /// The algorithm for all convolutions of the tower.
    pub algorithm: Option<Algorithm>,
}

/// Runs a network on one or more threads.
pub struct Cpu {
    engine: Box<dyn Engine>,
    instructions: Instructions,
    settings: Settings,
    planes: usize,
    policy_size: usize,
    channels: usize,
    batch_sizes: [usize; 2],
    has_value: bool,
}

impl Cpu {
    /// Prepares a network to run on this many threads (at least one).
    pub fn new(network: Network, threads: usize) -> Self {
        let settings = Settings { threads, ..Settings::default() };
        Self::run_on(Instructions::preferred(), network, settings)
    }

    /// Prepares a network to run as the settings say.
    ///
    /// # Errors
    /// When this processor lacks the instruction set.
    pub fn with(network: Network, settings: Settings) -> Result<Self, BackendError> {
        let available: Vec<Instructions> = Instructions::available().collect();
        let instructions = settings.instructions.unwrap_or_else(Instructions::preferred);
        if !available.contains(&instructions) {
            let available: Vec<_> = available.into_iter().map(Instructions::name).collect();
            return Err(BackendError(format!(
                "this processor has no {instructions}, expected {}",
                available.join(" or ")
            )));
        }
        Ok(Self::run_on(instructions, network, settings))
    }

    /// Measures how many multiplications with addition a core does in a second at most, with the instruction
    /// set in use.
    pub fn peak(&self) -> f64 {
        self.engine.peak()
    }

    /// Evaluates a batch and tells where the first thread's time went, in the order of [`Stage::ALL`].
    ///
    /// # Errors
    /// As [`Backend::evaluate`].
    pub fn profile(
        &mut self,
        batch: &Batch,
        outputs: &mut Outputs,
    ) -> Result<[Spent; Stage::ALL.len()], BackendError> {
        self.engine.start_clock();
        let done = self.evaluate(batch, outputs);
        let spent = self.engine.stop_clock();
        done.map(|()| spent)
    }

    fn run_on(instructions: Instructions, network: Network, mut settings: Settings) -> Self {
        let (planes, policy_size) = (network.spec.encoding.planes(), network.spec.policy_size());
        let has_value = matches!(network.spec.architecture, Architecture::Residual(_));
        let (channels, group) = match &network.spec.architecture {
            Architecture::Residual(sizes) => (sizes.channels, GROUP),
            Architecture::SquarePair(sizes) => {
                // Winograd's ways are for 3x3 taps.
                settings.algorithm = Some(Algorithm::Direct);
                (sizes.filters, pair::GROUP)
            }
        };
        let engine = match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => engine(simd::Avx2::detect(), network, settings),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => engine(simd::Avx512::detect(), network, settings),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => engine(simd::Neon::detect(), network, settings),
            _ => engine(Portable::detect(), network, settings),
        };
        let batch_sizes = [1, group];
        Self {
            engine,
            instructions,
            settings,
            planes,
            policy_size,
            channels,
            batch_sizes,
            has_value,
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        let algorithm = |batch| match self.settings.algorithm {
            Some(algorithm) => algorithm,
            None => choice::algorithm(self.channels, batch, self.instructions),
        };
        let mut name = format!("cpu, {} ({}", self.instructions, algorithm(1));
        for batch in (2..=GROUP).filter(|&batch| algorithm(batch) != algorithm(batch - 1)) {
            name += &format!(", {} from batch {batch}", algorithm(batch));
        }
        name + ")"
    }

    fn device(&self) -> String {
        match self.engine.threads() {
            1 => "1 thread".to_owned(),
            n => format!("{n} threads"),
        }
    }

    fn batch_sizes(&self) -> &[usize] {
        &self.batch_sizes
    }

    fn has_value(&self) -> bool {
        self.has_value
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        batch.check(self.planes, self.policy_size)?;
        outputs.resize(batch);
        let fastest = choice::algorithm(self.channels, batch.len(), self.instructions);
        self.engine.evaluate(batch, outputs, self.settings.algorithm.unwrap_or(fastest));
        Ok(())
    }
}

/// A network made ready for one instruction set.
trait Engine: Send {
    fn threads(&self) -> usize;

    /// Evaluates a batch made for this network; `outputs` has its size.
    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs, algorithm: Algorithm);

    /// See [`Cpu::peak`].
    fn peak(&self) -> f64;

    /// Starts the clock of the first thread.
    fn start_clock(&mut self);

    /// Stops it.
    fn stop_clock(&mut self) -> [Spent; Stage::ALL.len()];
}

fn engine<S: Simd>(simd: Option<S>, network: Network, settings: Settings) -> Box<dyn Engine> {
    let simd = simd.expect("only an instruction set that is there is asked for");
    let threads = settings.threads.max(1);
    let planes = network.spec.encoding.planes();
    match (network.spec.architecture, network.layers) {
        (Architecture::Residual(sizes), Layers::Residual(layers)) => {
            let forward = Forward::new(simd, planes, sizes, layers, threads);
            Box::new(Crew::new(threads, Arc::new(forward)))
        }
        (_, Layers::SquarePair(layers)) => {
            Box::new(Crew::new(threads, Arc::new(Pair::new(simd, planes, layers))))
        }
        _ => unreachable!("a network has the layers of its architecture"),
    }
}

/// A whole residual network.
struct Forward<S> {
    simd: S,
    planes: usize,
    sizes: Residual,
    tower: Tower<S>,
    heads: Heads<S>,
    order: Order,
    /// One for each thread. A group that all threads work on lies in the first.
    groups: Vec<OnceLock<(Maps, Features)>>,
    scratch: Vec<ThreadsOwn<Scratch>>,
}

/// What one thread works in.
struct ThreadsOwn<T>(UnsafeCell<T>);

// SAFETY: only the thread whose it is touches it: see its use.
unsafe impl<T: Send> Sync for ThreadsOwn<T> {}

/// What the threads are told of a job: a number of 16 bits.
#[derive(Clone, Copy)]
struct Job {
    /// How many positions.
    n: usize,
    algorithm: Algorithm,
}

impl Job {
    fn to_bits(self) -> u64 {
        let algorithm = Algorithm::ALL.iter().position(|&a| a == self.algorithm);
        (self.n as u64 - 1) << 2 | algorithm.expect("one of all") as u64
    }

    fn from_bits(bits: u64) -> Self {
        Self { n: (bits >> 2) as usize + 1, algorithm: Algorithm::ALL[(bits & 3) as usize] }
    }
}

impl<S: Simd> Forward<S> {
    fn new(
        simd: S,
        planes: usize,
        sizes: Residual,
        layers: ResidualLayers<f32>,
        threads: usize,
    ) -> Self {
        Self {
            simd,
            planes,
            tower: Tower::new(simd, &layers.stem, layers.tower, layers.gate, layers.recurrence),
            heads: Heads::new(
                simd,
                (layers.policy_conv, layers.policy),
                (layers.value_conv, layers.value_hidden, layers.value),
            ),
            order: Order::none(),
            groups: (0..threads).map(|_| OnceLock::new()).collect(),
            scratch: (0..threads)
                .map(|_| ThreadsOwn(UnsafeCell::new(Scratch::new::<S>(&sizes, GROUP))))
                .collect(),
            sizes,
        }
    }

    /// The memory of a group.
    fn memory(&self, group: usize) -> &(Maps, Features) {
        let new =
            || (Maps::new::<S>(self.planes, &self.sizes, GROUP), Features::new(&self.sizes, GROUP));
        self.groups[group].get_or_init(new)
    }

    /// Whether so many positions are one group that all threads work on, block by block.
    fn is_shared(n: usize, threads: usize) -> bool {
        threads > 1 && n < 2 * threads && n <= GROUP
    }

    /// The group of positions that begins at `first`.
    fn group(
        &self,
        member: &mut Member<'_>,
        memory: usize,
        first: usize,
        n: usize,
        algorithm: Algorithm,
    ) {
        let (maps, features) = self.memory(memory);
        // SAFETY: each thread has an index of its own, and this is the only use.
        let scratch = unsafe { &mut *self.scratch[member.index].0.get() };

        member.each(n, |position| read_planes::<S>(&self.order, first, n, position, &maps.planes));
        let state = self.tower.run(member, maps, scratch, n, algorithm);
        let positions = first..first + n;
        self.heads.run(member, &maps.states[state], features, scratch, &self.order, positions);
    }
}

impl<S: Simd> Program for Forward<S> {
    /// All threads work on a few positions; of many each takes groups of its own.
    fn run(&self, member: &mut Member<'_>, job: u64) {
        let Job { n, algorithm } = Job::from_bits(job);
        let threads = member.threads();
        if Self::is_shared(n, threads) {
            return self.group(member, 0, 0, n, algorithm);
        }
        let groups = n.div_ceil(GROUP).next_multiple_of(threads).min(n);
        let index = member.index;
        member.each(groups, |group| {
            let (first, end) = (n * group / groups, n * (group + 1) / groups);
            self.group(&mut Member::alone(index), index, first, end - first, algorithm);
        });
    }
}

/// Turns the planes of a group's position, `first` being the group's, into its part of a map of n positions.
/// Inside of the piece that does.
fn read_planes<S: Simd>(order: &Order, first: usize, n: usize, position: usize, map: &Shared) {
    // SAFETY: inside of a piece, which makes this position of the planes.
    let planes = unsafe { order.planes(first + position) }.chunks_exact(64 * S::BLOCK);
    let last = planes.remainder();
    for (block, planes) in planes.chain([last]).enumerate() {
        let start = (block * n + position) * 64 * S::BLOCK;
        if planes.is_empty() {
            continue;
        }
        // SAFETY: as above.
        let board = unsafe { map.write(start..start + 64 * S::BLOCK) };
        board.fill(0.0);
        for (channel, plane) in planes.chunks_exact(64).enumerate() {
            for (square, &x) in board.chunks_exact_mut(S::BLOCK).zip(plane) {
                square[channel] = x;
            }
        }
    }
}

/// A program that evaluates what its order says.
trait Pass: Program {
    fn order(&self) -> &Order;

    /// Allocates what a job of so many positions needs.
    fn make_room(&self, n: usize, threads: usize);

    /// Sets the clock of the first thread, which calls this, between jobs.
    fn clock<T>(&self, set: impl FnOnce(&mut Clock) -> T) -> T;

    /// See [`Cpu::peak`].
    fn peak(&self) -> f64;
}

impl<S: Simd> Pass for Forward<S> {
    fn order(&self) -> &Order {
        &self.order
    }

    fn make_room(&self, n: usize, threads: usize) {
        if !Self::is_shared(n, threads) {
            // Now, or a thread that is late today would allocate in a later batch.
            (0..threads).for_each(|group| _ = self.memory(group));
        }
    }

    fn clock<T>(&self, set: impl FnOnce(&mut Clock) -> T) -> T {
        // SAFETY: called by the first thread, whose scratch it is, outside of its jobs.
        set(&mut unsafe { &mut *self.scratch[0].0.get() }.clock)
    }

    fn peak(&self) -> f64 {
        peak::multiplications_per_second(self.simd)
    }
}

impl<P: Pass> Engine for Crew<P> {
    fn threads(&self) -> usize {
        Crew::threads(self)
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs, algorithm: Algorithm) {
        for first in (0..batch.len()).step_by(JOB) {
            let n = (batch.len() - first).min(JOB);
            // SAFETY: the last job is over, and this one is before the borrows are.
            unsafe { self.program().order().set(batch, first, outputs) };
            self.program().make_room(n, self.threads());
            self.run(Job { n, algorithm }.to_bits());
        }
    }

    fn peak(&self) -> f64 {
        self.program().peak()
    }

    fn start_clock(&mut self) {
        self.program().clock(Clock::start);
    }

    fn stop_clock(&mut self) -> [Spent; Stage::ALL.len()] {
        self.program().clock(Clock::stop)
    }
}
