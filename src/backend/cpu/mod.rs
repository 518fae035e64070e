//! The forward pass on the processor, with kernels of our own.
//!
//! - `simd`: vectors of numbers, one file for each instruction set.
//! - `product`: the micro-kernel, a product of some rows and a panel of weights.
//! - `convolution`: the layout of everything, and the 3x3 convolutions: read this page first.
//! - `winograd`, `boards`: transforms, and what else happens to a block of channels.
//! - `layer`: packed weights.
//! - `crew`, `pass`, `order`, `buffer`: threads that work on one thing, and what they share.
//! - `forward`, `tower`, `heads`: a residual network, phase by phase; `pair`: two networks that score squares.
//! - `choice`: which algorithm, by measurement; `clock`, `peak`: the measuring.
//!
//! [`Cpu`] holds an `Engine`, which is a `Crew` of threads for one instruction set that run a `Pass`: a `Forward`
//! or a `Pair`. A good way through: `convolution`, `product`, `simd`, `winograd`, `layer`, `tower`, `crew`.
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
mod forward;
mod heads;
mod layer;
mod order;
mod pair;
mod pass;
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
use crate::network::{Architecture, Layers, Network};
use choice::GROUP;
use clock::Clock;
use crew::Crew;
use forward::Forward;
use pair::Pair;
use pass::{Job, MOST, Pass};
use simd::{Portable, Simd};
use std::fmt;
use std::sync::Arc;

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
    /// When this processor lacks the instruction set, or the network has nothing for the algorithm.
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
        if let (Architecture::SquarePair(_), Some(algorithm)) =
            (&network.spec.architecture, settings.algorithm)
            && algorithm != Algorithm::Direct
        {
            return Err(BackendError(format!(
                "{algorithm} is for 3x3 convolutions, those of a square pair are 2x2: expected {}",
                Algorithm::Direct
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

impl<P: Pass> Engine for Crew<P> {
    fn threads(&self) -> usize {
        Crew::threads(self)
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs, algorithm: Algorithm) {
        for first in (0..batch.len()).step_by(MOST) {
            let n = (batch.len() - first).min(MOST);
            let job = Job { n, algorithm };
            self.program().make_room(job, self.threads());
            // SAFETY: no piece of work is under way, and `run` comes back before these borrows end.
            unsafe { self.program().order().set(batch, first, outputs) };
            self.run(job.to_number());
        }
    }

    fn peak(&self) -> f64 {
        self.program().peak()
    }

    fn start_clock(&mut self) {
        // SAFETY: who gives the jobs is the first thread, and this is between them.
        unsafe { self.program().clock(Clock::start) };
    }

    fn stop_clock(&mut self) -> [Spent; Stage::ALL.len()] {
        // SAFETY: as above.
        unsafe { self.program().clock(Clock::stop) }
    }
}
