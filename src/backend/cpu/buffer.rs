//! Aligned memory, and memory that several threads work on.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;

/// A cache line, and the size of the largest vectors.
const ALIGNMENT: usize = 64;

/// Numbers, zero at first, that begin on a cache line.
pub struct Aligned {
    numbers: NonNull<f32>,
    len: usize,
}

// SAFETY: it owns its numbers as a `Vec` does.
unsafe impl Send for Aligned {}
// SAFETY: a shared borrow only reads.
unsafe impl Sync for Aligned {}

impl Aligned {
    pub fn new(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout is not of size zero.
        let numbers = NonNull::new(unsafe { alloc_zeroed(layout) });
        if layout.size() >= 4 << 20 && std::env::var_os("HUGE").is_some() {
            unsafe extern "C" {
                fn madvise(a: *mut u8, l: usize, f: i32) -> i32;
            }
            let p = (numbers.unwrap().as_ptr() as usize).next_multiple_of(2 << 20);
            let e = (numbers.unwrap().as_ptr() as usize + layout.size()) & !((2 << 20) - 1);
            if e > p {
                unsafe {
                    madvise(p as *mut u8, e - p, 14);
                }
            }
        }
        Self { numbers: numbers.unwrap_or_else(|| handle_alloc_error(layout)).cast(), len }
    }

    fn layout(len: usize) -> Layout {
        let numbers = Layout::array::<f32>(len.max(1)).expect("buffers fit the address space");
        numbers.align_to(ALIGNMENT).expect("a power of two")
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: allocated and initialised in `new`.
        unsafe { std::slice::from_raw_parts(self.numbers.as_ptr(), self.len) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: allocated and initialised in `new`.
        unsafe { std::slice::from_raw_parts_mut(self.numbers.as_ptr(), self.len) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.numbers.as_ptr().cast(), Self::layout(self.len)) }
    }
}

/// Numbers that threads read and write in parts.
///
/// Who may touch what follows from the phases of [`super::crew`]: a part is written by the one piece of
/// work that makes it, and read in later phases. Each use says so.
pub struct Shared(Aligned);

impl Shared {
    pub fn new(len: usize) -> Self {
        Self(Aligned::new(len))
    }

    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The numbers of a part.
    ///
    /// # Safety
    /// Nobody writes to the part while the slice lives.
    pub unsafe fn read(&self, part: Range<usize>) -> &[f32] {
        assert!(part.start <= part.end && part.end <= self.0.len);
        // SAFETY: within the allocation, initialised; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.0.numbers.as_ptr().add(part.start), part.len()) }
    }

    /// A part to write to.
    ///
    /// # Safety
    /// Nobody else reads or writes the part while the slice lives.
    #[allow(clippy::mut_from_ref)] // The caller's promise stands for it.
    pub unsafe fn write(&self, part: Range<usize>) -> &mut [f32] {
        assert!(part.start <= part.end && part.end <= self.0.len);
        let start = self.0.numbers.as_ptr();
        // SAFETY: within the allocation, initialised; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(start.add(part.start), part.len()) }
    }
}
