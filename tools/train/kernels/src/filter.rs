//! Filters `[outputs, inputs, 3, 3]` to transformed filters and back.

#![expect(clippy::needless_range_loop, reason = "rows and columns change places")]

use crate::product::PANEL;
use crate::threads::{Shared, Task, run};
use crate::tile::POINTS;
use crate::transform;
use crate::vector::{LANES, Vector};
use std::ops::Range;

/// Sizes of a filter tensor.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
}

impl Shape {
    /// Panels of the input channels.
    pub fn input_panels(self) -> usize {
        self.inputs.div_ceil(PANEL)
    }
    /// Panels of the output channels.
    pub fn output_panels(self) -> usize {
        self.outputs.div_ceil(PANEL)
    }
    /// Floats of one of the [`POINTS`] matrices of a transformed filter.
    pub fn matrix(self) -> usize {
        self.input_panels() * self.output_panels() * PANEL * PANEL
    }
}

/// `G w Gᵀ` of all filters: [`POINTS`] matrices `[outer panels, inner channels, PANEL]`; inner channels are the inputs and outer
/// the outputs, or the other way round for the backward pass.
///
/// # Safety
/// `weight` is `[outputs, inputs, 3, 3]`, `to` has room for `POINTS * shape.matrix()` floats.
pub unsafe fn transform(
    weight: *const f32,
    to: *mut f32,
    shape: Shape,
    transposed: bool,
    threads: usize,
) {
    let panels = if transposed { shape.input_panels() } else { shape.output_panels() };
    run(
        &Transform { weight: Shared(weight.cast_mut()), to: Shared(to), shape, transposed },
        panels,
        1,
        threads,
    );
}

struct Transform {
    weight: Shared,
    to: Shared,
    shape: Shape,
    transposed: bool,
}

impl Task for Transform {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, panels: Range<usize>) {
        let Shape { inputs, outputs } = self.shape;
        let (inner, outer, inner_step, outer_step) = if self.transposed {
            (outputs, inputs, inputs * 9, 9)
        } else {
            (inputs, outputs, 9, inputs * 9)
        };
        let rows = inner.div_ceil(PANEL) * PANEL;
        for panel in panels {
            for row in 0..rows {
                for half in [0, LANES] {
                    let mut taps = [[0.0; LANES]; 9];
                    for lane in 0..LANES {
                        let column = panel * PANEL + half + lane;
                        if row < inner && column < outer {
                            for (tap, lanes) in taps.iter_mut().enumerate() {
                                // SAFETY: both channels exist.
                                lanes[lane] = unsafe {
                                    *self.weight.0.add(row * inner_step + column * outer_step + tap)
                                };
                            }
                        }
                    }
                    // SAFETY: this panel is ours alone.
                    unsafe {
                        spread::<V>(
                            &taps,
                            self.to.0.add((panel * rows + row) * PANEL + half),
                            self.shape.matrix(),
                        )
                    };
                }
            }
        }
    }
}

/// # Safety
/// `to` has room for a vector in each of [`POINTS`] matrices.
#[inline(always)]
unsafe fn spread<V: Vector>(taps: &[[f32; LANES]; 9], to: *mut f32, matrix: usize) {
    let mut lines = [[V::zero(); 3]; 6];
    for j in 0..3 {
        // SAFETY: a row of taps is a vector.
        let column = unsafe {
            [
                V::load(taps[j].as_ptr()),
                V::load(taps[3 + j].as_ptr()),
                V::load(taps[6 + j].as_ptr()),
            ]
        };
        let column = transform::filter(column);
        for i in 0..6 {
            lines[i][j] = column[i];
        }
    }
    for (i, line) in lines.iter().enumerate() {
        for (j, point) in transform::filter(*line).iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { point.store(to.add((i * 6 + j) * matrix)) };
        }
    }
}

/// `Gᵀ u G` of the sum of `parts` gradients by transformed filters, to the gradient by the filters.
///
/// # Safety
/// `from` holds `parts` times `POINTS * shape.matrix()` floats in the untransposed order of [`transform`]; `gradient` has room
/// for `[outputs, inputs, 3, 3]`.
pub unsafe fn gather(
    from: *const f32,
    parts: usize,
    gradient: *mut f32,
    shape: Shape,
    threads: usize,
) {
    let task = Gather { from: Shared(from.cast_mut()), parts, gradient: Shared(gradient), shape };
    run(&task, shape.output_panels(), 1, threads);
}

struct Gather {
    from: Shared,
    parts: usize,
    gradient: Shared,
    shape: Shape,
}

impl Task for Gather {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, panels: Range<usize>) {
        let Shape { inputs, outputs } = self.shape;
        let (rows, matrix) = (self.shape.input_panels() * PANEL, self.shape.matrix());
        for panel in panels {
            for row in 0..inputs {
                for half in [0, LANES] {
                    let mut taps = [[0.0; LANES]; 9];
                    // SAFETY: the caller of `gather`.
                    unsafe {
                        self.collect::<V>((panel * rows + row) * PANEL + half, matrix, &mut taps)
                    };
                    for lane in 0..LANES {
                        let output = panel * PANEL + half + lane;
                        if output < outputs {
                            for (tap, lanes) in taps.iter().enumerate() {
                                // SAFETY: both channels exist, and the output is ours alone.
                                unsafe {
                                    *self.gradient.0.add((output * inputs + row) * 9 + tap) =
                                        lanes[lane]
                                };
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Gather {
    /// # Safety
    /// `at` is a vector's place in each matrix.
    #[inline(always)]
    unsafe fn collect<V: Vector>(&self, at: usize, matrix: usize, taps: &mut [[f32; LANES]; 9]) {
        let mut lines = [[V::zero(); 6]; 3];
        for j in 0..6 {
            let mut column = [V::zero(); 6];
            for (i, point) in column.iter_mut().enumerate() {
                for part in 0..self.parts {
                    // SAFETY: the caller's.
                    let value = unsafe {
                        V::load(self.from.0.add((part * POINTS + i * 6 + j) * matrix + at))
                    };
                    *point = point.plus(value);
                }
            }
            let column = transform::filter_adjoint(column);
            for i in 0..3 {
                lines[i][j] = column[i];
            }
        }
        for (i, line) in lines.iter().enumerate() {
            for (j, value) in transform::filter_adjoint(*line).iter().enumerate() {
                // SAFETY: a row of taps is a vector.
                unsafe { value.store(taps[i * 3 + j].as_mut_ptr()) };
            }
        }
    }
}
