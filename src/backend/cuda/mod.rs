//! The forward pass on an NVIDIA GPU, with kernels of our own (`kernels/`, whose README has the design).
//!
//! - `device`: finding a GPU, and what to say when there is none.
//! - `settings`: how to run a network.
//! - `pack`: the weights in the kernels' order.
//! - `staging`: a batch on its way to the GPU and its outputs on theirs back.
//!
//! The kernels are built into the program as PTX, which the driver compiles for its GPU. A position's outputs are the same bits in
//! every batch.

mod device;
mod pack;
mod settings;
mod staging;

pub use settings::{Arithmetic, Settings};

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::Network;
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use device::{Device, Failed};
use pack::{Packed, Sizes, pack};
use staging::Staging;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

const SINGLE: &str = include_str!("../../../kernels/forward.ptx");
const HALF: &str = include_str!("../../../kernels/forward_half.ptx");

/// The oldest compute capability with the tensor cores that `HALF` is written for.
const HALF_CAPABILITY: (i32, i32) = (8, 0);

/// Positions in one launch, at most: beyond, whole launches are no slower.
const MOST: usize = 2048;

/// The narrowest network that is split in 16 bits when nobody asks for it: in a narrower one a layer takes hardly longer than waiting
/// for the other blocks. To be measured: `tools/gpu`.
const HALF_CHANNELS: i32 = 256;

/// Words of a counter for the blocks of a position, so that no two share a line of the cache.
const COUNTER: usize = 32;

/// Held while blocks may wait for each other. Those of a launch all run at once when they are alone; those of two launches
/// that wait for each other might take each other's place for ever.
static TEAMS: Mutex<()> = Mutex::new(());

/// Runs a network on the first GPU.
pub struct Cuda {
    device: Device,
    arithmetic: Arithmetic,
    sizes: Sizes,
    policy_size: usize,
    weights: CudaSlice<u32>,
    /// For each position that is evaluated at the same time what its blocks need.
    scratch: CudaSlice<u32>,
    /// For each of them where its blocks meet.
    counters: CudaSlice<u32>,
    /// In the order of their splits.
    kernels: Vec<Kernel>,
    /// Positions that are evaluated in the time of one, in a large batch.
    blocks: usize,
    staging: Staging,
    /// Positions in one launch, at most. Less when memory was short.
    most: usize,
    batch_sizes: [usize; 2],
}

/// A way to evaluate positions.
struct Kernel {
    function: CudaFunction,
    /// Blocks for a position.
    split: usize,
    block: LaunchConfig,
    /// Positions at the same time: all their blocks run at once, for blocks that wait for others depend on that.
    teams: usize,
    /// For each of them, in words of global memory.
    scratch: usize,
}

impl Kernel {
    /// The one for so many positions: each over as many blocks as have a multiprocessor of their own.
    fn choose(kernels: &[Self], positions: usize, multiprocessors: usize) -> &Self {
        let suits = |kernel: &&Self| {
            positions <= kernel.teams && positions * kernel.split <= multiprocessors
        };
        kernels.iter().rev().find(suits).unwrap_or(&kernels[0])
    }

    fn load(
        device: &Device,
        module: &Arc<CudaModule>,
        kernel: &pack::Kernel,
    ) -> Result<Self, Failed> {
        let function =
            module.load_function(&kernel.name).map_err(Failed::to("finding the kernel"))?;
        let shared_bytes = i32::try_from(kernel.shared_memory).unwrap_or(i32::MAX); // Less than `pack` was given.
        let most_shared = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function
            .set_attribute(most_shared, shared_bytes)
            .map_err(Failed::to("asking for shared memory"))?;
        let threads = kernel.threads as u32;
        let resident = function
            .occupancy_max_active_blocks_per_multiprocessor(threads, kernel.shared_memory, None)
            .map_err(Failed::to("asking how many blocks run at once"))?;
        // One block alone waits for none.
        let resident = if kernel.split == 1 { resident.max(1) } else { resident };
        let teams = device.multiprocessors * resident as usize / kernel.split;
        let block = LaunchConfig {
            grid_dim: (1, 1, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: kernel.shared_memory as u32,
        };
        Ok(Self { function, split: kernel.split, block, teams, scratch: kernel.scratch })
    }
}

impl Cuda {
    /// Whether this program was built with it.
    pub const BUILT: bool = true;

    /// Opens the first GPU and puts a network there, in the fastest arithmetic that both have.
    ///
    /// # Errors
    /// When there is no driver, no GPU, one that is too old or has too little memory, or when the network is a pair of square networks
    /// or too wide.
    pub fn new(network: &Network) -> Result<Self, BackendError> {
        Self::with(network, Settings::default())
    }

    /// The same as the settings say.
    ///
    /// # Errors
    /// As [`Cuda::new`], and when the GPU has no tensor cores for [`Arithmetic::Half`], a weight is too large for it, or there is no
    /// kernel for the split.
    pub fn with(network: &Network, settings: Settings) -> Result<Self, BackendError> {
        let device = Device::open()?;
        let (major, minor) = device.capability;
        let has_tensor_cores = device.capability >= HALF_CAPABILITY;
        if settings.arithmetic == Some(Arithmetic::Half) && !has_tensor_cores {
            return Err(BackendError(format!(
                "CUDA: {} has compute capability {major}.{minor}, expected 8.0 or newer for 16 bits",
                device.name
            )));
        }
        if settings.arithmetic.is_none()
            && has_tensor_cores
            && let Ok(packed) = pack(network, Arithmetic::Half, device.shared_memory)
        {
            return Self::load(device, packed, Arithmetic::Half, settings.split, network);
        }
        let arithmetic = settings.arithmetic.unwrap_or(Arithmetic::Single);
        let packed = pack(network, arithmetic, device.shared_memory)?;
        Self::load(device, packed, arithmetic, settings.split, network)
    }

    fn load(
        device: Device,
        packed: Packed,
        arithmetic: Arithmetic,
        split: Option<usize>,
        network: &Network,
    ) -> Result<Self, BackendError> {
        let ptx = match arithmetic {
            Arithmetic::Single => SINGLE,
            Arithmetic::Half => HALF,
        };
        let module = device.stream.context().load_module(Ptx::from_src(ptx));
        let module = module.map_err(Failed::to("loading the kernels"))?;
        let weights = device.stream.clone_htod(&packed.weights);
        let weights = weights.map_err(Failed::to("uploading the weights"))?;

        let is_wanted = |kernel: &&pack::Kernel| match (split, arithmetic) {
            (Some(split), _) => kernel.split == split,
            (None, Arithmetic::Single) => true,
            (None, Arithmetic::Half) => kernel.split == 1 || packed.sizes.channels >= HALF_CHANNELS,
        };
        let mut kernels = Vec::new();
        for kernel in packed.kernels.iter().filter(is_wanted) {
            kernels.push(Kernel::load(&device, &module, kernel)?);
        }
        kernels.retain(|kernel| kernel.teams > 0);
        if kernels.is_empty() {
            let known: Vec<_> =
                packed.kernels.iter().map(|kernel| kernel.split.to_string()).collect();
            return Err(BackendError(format!(
                "CUDA: {} cannot split a position of this network so, expected {} blocks for it",
                device.name,
                known.join(" or ")
            )));
        }
        let mut blocks = kernels[0].teams;
        let scratch = loop {
            let words = kernels.iter().map(|kernel| kernel.teams.min(blocks) * kernel.scratch);
            let words = words.max().unwrap_or_default();
            // SAFETY: the kernels write there before they read.
            match unsafe { device.stream.alloc(words) } {
                Ok(scratch) => break scratch,
                Err(error) => {
                    let failed = Failed::to("allocating room for the maps")(error);
                    if !failed.is_out_of_memory() || blocks == 1 {
                        return Err(failed.into());
                    }
                    blocks /= 2;
                }
            }
        };
        for kernel in &mut kernels {
            kernel.teams = kernel.teams.min(blocks);
        }
        let teams = kernels.iter().map(|kernel| kernel.teams).max().unwrap_or_default();
        let counters = device.stream.clone_htod(&vec![0; teams * COUNTER]);
        let counters = counters.map_err(Failed::to("allocating room for the maps"))?;
        Ok(Self {
            device,
            arithmetic,
            sizes: packed.sizes,
            policy_size: network.spec.policy_size(),
            weights,
            scratch,
            counters,
            kernels,
            blocks,
            staging: Staging::default(),
            most: MOST.next_multiple_of(blocks),
            batch_sizes: [1, blocks],
        })
    }

    /// Evaluates these positions of the batch in one launch.
    fn launch(
        &mut self,
        batch: &Batch,
        positions: Range<usize>,
        outputs: &mut Outputs,
    ) -> Result<(), Failed> {
        let stream = &self.device.stream;
        let count = positions.len();
        let number = i32::try_from(count).unwrap_or(i32::MAX); // At most MOST, or little more.
        let kernel = Kernel::choose(&self.kernels, count, self.device.multiprocessors);
        let staged = self.staging.upload(stream, batch, positions.clone())?;
        let blocks = count.min(kernel.teams) * kernel.split;
        let config = LaunchConfig { grid_dim: (blocks as u32, 1, 1), ..kernel.block };
        // Until the outputs are here.
        let _alone =
            (kernel.split > 1).then(|| TEAMS.lock().unwrap_or_else(PoisonError::into_inner));
        let mut launch = stream.launch_builder(&kernel.function);
        launch
            .arg(&self.sizes)
            .arg(&number)
            .arg(&staged.planes)
            .arg(&staged.ends)
            .arg(&staged.indices);
        launch.arg(&self.weights).arg(&mut self.scratch).arg(&mut self.counters);
        launch.arg(&staged.values).arg(&staged.logits);
        // SAFETY: the arguments are those of the kernels in kernels/*.cu, and large enough: the weights and the scratch of so many blocks
        // by `pack`, the rest by `upload`; the indices are within the policy.
        let started = unsafe { launch.launch(config) }.map_err(Failed::to("starting the kernel"));
        if let Err(failed) = started {
            // Nothing may be on its way any more when the memory is used again.
            let _ = stream.synchronize();
            return Err(failed);
        }
        let span = batch.span(positions.clone());
        self.staging.download(stream, &mut outputs.values[positions], &mut outputs.logits[span])
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        match self.arithmetic {
            Arithmetic::Single => "cuda, fp32".to_owned(),
            Arithmetic::Half => "cuda, fp16 on tensor cores".to_owned(),
        }
    }

    fn device(&self) -> String {
        self.device.name.clone()
    }

    fn batch_sizes(&self) -> &[usize] {
        &self.batch_sizes
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        batch.check(self.sizes.planes as usize, self.policy_size)?;
        outputs.resize(batch);
        let mut first = 0;
        while first < batch.len() {
            let count = (batch.len() - first).min(self.most);
            match self.launch(batch, first..first + count, outputs) {
                Ok(()) => first += count,
                Err(failed) if failed.is_out_of_memory() && count > 1 => {
                    // Whole waves of blocks, as long as there are any.
                    let half = count / 2;
                    self.most =
                        if half > self.blocks { half / self.blocks * self.blocks } else { half };
                }
                Err(failed) => return Err(failed.into()),
            }
        }
        Ok(())
    }
}
