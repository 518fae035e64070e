//! Splits work over threads and picks the instruction set.

use crate::vector::{Portable, Vector};
use std::ops::Range;
use std::sync::Mutex;

/// Work on a range of items, written once for all instruction sets. `run` is `#[inline(always)]` in every implementation.
pub trait Task: Sync {
    /// Does the items of `range`; `thread` counts from 0.
    fn run<V: Vector>(&self, thread: usize, range: Range<usize>);
}

/// Runs `task` over `items` on `threads` threads, in equal parts of whole `grain`s: which thread does what depends on these
/// three alone.
pub fn run<T: Task>(task: &T, items: usize, grain: usize, threads: usize) {
    let grains = items.div_ceil(grain);
    let part = |thread: usize| {
        grains * thread / threads * grain..(grains * (thread + 1) / threads * grain).min(items)
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let part = part(thread);
            if part.is_empty() {
                continue;
            }
            let again = part.clone();
            // Without another thread the work is done by this one.
            if std::thread::Builder::new()
                .spawn_scoped(scope, move || dispatch(task, thread, part))
                .is_err()
            {
                dispatch(task, thread, again);
            }
        }
        dispatch(task, 0, part(0));
    });
}

fn dispatch<T: Task>(task: &T, thread: usize, range: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    if !portable_wanted() && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has both.
        return unsafe { avx2(task, thread, range) };
    }
    task.run::<Portable>(thread, range);
}

/// Whether `FIANCHETTO_TRAIN_PORTABLE` is set: the way to test the portable kernels on any machine.
#[cfg(target_arch = "x86_64")]
fn portable_wanted() -> bool {
    static WANTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("FIANCHETTO_TRAIN_PORTABLE").is_some())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<T: Task>(task: &T, thread: usize, range: Range<usize>) {
    task.run::<crate::vector::Avx2>(thread, range);
}

/// Buffers kept from call to call: fresh pages cost more than the arithmetic they serve.
static KEPT: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

/// Floats for the time of a call; what they hold is arbitrary.
pub struct Scratch(Vec<f32>);

impl Scratch {
    /// `len` floats.
    pub fn new(len: usize) -> Self {
        let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let place = kept.iter().position(|buffer| buffer.len() >= len);
        let buffer = place.map(|place| kept.swap_remove(place));
        drop(kept);
        Self(buffer.unwrap_or_else(|| vec![0.0; len]))
    }

    /// The floats.
    pub fn as_mut_ptr(&mut self) -> *mut f32 {
        self.0.as_mut_ptr()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        KEPT.lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(std::mem::take(&mut self.0));
    }
}

/// A pointer that threads share; each writes where no other reads or writes.
#[derive(Clone, Copy)]
pub struct Shared(pub *mut f32);

// SAFETY: a pointer is only an address; whoever dereferences it answers for the access.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}
