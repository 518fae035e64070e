//! The convolution and a block's end, as C sees them.

use crate::board::{
    Boards, Gated, Input, InputGradient, Norm, NormGradient, Output, OutputGradient, Rows, Sums,
};
use crate::convolution;
use crate::filter::Shape;
use crate::residual::{Join, JoinSums};
use crate::threads::Shared;

/// A tensor to read or write, or null.
pub type Pointer = *mut f32;

/// `output[b, o] = Σ_i weight[o, i] * input[b, i]`, a 3x3 convolution with a border of zeros.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ConvolutionForward {
    /// `[boards, 64, inputs]`.
    pub input: Pointer,
    /// With `shift`: the convolution reads `max(0, scale[c] * input + shift[c])`. `[inputs]`, or null.
    pub scale: Pointer,
    /// `[inputs]`, or null.
    pub shift: Pointer,
    /// `[outputs, inputs, 3, 3]`.
    pub weight: Pointer,
    /// Takes `[boards, 64, outputs]`.
    pub output: Pointer,
    /// With `squares`: take the sums over the squares of the output and of its square. `[boards, outputs]`, or null.
    pub sums: Pointer,
    /// `[boards, outputs]`, or null.
    pub squares: Pointer,
    /// Boards.
    pub boards: usize,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// The gradients of [`ConvolutionForward`].
///
/// The gradient by the convolution's output is `by_gradient * g + by_output * output + offset`, where `g` is `gradient` where
/// `gate` is positive: the passes back through a ReLU and a batch normalisation.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ConvolutionBackward {
    /// As in the forward pass.
    pub input: Pointer,
    /// As in the forward pass.
    pub scale: Pointer,
    /// As in the forward pass.
    pub shift: Pointer,
    /// As in the forward pass.
    pub weight: Pointer,
    /// `[boards, 64, outputs]`.
    pub gradient: Pointer,
    /// `[boards, 64, outputs]`; null lets the whole gradient pass.
    pub gate: Pointer,
    /// The forward pass's output; null if `gradient` already is the gradient by it.
    pub output: Pointer,
    /// `[boards, outputs]`, or null without `output`.
    pub by_gradient: Pointer,
    /// `[boards, outputs]`, or null without `output`.
    pub by_output: Pointer,
    /// `[boards, outputs]`, or null without `output`.
    pub offset: Pointer,
    /// Takes the gradient by the input, `[boards, 64, inputs]`; if `scale` is there, that by the normalised input before its
    /// ReLU. Null: not computed.
    pub input_gradient: Pointer,
    /// Added to `input_gradient` where `skip_gate` is positive, `[boards, 64, inputs]`; null: nothing is.
    pub skip_gradient: Pointer,
    /// `[boards, 64, inputs]`; null lets the whole skip gradient pass.
    pub skip_gate: Pointer,
    /// If `scale` is there: takes the sums of `input_gradient`, `[boards, inputs]`.
    pub sums: Pointer,
    /// If `scale` is there: takes the sums of `input_gradient * input`, `[boards, inputs]`.
    pub products: Pointer,
    /// Takes `[outputs, inputs, 3, 3]`. Null: not computed.
    pub weight_gradient: Pointer,
    /// Boards.
    pub boards: usize,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// `output = max(0, scale * x + shift + skip)`: the end of a residual block.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct JoinForward {
    /// `[boards, 64, channels]`.
    pub x: Pointer,
    /// `[boards, channels]`.
    pub scale: Pointer,
    /// `[boards, channels]`.
    pub shift: Pointer,
    /// `[boards, 64, channels]`, or null.
    pub skip: Pointer,
    /// Takes `[boards, 64, channels]`.
    pub output: Pointer,
    /// Boards.
    pub boards: usize,
    /// Channels.
    pub channels: usize,
    /// Threads to work on.
    pub threads: usize,
}

/// The sums over the squares of `g` and of `g * x`, where `g` is `gradient` where `output` is positive.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct JoinBackward {
    /// The gradient by the output, `[boards, 64, channels]`.
    pub gradient: Pointer,
    /// The forward pass's output.
    pub output: Pointer,
    /// The forward pass's input.
    pub x: Pointer,
    /// Takes `[boards, channels]`.
    pub sums: Pointer,
    /// Takes `[boards, channels]`.
    pub products: Pointer,
    /// Boards.
    pub boards: usize,
    /// Channels.
    pub channels: usize,
    /// Threads to work on.
    pub threads: usize,
}

pub(crate) const DONE: i32 = 0;
pub(crate) const REFUSED: i32 = 1;

pub(crate) fn complete(pointers: &[Pointer], sizes: &[usize]) -> bool {
    !pointers.iter().any(|pointer| pointer.is_null()) && !sizes.contains(&0)
}

pub(crate) fn boards(data: Pointer, channels: usize) -> Boards {
    Boards { data: Shared(data), channels }
}

fn maybe_boards(data: Pointer, channels: usize) -> Option<Boards> {
    (!data.is_null()).then_some(boards(data, channels))
}

pub(crate) fn rows(data: Pointer, channels: usize) -> Rows {
    Rows { data: Shared(data), channels }
}

fn sums(first: Pointer, second: Pointer, channels: usize) -> Sums {
    Sums { first: rows(first, channels), second: rows(second, channels) }
}

fn input(data: Pointer, scale: Pointer, shift: Pointer, channels: usize) -> Input {
    let norm = Norm { scale: rows(scale, channels), shift: rows(shift, channels) };
    Input { boards: boards(data, channels), norm: (!scale.is_null()).then_some(norm) }
}

/// Runs a [`ConvolutionForward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_convolution_forward(pass: &ConvolutionForward) -> i32 {
    let p = *pass;
    if !complete(&[p.input, p.weight, p.output], &[p.boards, p.inputs, p.outputs, p.threads])
        || p.scale.is_null() != p.shift.is_null()
        || p.sums.is_null() != p.squares.is_null()
    {
        return REFUSED;
    }
    let input = input(p.input, p.scale, p.shift, p.inputs);
    let sums = (!p.sums.is_null()).then_some(sums(p.sums, p.squares, p.outputs));
    let output = Output { boards: boards(p.output, p.outputs), sums };
    let shape = Shape { inputs: p.inputs, outputs: p.outputs };
    // SAFETY: the caller's.
    unsafe { convolution::forward(input, p.weight, output, p.boards, shape, p.threads) };
    DONE
}

/// Runs a [`ConvolutionBackward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_convolution_backward(pass: &ConvolutionBackward) -> i32 {
    let p = *pass;
    if !complete(&[p.input, p.weight, p.gradient], &[p.boards, p.inputs, p.outputs, p.threads])
        || p.scale.is_null() != p.shift.is_null()
        || !p.output.is_null() && !complete(&[p.by_gradient, p.by_output, p.offset], &[])
        || !p.scale.is_null()
            && !p.input_gradient.is_null()
            && !complete(&[p.sums, p.products], &[])
    {
        return REFUSED;
    }
    let input = input(p.input, p.scale, p.shift, p.inputs);
    let norm = maybe_boards(p.output, p.outputs).map(|output| NormGradient {
        output,
        by_gradient: rows(p.by_gradient, p.outputs),
        by_output: rows(p.by_output, p.outputs),
        offset: rows(p.offset, p.outputs),
    });
    let gated =
        Gated { gradient: boards(p.gradient, p.outputs), gate: maybe_boards(p.gate, p.outputs) };
    let skip = maybe_boards(p.skip_gradient, p.inputs)
        .map(|gradient| Gated { gradient, gate: maybe_boards(p.skip_gate, p.inputs) });
    let pass = convolution::Backward {
        input,
        weight: Shared(p.weight),
        output_gradient: OutputGradient { gated, norm },
        input_gradient: maybe_boards(p.input_gradient, p.inputs).map(|boards| InputGradient {
            boards,
            skip,
            norm: input.norm.map(|_| (input, sums(p.sums, p.products, p.inputs))),
        }),
        weight_gradient: (!p.weight_gradient.is_null()).then_some(Shared(p.weight_gradient)),
    };
    // SAFETY: the caller's.
    unsafe {
        convolution::backward(
            pass,
            p.boards,
            Shape { inputs: p.inputs, outputs: p.outputs },
            p.threads,
        )
    };
    DONE
}

/// Runs a [`JoinForward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; `output` overlaps nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_join_forward(pass: &JoinForward) -> i32 {
    let p = *pass;
    if !complete(&[p.x, p.scale, p.shift, p.output], &[p.boards, p.channels, p.threads]) {
        return REFUSED;
    }
    let join = Join {
        x: boards(p.x, p.channels),
        scale: rows(p.scale, p.channels),
        shift: rows(p.shift, p.channels),
        skip: maybe_boards(p.skip, p.channels),
        output: boards(p.output, p.channels),
    };
    // SAFETY: the caller's.
    unsafe { join.run(p.boards, p.threads) };
    DONE
}

/// Runs a [`JoinBackward`].
///
/// # Safety
/// The pointers hold, and have room for, what the struct says; nothing written overlaps anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_join_backward(pass: &JoinBackward) -> i32 {
    let p = *pass;
    if !complete(
        &[p.gradient, p.output, p.x, p.sums, p.products],
        &[p.boards, p.channels, p.threads],
    ) {
        return REFUSED;
    }
    let sums = JoinSums {
        gated: Gated {
            gradient: boards(p.gradient, p.channels),
            gate: Some(boards(p.output, p.channels)),
        },
        x: boards(p.x, p.channels),
        sums: sums(p.sums, p.products, p.channels),
    };
    // SAFETY: the caller's.
    unsafe { sums.run(p.boards, p.threads) };
    DONE
}
