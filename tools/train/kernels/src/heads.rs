//! The policy layer, as C sees it.

use crate::interface::{DONE, Pointer, REFUSED, complete};
use crate::legal::Layer;
use crate::threads::Shared;

/// `output[b, l] = weight[index[b, l]] · x[b] + bias[index[b, l]]` for `l < count[b]`, minus infinity behind.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LegalForward {
    /// `[boards, inputs]`.
    pub x: Pointer,
    /// `[rows, inputs]`.
    pub weight: Pointer,
    /// `[rows]`.
    pub bias: Pointer,
    /// `[boards, width]`.
    pub index: *const i64,
    /// `[boards]`.
    pub count: *const i64,
    /// Takes `[boards, width]`.
    pub output: Pointer,
    /// Boards.
    pub boards: usize,
    /// Outputs of a board at most.
    pub width: usize,
    /// Features of a board.
    pub inputs: usize,
    /// Rows of the weight.
    pub rows: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// The gradients of [`LegalForward`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LegalBackward {
    /// As in the forward pass.
    pub x: Pointer,
    /// As in the forward pass.
    pub weight: Pointer,
    /// As in the forward pass.
    pub index: *const i64,
    /// As in the forward pass.
    pub count: *const i64,
    /// The gradient by the output; what lies behind `count` is not read.
    pub gradient: Pointer,
    /// Takes `[boards, inputs]`.
    pub x_gradient: Pointer,
    /// Takes `[rows, inputs]`.
    pub weight_gradient: Pointer,
    /// Takes `[rows]`.
    pub bias_gradient: Pointer,
    /// Boards.
    pub boards: usize,
    /// Outputs of a board at most.
    pub width: usize,
    /// Features of a board.
    pub inputs: usize,
    /// Rows of the weight.
    pub rows: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// Runs a [`LegalForward`]; a row that the weight does not have is refused.
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_legal_forward(pass: &LegalForward) -> i32 {
    let p = *pass;
    if !complete(
        &[p.x, p.weight, p.bias, p.output],
        &[p.boards, p.width, p.inputs, p.rows, p.threads],
    ) || p.index.is_null()
        || p.count.is_null()
    {
        return REFUSED;
    }
    // SAFETY: the caller's.
    let (index, count) = unsafe { wanted(p.index, p.count, p.boards, p.width) };
    let layer = Layer {
        x: Shared(p.x),
        weight: Shared(p.weight),
        index,
        count,
        width: p.width,
        inputs: p.inputs,
        rows: p.rows,
    };
    if !layer.sound() {
        return REFUSED;
    }
    // SAFETY: the caller's.
    unsafe { layer.forward(p.bias, p.output, p.threads) };
    DONE
}

/// Runs a [`LegalBackward`]; a row that the weight does not have is refused.
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_legal_backward(pass: &LegalBackward) -> i32 {
    let p = *pass;
    let pointers = [p.x, p.weight, p.gradient, p.x_gradient, p.weight_gradient, p.bias_gradient];
    if !complete(&pointers, &[p.boards, p.width, p.inputs, p.rows, p.threads])
        || p.index.is_null()
        || p.count.is_null()
    {
        return REFUSED;
    }
    // SAFETY: the caller's.
    let (index, count) = unsafe { wanted(p.index, p.count, p.boards, p.width) };
    let layer = Layer {
        x: Shared(p.x),
        weight: Shared(p.weight),
        index,
        count,
        width: p.width,
        inputs: p.inputs,
        rows: p.rows,
    };
    if !layer.sound() {
        return REFUSED;
    }
    // SAFETY: the caller's.
    unsafe {
        layer.backward(p.gradient, p.weight_gradient, p.bias_gradient, p.x_gradient, p.threads)
    };
    DONE
}

/// # Safety
/// `index` is `[boards, width]`, `count` `[boards]`.
unsafe fn wanted<'a>(
    index: *const i64,
    count: *const i64,
    boards: usize,
    width: usize,
) -> (&'a [i64], &'a [i64]) {
    // SAFETY: the caller's.
    unsafe {
        (
            std::slice::from_raw_parts(index, boards * width),
            std::slice::from_raw_parts(count, boards),
        )
    }
}
