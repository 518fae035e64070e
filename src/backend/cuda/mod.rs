//! The forward pass on an NVIDIA GPU, with kernels of our own (`kernels/`, whose README has the design).
//!
//! - `device`: finding a GPU, and what to say when there is none.
//! - `pack`: the weights in the kernel's order.
//! - `staging`: a batch on its way to the GPU and its outputs on theirs back.
//!
//! The kernels are built into the program as PTX, which the driver compiles for its GPU. A position's outputs are the same bits in
//! every batch.

mod device;
mod pack;
mod staging;

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::Network;
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use device::{Device, Failed};
use pack::{Packed, Sizes};
use staging::Staging;
use std::ops::Range;

const FORWARD: &str = include_str!("../../../kernels/forward.ptx");

/// Positions in one launch, at most: beyond, whole launches are no slower.
const MOST: usize = 2048;

/// Runs a network on the first GPU.
pub struct Cuda {
    device: Device,
    kernel: CudaFunction,
    sizes: Sizes,
    policy_size: usize,
    weights: CudaSlice<f32>,
    /// For each block that runs at the same time, three maps.
    scratch: CudaSlice<f32>,
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

    /// Opens the first GPU and puts a network there.
    ///
    /// # Errors
    /// When there is no driver, no GPU, one that is too old or has too little memory, or when the network is a pair of square networks
    /// or too wide.
    pub fn new(network: &Network) -> Result<Self, BackendError> {
        let Packed { sizes, weights, threads, shared_memory } = pack::pack(network)?;
        let device = Device::open()?;
        let context = device.stream.context();
        let module = context
            .load_module(Ptx::from_src(FORWARD))
            .map_err(Failed::to("loading the kernels"))?;
        let kernel = module.load_function("forward").map_err(Failed::to("finding the kernel"))?;
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
            // SAFETY: the kernel writes its maps before it reads them.
            match unsafe { device.stream.alloc(blocks * 3 * 64 * sizes.channels as usize) } {
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
        let (Sizes { planes, .. }, stream) = (self.sizes, &self.device.stream);
        let count = positions.len();
        let staged = self.staging.upload(stream, batch, positions.clone())?;
        let number = i32::try_from(count).unwrap_or(i32::MAX); // At most MOST, or little more.
        let config = LaunchConfig { grid_dim: (count.min(self.blocks) as u32, 1, 1), ..self.block };
        debug_assert_eq!(planes as usize, batch.planes_per_position());
        let mut launch = stream.launch_builder(&self.kernel);
        launch
            .arg(&self.sizes)
            .arg(&number)
            .arg(&staged.planes)
            .arg(&staged.ends)
            .arg(&staged.indices);
        launch.arg(&self.weights).arg(&mut self.scratch).arg(&staged.values).arg(&staged.logits);
        // SAFETY: the arguments are those of `forward` in kernels/forward.cu, and large enough: the scratch for all blocks of a launch,
        // the rest by `upload`; the indices are within the policy.
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
        "cuda, fp32 (one block a position)".to_owned()
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
