//! The driver, carefully: cudarc panics where there is no driver library, or one that lacks a function.

use crate::backend::BackendError;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult as Status};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use std::fmt;
use std::sync::Arc;

/// The CUDA version that the PTX asks of the driver, as `cuDriverGetVersion` tells it, and the first driver that has it.
const VERSION: (i32, &str) = (12_000, "525");

/// The oldest compute capability that the PTX is for.
const CAPABILITY: (i32, i32) = (6, 1);

/// A GPU and a queue of work for it.
pub struct Device {
    pub stream: Arc<CudaStream>,
    pub multiprocessors: usize,
    /// Major and minor.
    pub capability: (i32, i32),
    /// What a block may ask for, in bytes.
    pub shared_memory: usize,
    /// For people: `"NVIDIA H200, driver for CUDA 13.0"`.
    pub name: String,
}

/// What failed, for which there may be a remedy.
#[derive(Debug)]
pub struct Failed {
    pub doing: &'static str,
    pub status: Status,
}

impl Failed {
    /// For `map_err`: turns an error into one that tells what failed.
    pub fn to(doing: &'static str) -> impl Fn(DriverError) -> Self {
        move |error| Self { doing, status: error.0 }
    }

    pub fn is_out_of_memory(&self) -> bool {
        self.status == Status::CUDA_ERROR_OUT_OF_MEMORY
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.status {
            Status::CUDA_ERROR_NO_DEVICE => {
                "the driver sees no GPU; look at nvidia-smi, and whether CUDA_VISIBLE_DEVICES hides it"
            }
            Status::CUDA_ERROR_STUB_LIBRARY => {
                "libcuda is the toolkit's stub, expected the driver's; take the toolkit's folder off the library path"
            }
            Status::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
                "libcuda and the kernel's driver are of different versions; restart the machine after an update"
            }
            Status::CUDA_ERROR_OUT_OF_MEMORY => {
                "not enough memory; other programs may use the GPU, see nvidia-smi"
            }
            Status::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                "the driver is too old; install a newer one"
            }
            _ => match DriverError(self.status).error_string() {
                Ok(text) => return write!(f, "{}: {}", self.doing, text.to_string_lossy()),
                Err(_) => return write!(f, "{}: error {:?}", self.doing, self.status),
            },
        };
        write!(f, "{}: {words}", self.doing)
    }
}

impl From<Failed> for BackendError {
    fn from(failed: Failed) -> Self {
        Self(format!("CUDA: {failed}"))
    }
}

impl Device {
    /// The first GPU.
    pub fn open() -> Result<Self, BackendError> {
        // SAFETY: loads the driver library, whose initialisers are trusted as those of any library.
        if !unsafe { sys::is_culib_present() } {
            let text = "CUDA: there is no driver library (libcuda.so.1, nvcuda.dll); install NVIDIA's driver";
            return Err(BackendError(text.to_owned()));
        }
        let version = driver_version().map_err(Failed::to("asking for the driver's version"))?;
        let dotted = |version: i32| format!("{}.{}", version / 1000, version % 1000 / 10);
        if version < VERSION.0 {
            return Err(BackendError(format!(
                "CUDA: the driver is for CUDA {}, expected {} or newer; install driver {} or newer",
                dotted(version),
                dotted(VERSION.0),
                VERSION.1
            )));
        }
        result::init().map_err(Failed::to("starting the driver"))?;
        let count = result::device::get_count().map_err(Failed::to("looking for a GPU"))?;
        if count < 1 {
            return Err(Failed {
                doing: "looking for a GPU",
                status: Status::CUDA_ERROR_NO_DEVICE,
            }
            .into());
        }
        let context = CudaContext::new(0).map_err(Failed::to("opening the GPU"))?;
        let failed = Failed::to("asking what the GPU is");
        let name = context.name().map_err(&failed)?;
        let capability = context.compute_capability().map_err(&failed)?;
        if capability < CAPABILITY {
            return Err(BackendError(format!(
                "CUDA: {name} has compute capability {}.{}, expected {}.{} or newer",
                capability.0, capability.1, CAPABILITY.0, CAPABILITY.1
            )));
        }
        let size = |attribute| {
            let found = context.attribute(attribute).map_err(&failed)?;
            Ok::<_, Failed>(usize::try_from(found).unwrap_or_default())
        };
        let multiprocessors = size(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1);
        let shared_memory = size(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        // SAFETY: there is one stream, and it does everything in order: nothing needs to be waited for by events.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(Failed::to("making a stream"))?;
        Ok(Self {
            stream,
            multiprocessors,
            capability,
            shared_memory,
            name: format!("{name}, driver for CUDA {}", dotted(version)),
        })
    }
}

fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: writes one integer; may be called before the driver is started.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
    Ok(version)
}
