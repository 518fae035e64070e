//! The forward pass on an NVIDIA GPU, with kernels of our own (`kernels/`, whose README has the design).
//!
//! - `device`: finding a GPU, and what to say when there is none.
//! - `arithmetic`, `pack`: the weights in the kernels' order.
//! - `staging`: a batch on its way to the GPU and its outputs on theirs back.
//!
//! The kernels are built into the program as PTX, which the driver compiles for its GPU. A position's outputs are the same bits in
//! every batch.

mod arithmetic;
mod device;
mod pack;
mod staging;

pub use arithmetic::Arithmetic;

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::Network;
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use device::{Device, Failed};
use pack::{Packed, Sizes, pack};
use staging::Staging;
use std::ops::Range;

const SINGLE: &str = include_str!("../../../kernels/forward.ptx");
const HALF: &str = include_str!("../../../kernels/forward_half.ptx");

/// The oldest compute capability with the tensor cores that `HALF` is written for.
const HALF_CAPABILITY: (i32, i32) = (8, 0);

/// Positions in one launch, at most: beyond, whole launches are no slower.
const MOST: usize = 2048;

/// Runs a network on the first GPU.
pub struct Cuda {
    device: Device,
    kernel: CudaFunction,
    arithmetic: Arithmetic,
    sizes: Sizes,
    policy_size: usize,
    weights: CudaSlice<u32>,
    /// For each block that runs at the same time what it needs.
    scratch: CudaSlice<u32>,
    /// Blocks that run at the same time: how many positions are evaluated in the time of one.
    blocks: usize,
    block: LaunchConfig,
    staging: Staging,
    /// Positions in one launch, at most. Less when memory was short.
    most: usize,
    batch_sizes: [usize; 2],
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
        let device = Device::open()?;
        if device.capability >= HALF_CAPABILITY
            && let Ok(packed) = pack(network, Arithmetic::Half, device.shared_memory)
        {
            return Self::load(device, packed, Arithmetic::Half, network);
        }
        let packed = pack(network, Arithmetic::Single, device.shared_memory)?;
        Self::load(device, packed, Arithmetic::Single, network)
    }

    /// The same in this arithmetic.
    ///
    /// # Errors
    /// As [`Cuda::new`], and when the GPU has no tensor cores for [`Arithmetic::Half`] or a weight is too large for it.
    pub fn with(network: &Network, arithmetic: Arithmetic) -> Result<Self, BackendError> {
        let device = Device::open()?;
        let (major, minor) = device.capability;
        if arithmetic == Arithmetic::Half && device.capability < HALF_CAPABILITY {
            return Err(BackendError(format!(
                "CUDA: {} has compute capability {major}.{minor}, expected 8.0 or newer for 16 bits",
                device.name
            )));
        }
        let packed = pack(network, arithmetic, device.shared_memory)?;
        Self::load(device, packed, arithmetic, network)
    }

    fn load(
        device: Device,
        packed: Packed,
        arithmetic: Arithmetic,
        network: &Network,
    ) -> Result<Self, BackendError> {
        let Packed { kernel, sizes, weights, threads, shared_memory, scratch } = packed;
        let ptx = match arithmetic {
            Arithmetic::Single => SINGLE,
            Arithmetic::Half => HALF,
        };
        let module = device.stream.context().load_module(Ptx::from_src(ptx));
        let module = module.map_err(Failed::to("loading the kernels"))?;
        let kernel = module.load_function(&kernel).map_err(Failed::to("finding the kernel"))?;
        let shared_bytes = i32::try_from(shared_memory).unwrap_or(i32::MAX); // Less than `pack` was given.
        let most_shared = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        kernel
            .set_attribute(most_shared, shared_bytes)
            .map_err(Failed::to("asking for shared memory"))?;
        let weights =
            device.stream.clone_htod(&weights).map_err(Failed::to("uploading the weights"))?;

        let block = LaunchConfig {
            grid_dim: (1, 1, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: shared_memory as u32,
        };
        let resident = kernel
            .occupancy_max_active_blocks_per_multiprocessor(threads as u32, shared_memory, None)
            .map_err(Failed::to("asking how many blocks run at once"))?;
        let mut blocks = device.multiprocessors * resident.max(1) as usize;
        let scratch = loop {
            // SAFETY: the kernel writes there before it reads.
            match unsafe { device.stream.alloc(blocks * scratch) } {
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
        Ok(Self {
            device,
            kernel,
            arithmetic,
            sizes,
            policy_size: network.spec.policy_size(),
            weights,
            scratch,
            blocks,
            block,
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
        let staged = self.staging.upload(stream, batch, positions.clone())?;
        let number = i32::try_from(count).unwrap_or(i32::MAX); // At most MOST, or little more.
        let config = LaunchConfig { grid_dim: (count.min(self.blocks) as u32, 1, 1), ..self.block };
        let mut launch = stream.launch_builder(&self.kernel);
        launch
            .arg(&self.sizes)
            .arg(&number)
            .arg(&staged.planes)
            .arg(&staged.ends)
            .arg(&staged.indices);
        launch.arg(&self.weights).arg(&mut self.scratch).arg(&staged.values).arg(&staged.logits);
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
