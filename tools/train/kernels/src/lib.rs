//! Fast passes of a residual tower's training step on a CPU, for PyTorch to call through a C interface.
//!
//! From the ground up: `vector` (eight lanes, AVX2 or portable), `threads` (who does what), `transform` (Winograd's, one
//! dimension), `tile` and `filter` (two dimensions), `product` (matrices), `board` (what is read and written), `convolution`.
//!
//! Tensors are `f32`, boards channels-last: `[boards, 8, 8, channels]` without gaps. Every function returns 0, or 1 if a pointer
//! or size was zero that may not be; it then has done nothing. Results depend on the number of threads only where the order of
//! a sum over boards does.

#![deny(missing_docs)]

mod board;
mod convolution;
mod filter;
mod product;
mod threads;
mod tile;
mod transform;
mod vector;

use board::Plain;
use filter::Shape;
use threads::Shared;

/// `output[b, o] = Σ_i weight[o, i] * input[b, i]`, a 3x3 convolution with a border of zeros.
///
/// # Safety
/// `input` is `[boards, 64, inputs]`, `weight` `[outputs, inputs, 3, 3]`, `output` has room for `[boards, 64, outputs]`; none
/// overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_convolution_forward(
    input: *const f32,
    weight: *const f32,
    output: *mut f32,
    boards: usize,
    inputs: usize,
    outputs: usize,
    threads: usize,
) -> i32 {
    if input.is_null()
        || weight.is_null()
        || output.is_null()
        || boards * inputs * outputs * threads == 0
    {
        return 1;
    }
    let (source, sink) =
        (Plain::input(input, inputs), Plain { data: Shared(output), channels: outputs });
    // SAFETY: the caller's.
    unsafe {
        convolution::forward(&source, weight, &sink, boards, Shape { inputs, outputs }, threads)
    };
    0
}

/// The gradients of [`fianchetto_convolution_forward`]; a null `input_gradient` or `weight_gradient` is not computed.
///
/// # Safety
/// As the forward pass; `output_gradient` has the shape of its output, `input_gradient` and `weight_gradient` have room for the
/// shapes of its input and weight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fianchetto_convolution_backward(
    input: *const f32,
    weight: *const f32,
    output_gradient: *const f32,
    input_gradient: *mut f32,
    weight_gradient: *mut f32,
    boards: usize,
    inputs: usize,
    outputs: usize,
    threads: usize,
) -> i32 {
    if input.is_null()
        || weight.is_null()
        || output_gradient.is_null()
        || boards * inputs * outputs * threads == 0
    {
        return 1;
    }
    let (source, gradient) = (Plain::input(input, inputs), Plain::input(output_gradient, outputs));
    let sink = Plain { data: Shared(input_gradient), channels: inputs };
    let sink = (!input_gradient.is_null()).then_some(&sink);
    let weight_gradient = (!weight_gradient.is_null()).then_some(weight_gradient);
    let shape = Shape { inputs, outputs };
    // SAFETY: the caller's.
    unsafe {
        convolution::backward(
            &source,
            weight,
            &gradient,
            sink,
            weight_gradient,
            boards,
            shape,
            threads,
        )
    };
    0
}
