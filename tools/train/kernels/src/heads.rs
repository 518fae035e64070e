//! The policy layer and the gate, as C sees them.

use crate::gate::{Gate, Gradients};
use crate::interface::{DONE, Pointer, REFUSED, boards, complete, rows};
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

/// `output = z * candidate + (1 - z) * previous` with `z = sigmoid(weight · [candidate; previous] + bias)` on every square.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct GateForward {
    /// `[boards, 64, channels]`.
    pub candidate: Pointer,
    /// `[boards, 64, channels]`.
    pub previous: Pointer,
    /// `[channels, 2 * channels]`.
    pub weight: Pointer,
    /// `[channels]`.
    pub bias: Pointer,
    /// Takes `z`, `[boards, 64, channels]`.
    pub opening: Pointer,
    /// Takes `[boards, 64, channels]`.
    pub output: Pointer,
    /// Boards.
    pub boards: usize,
    /// Channels.
    pub channels: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// The gradients of [`GateForward`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct GateBackward {
    /// As in the forward pass.
    pub candidate: Pointer,
    /// As in the forward pass.
    pub previous: Pointer,
    /// As in the forward pass.
    pub weight: Pointer,
    /// What the forward pass made.
    pub opening: Pointer,
    /// The gradient by the output.
    pub gradient: Pointer,
    /// Takes `[boards, 64, channels]`.
    pub candidate_gradient: Pointer,
    /// Takes `[boards, 64, channels]`.
    pub previous_gradient: Pointer,
    /// Takes `[channels, 2 * channels]`.
    pub weight_gradient: Pointer,
    /// Takes `[channels]`.
    pub bias_gradient: Pointer,
    /// Boards.
    pub boards: usize,
    /// Channels.
    pub channels: usize,
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

/// Runs a [`GateForward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_gate_forward(pass: &GateForward) -> i32 {
    let p = *pass;
    let pointers = [p.candidate, p.previous, p.weight, p.bias, p.opening, p.output];
    if !complete(&pointers, &[p.boards, p.channels, p.threads]) {
        return REFUSED;
    }
    let gate = gate(p.candidate, p.previous, p.weight, p.opening, p.channels);
    // SAFETY: the caller's.
    unsafe {
        gate.forward(rows(p.bias, p.channels), boards(p.output, p.channels), p.boards, p.threads)
    };
    DONE
}

/// Runs a [`GateBackward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_gate_backward(pass: &GateBackward) -> i32 {
    let p = *pass;
    let given = [p.candidate, p.previous, p.weight, p.opening, p.gradient];
    let taking = [p.candidate_gradient, p.previous_gradient, p.weight_gradient, p.bias_gradient];
    if !complete(&given, &[p.boards, p.channels, p.threads]) || !complete(&taking, &[]) {
        return REFUSED;
    }
    let gradients = Gradients {
        output: boards(p.gradient, p.channels),
        candidate: boards(p.candidate_gradient, p.channels),
        previous: boards(p.previous_gradient, p.channels),
        weight: Shared(p.weight_gradient),
        bias: Shared(p.bias_gradient),
    };
    let gate = gate(p.candidate, p.previous, p.weight, p.opening, p.channels);
    // SAFETY: the caller's.
    unsafe { gate.backward(gradients, p.boards, p.threads) };
    DONE
}

fn gate(
    candidate: Pointer,
    previous: Pointer,
    weight: Pointer,
    opening: Pointer,
    channels: usize,
) -> Gate {
    Gate {
        candidate: boards(candidate, channels),
        previous: boards(previous, channels),
        weight: Shared(weight),
        opening: boards(opening, channels),
    }
}
