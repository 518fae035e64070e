//! Aligned memory, and memory that several threads work on.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;

/// A cache line, and the size of the largest vectors.
const ALIGNMENT: usize = 64;

/// What maps and weights are made of.
///
/// # Safety
/// All bits zero are one of them.
pub unsafe trait Number: Copy + Send + Sync + 'static {}

// SAFETY: that is 0.
unsafe impl Number for f32 {}
// SAFETY: that is 0.
unsafe impl Number for u8 {}
// SAFETY: that is 0.
unsafe impl Number for i8 {}

/// Numbers, zero at first, that begin on a cache line.
pub struct Aligned<T: Number = f32> {
    numbers: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its numbers as a `Vec` does.
unsafe impl<T: Number> Send for Aligned<T> {}
// SAFETY: a shared borrow of it only reads.
unsafe impl<T: Number> Sync for Aligned<T> {}

impl<T: Number> Aligned<T> {
    pub fn new(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout is not of size zero.
        let numbers = NonNull::new(unsafe { alloc(layout) });
        let numbers = numbers.unwrap_or_else(|| handle_alloc_error(layout));
        want_huge_pages(numbers, layout);
        // SAFETY: it has this size, and all bits zero are numbers.
        unsafe { numbers.write_bytes(0, layout.size()) };
        Self { numbers: numbers.cast(), len }
    }

    fn layout(len: usize) -> Layout {
        let numbers = Layout::array::<T>(len.max(1)).expect("buffers fit the address space");
        numbers.align_to(ALIGNMENT).expect("a power of two")
    }
}

/// Asks for pages of 2 MB: at batch 1 weights are read faster than their 4 KB pages are looked up.
#[cfg(target_os = "linux")]
fn want_huge_pages(memory: NonNull<u8>, layout: Layout) {
    const HUGE_PAGE: usize = 2 << 20;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(address: *mut u8, length: usize, advice: i32) -> i32;
    }
    let start = memory.as_ptr();
    let skipped = start.align_offset(HUGE_PAGE);
    let length = layout.size().saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
    if length > 0 {
        // SAFETY: whole pages of our own, whose contents the advice leaves alone. Where it is refused, all
        // is as before.
        unsafe { madvise(start.wrapping_add(skipped), length, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn want_huge_pages(_: NonNull<u8>, _: Layout) {}

impl<T: Number> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: allocated and initialised in `new`.
        unsafe { std::slice::from_raw_parts(self.numbers.as_ptr(), self.len) }
    }
}

impl<T: Number> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: allocated and initialised in `new`.
        unsafe { std::slice::from_raw_parts_mut(self.numbers.as_ptr(), self.len) }
    }
}

impl<T: Number> Drop for Aligned<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.numbers.as_ptr().cast(), Self::layout(self.len)) }
    }
}

/// Numbers that threads read and write in parts.
///
/// Who may touch what follows from the phases of [`super::crew`]: a part is written by the one piece of
/// work that makes it, and read in later phases. Each use says so.
pub struct Shared<T: Number = f32>(Aligned<T>);

// SAFETY: what is written through a shared borrow is the promise of `read` and `write`.
unsafe impl<T: Number> Sync for Shared<T> {}

impl<T: Number> Shared<T> {
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
    pub unsafe fn read(&self, part: Range<usize>) -> &[T] {
        assert!(part.start <= part.end && part.end <= self.0.len);
        // SAFETY: within the allocation, initialised; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.0.numbers.as_ptr().add(part.start), part.len()) }
    }

    /// A part to write to.
    ///
    /// # Safety
    /// Nobody else reads or writes the part while the slice lives.
    #[allow(clippy::mut_from_ref)] // The caller's promise stands for it.
    pub unsafe fn write(&self, part: Range<usize>) -> &mut [T] {
        assert!(part.start <= part.end && part.end <= self.0.len);
        let start = self.0.numbers.as_ptr();
        // SAFETY: within the allocation, initialised; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(start.add(part.start), part.len()) }
    }
}
