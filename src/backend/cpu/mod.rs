//! The forward pass on the processor, with kernels of our own.
//!
//! - `simd`: vectors of numbers, one file for each instruction set.
//! - `product`: the micro-kernel, a product of some rows and a panel of weights.
//! - `convolution`: the layout of everything, and the 3x3 convolutions: read this page first.
//! - `winograd`, `boards`: transforms, and what else happens to a block of channels.
//! - `layer`: packed weights.
//! - `int8`, `arithmetic`: the same convolutions in bytes, and what tower and convolutions want of each other.
//! - `crew`, `pass`, `order`, `buffer`: threads that work on one thing, and what they share.
//! - `forward`, `tower`, `heads`: a residual network, phase by phase; `pair`: two networks that score squares.
//! - `instructions`, `choice`: which instruction set; which algorithm, by measurement; `clock`, `peak`: the measuring.
//!
//! [`Cpu`] holds an `Engine`, which is a `Crew` of threads for one instruction set that run a `Pass`: a `Forward`
//! or a `Pair`. A good way through: `convolution`, `product`, `simd`, `winograd`, `layer`, `tower`, `crew`.
//!
//! A network of bytes gives the same bits on every processor. Of a plain one, one instruction set gives the same
//! bits for any number of threads. The algorithm depends on the size of the batch, and on nothing else in it: a
//! position's outputs are the same bits in all batches of a size for which `choice::algorithm` is the same.

mod arithmetic;
mod boards;
mod buffer;
mod choice;
mod clock;
mod convolution;
mod crew;
mod forward;
mod heads;
mod instructions;
mod int8;
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
pub use instructions::Instructions;

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::weights::Block;
use crate::network::{Architecture, Layers, Network, Tower};
use arithmetic::Arithmetic;
use choice::GROUP;
use clock::Clock;
use crew::Crew;
use forward::Forward;
use int8::ByteConvolutions;
use layer::Convolutions;
use pair::Pair;
use pass::{Job, MOST, Pass};
#[cfg(target_arch = "x86_64")]
use simd::bytes::{Avx512Vnni, AvxVnni, Maddubs};
use simd::bytes::{Bytes, Scalar, Steady};
#[cfg(target_arch = "aarch64")]
use simd::bytes::{Sdot, Smull};
use simd::{Portable, Simd};
use std::sync::Arc;

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
        Self::run_on(Instructions::preferred(&network.spec), network, settings)
    }

    /// Prepares a network to run as the settings say.
    ///
    /// # Errors
    /// When this processor lacks the instruction set, or the network has nothing for the algorithm.
    pub fn with(network: Network, settings: Settings) -> Result<Self, BackendError> {
        let spec = &network.spec;
        let instructions = settings.instructions.unwrap_or_else(|| Instructions::preferred(spec));
        if !Instructions::available(spec).any(|set| set == instructions) {
            let expected: Vec<_> = Instructions::available(spec).map(Instructions::name).collect();
            let why = match Instructions::built(spec).any(|set| set == instructions) {
                true => format!("this processor has no {instructions}"),
                false => format!("there is no {instructions} for this network"),
            };
            return Err(BackendError(format!("{why}, expected {}", expected.join(" or "))));
        }
        let algorithms = Algorithm::built(spec);
        if let Some(algorithm) = settings.algorithm
            && !algorithms.contains(&algorithm)
        {
            let expected: Vec<_> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let which = match spec.architecture {
                Architecture::SquarePair(_) => "a square pair, whose convolutions are 2x2",
                _ if spec.is_int8() => "an int8 network",
                _ => "a network that is not int8",
            };
            let expected = expected.join(" or ");
            return Err(BackendError(format!(
                "there is no {algorithm} for {which}: expected {expected}"
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
            Architecture::SquarePair(sizes) => (sizes.filters, pair::GROUP),
        };
        if let [algorithm] = Algorithm::built(&network.spec) {
            settings.algorithm = Some(*algorithm);
        }
        let engine = match (network.spec.is_int8(), instructions) {
            #[cfg(target_arch = "x86_64")]
            (false, Instructions::Avx2) => plain(simd::Avx2::detect(), network, settings),
            #[cfg(target_arch = "x86_64")]
            (false, Instructions::Avx512) => plain(simd::Avx512::detect(), network, settings),
            #[cfg(target_arch = "aarch64")]
            (false, Instructions::Neon) => plain(simd::Neon::detect(), network, settings),
            (false, _) => plain(Portable::detect(), network, settings),
            #[cfg(target_arch = "x86_64")]
            (true, Instructions::Avx2) => in_bytes(Maddubs::detect(), network, settings),
            #[cfg(target_arch = "x86_64")]
            (true, Instructions::AvxVnni) => in_bytes(AvxVnni::detect(), network, settings),
            #[cfg(target_arch = "x86_64")]
            (true, Instructions::Avx512Vnni) => in_bytes(Avx512Vnni::detect(), network, settings),
            #[cfg(target_arch = "aarch64")]
            (true, Instructions::Neon) => in_bytes(Smull::detect(), network, settings),
            #[cfg(target_arch = "aarch64")]
            (true, Instructions::Dotprod) => in_bytes(Sdot::detect(), network, settings),
            (true, _) => in_bytes(Scalar::<4, 6>::detect(), network, settings),
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

/// A network in floating point.
fn plain<S: Simd>(simd: Option<S>, network: Network, settings: Settings) -> Box<dyn Engine> {
    let simd = simd.expect(IS_THERE);
    match network.layers {
        Layers::Residual(_) => {
            residual::<Convolutions, S>(simd, network, settings, |tower| match tower {
                Tower::Plain(blocks) => blocks,
                Tower::Int8(_) => unreachable!("{OF_ITS_SPEC}"),
            })
        }
        Layers::SquarePair(layers) => {
            let pair = Pair::new(simd, network.spec.encoding.planes(), layers);
            Box::new(Crew::new(settings.threads.max(1), Arc::new(pair)))
        }
    }
}

/// A network in bytes.
fn in_bytes<B: Bytes>(
    simd: Option<Steady<B>>,
    network: Network,
    settings: Settings,
) -> Box<dyn Engine> {
    let simd = simd.expect(IS_THERE);
    residual::<ByteConvolutions, _>(simd, network, settings, |tower| match tower {
        Tower::Int8(blocks) => blocks,
        Tower::Plain(_) => unreachable!("{OF_ITS_SPEC}"),
    })
}

const IS_THERE: &str = "only an instruction set that is there is asked for";
const OF_ITS_SPEC: &str = "a network has the layers that its spec says";

fn residual<A: Arithmetic<S>, S: Simd>(
    simd: S,
    network: Network,
    settings: Settings,
    blocks: impl FnOnce(Tower<f32>) -> Vec<Block<f32, A::Convolution>>,
) -> Box<dyn Engine> {
    let (Architecture::Residual(sizes), Layers::Residual(mut layers)) =
        (network.spec.architecture, network.layers)
    else {
        unreachable!("{OF_ITS_SPEC}");
    };
    let (threads, planes) = (settings.threads.max(1), network.spec.encoding.planes());
    let blocks = blocks(std::mem::replace(&mut layers.tower, Tower::Plain(Vec::new())));
    let forward = Forward::<A, S>::new(simd, planes, sizes, layers, blocks, threads);
    Box::new(Crew::new(threads, Arc::new(forward)))
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
