//! Against a plain convolution in f64.

use fianchetto_train_kernels::{
    ConvolutionBackward, ConvolutionForward, fianchetto_convolution_backward,
    fianchetto_convolution_forward,
};
use std::ptr::null_mut;

/// Numbers in [-1, 1), the same every time.
fn numbers(count: usize, mut seed: u64) -> Vec<f32> {
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Calls `term(place in the input, place in the weight, place in the output)` for each product of the convolution.
fn each_term(
    boards: usize,
    inputs: usize,
    outputs: usize,
    mut term: impl FnMut(usize, usize, usize),
) {
    for board in 0..boards {
        for square in 0..64 {
            for tap in 0..9 {
                let (rank, file) = (square / 8 + tap / 3, square % 8 + tap % 3);
                if !(1..9).contains(&rank) || !(1..9).contains(&file) {
                    continue;
                }
                let from = (rank - 1) * 8 + file - 1;
                for output in 0..outputs {
                    for input in 0..inputs {
                        let x = (board * 64 + from) * inputs + input;
                        let y = (board * 64 + square) * outputs + output;
                        term(x, (output * inputs + input) * 9 + tap, y);
                    }
                }
            }
        }
    }
}

/// Largest error, relative to the root mean square of what is right.
fn error(got: &[f32], right: &[f64]) -> f64 {
    let mean = (right.iter().map(|r| r * r).sum::<f64>() / right.len() as f64).sqrt();
    got.iter().zip(right).map(|(&g, r)| (f64::from(g) - r).abs()).fold(0.0, f64::max) / mean
}

#[test]
fn all_passes_equal_the_plain_ones() {
    for (boards, inputs, outputs, threads) in
        [(1, 1, 1, 1), (13, 19, 24, 2), (25, 32, 16, 3), (2, 16, 40, 4), (30, 64, 64, 2)]
    {
        let x = numbers(boards * 64 * inputs, 1);
        let w = numbers(outputs * inputs * 9, 2);
        let dy = numbers(boards * 64 * outputs, 3);
        let (mut y_right, mut dx_right, mut dw_right) =
            (vec![0.0; dy.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        each_term(boards, inputs, outputs, |i, k, o| {
            y_right[o] += f64::from(x[i]) * f64::from(w[k]);
            dx_right[i] += f64::from(dy[o]) * f64::from(w[k]);
            dw_right[k] += f64::from(dy[o]) * f64::from(x[i]);
        });
        let (mut y, mut dx, mut dw) =
            (vec![f32::NAN; dy.len()], vec![f32::NAN; x.len()], vec![f32::NAN; w.len()]);
        let forward = ConvolutionForward {
            input: x.as_ptr().cast_mut(),
            scale: null_mut(),
            shift: null_mut(),
            weight: w.as_ptr().cast_mut(),
            output: y.as_mut_ptr(),
            sums: null_mut(),
            squares: null_mut(),
            boards,
            inputs,
            outputs,
            threads,
        };
        let backward = ConvolutionBackward {
            input: x.as_ptr().cast_mut(),
            scale: null_mut(),
            shift: null_mut(),
            weight: w.as_ptr().cast_mut(),
            gradient: dy.as_ptr().cast_mut(),
            gate: null_mut(),
            output: null_mut(),
            by_gradient: null_mut(),
            by_output: null_mut(),
            offset: null_mut(),
            input_gradient: dx.as_mut_ptr(),
            skip_gradient: null_mut(),
            skip_gate: null_mut(),
            sums: null_mut(),
            products: null_mut(),
            weight_gradient: dw.as_mut_ptr(),
            boards,
            inputs,
            outputs,
            threads,
        };
        // SAFETY: the vectors have those sizes.
        let codes = unsafe {
            [fianchetto_convolution_forward(&forward), fianchetto_convolution_backward(&backward)]
        };
        assert_eq!(codes, [0, 0]);
        let errors = [error(&y, &y_right), error(&dx, &dx_right), error(&dw, &dw_right)];
        println!("{boards} boards, {inputs} -> {outputs}: {errors:?}");
        assert!(
            errors.iter().all(|&error| error < 6e-5),
            "{boards} boards, {inputs} -> {outputs}: {errors:?}"
        );
    }
}

#[test]
fn an_incomplete_pass_is_refused() {
    let (mut x, mut y) = ([1.0], [7.0]);
    let complete = ConvolutionForward {
        input: x.as_mut_ptr(),
        scale: null_mut(),
        shift: null_mut(),
        weight: x.as_mut_ptr(),
        output: y.as_mut_ptr(),
        sums: null_mut(),
        squares: null_mut(),
        boards: 1,
        inputs: 1,
        outputs: 1,
        threads: 1,
    };
    let passes = [
        ConvolutionForward { boards: 0, ..complete },
        ConvolutionForward { threads: 0, ..complete },
        ConvolutionForward { weight: null_mut(), ..complete },
        ConvolutionForward { scale: x.as_mut_ptr(), ..complete },
        ConvolutionForward { squares: x.as_mut_ptr(), ..complete },
    ];
    for pass in passes {
        // SAFETY: these are refused before anything is read.
        assert_eq!(unsafe { fianchetto_convolution_forward(&pass) }, 1);
    }
    assert_eq!(y, [7.0]);
}
