//! A policy layer for the legal moves alone: of thousands of rows a position needs some thirty.

use crate::threads::{Shared, Task, run};
use crate::vector::{LANES, Vector};
use std::ops::Range;

/// A linear layer, and which of its rows each board wants.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// `[boards, inputs]`.
    pub x: Shared,
    /// `[rows, inputs]`.
    pub weight: Shared,
    /// Row of each wanted output, `[boards, width]`.
    pub index: &'a [i64],
    /// How many of each board's `width` count, `[boards]`.
    pub count: &'a [i64],
    /// Outputs of a board at most.
    pub width: usize,
    /// Columns of the weight.
    pub inputs: usize,
    /// Rows of the weight.
    pub rows: usize,
}

impl Layer<'_> {
    /// Whether every row named exists.
    pub fn sound(&self) -> bool {
        self.count
            .iter()
            .all(|&count| usize::try_from(count).is_ok_and(|count| count <= self.width))
            && self.wanted().all(|(_, row)| row < self.rows)
    }

    /// Each wanted output: its place in `[boards, width]` and its row.
    fn wanted(&self) -> impl Iterator<Item = (usize, usize)> {
        let boards = self.index.chunks(self.width).zip(self.count).enumerate();
        boards.flat_map(move |(board, (index, &count))| {
            let index = index.iter().take(count as usize).enumerate();
            index.map(move |(slot, &row)| {
                (board * self.width + slot, usize::try_from(row).unwrap_or(usize::MAX))
            })
        })
    }

    /// The wanted outputs sorted by row: places, and where each row's begin.
    fn by_row(&self) -> (Vec<usize>, Vec<usize>) {
        let mut starts = vec![0; self.rows + 1];
        for (_, row) in self.wanted() {
            starts[row + 1] += 1;
        }
        for row in 0..self.rows {
            starts[row + 1] += starts[row];
        }
        let (mut places, mut next) = (vec![0; starts[self.rows]], starts.clone());
        for (place, row) in self.wanted() {
            places[next[row]] = place;
            next[row] += 1;
        }
        (places, starts)
    }

    /// `x[board]` for a place.
    #[inline(always)]
    fn features(&self, place: usize) -> *mut f32 {
        self.x.0.wrapping_add(place / self.width * self.inputs)
    }

    /// `out[place] = weight[index] · x + bias[index]`; minus infinity where nothing is wanted.
    ///
    /// # Safety
    /// The layer is sound, `bias` is `[rows]`, `out` has room for `[boards, width]`.
    pub unsafe fn forward(self, bias: *const f32, out: *mut f32, threads: usize) {
        for place in 0..self.index.len() {
            // SAFETY: the caller's.
            unsafe { *out.add(place) = f32::NEG_INFINITY };
        }
        let (places, starts) = self.by_row();
        let task = Forward {
            layer: self,
            bias: Shared(bias.cast_mut()),
            out: Shared(out),
            places,
            starts,
        };
        run(&task, self.rows, 1, threads);
    }

    /// The gradients by the weight, the bias and `x`, for one of `[boards, width]` by the outputs.
    ///
    /// # Safety
    /// The layer is sound; all have those shapes.
    pub unsafe fn backward(
        self,
        gradient: *const f32,
        by_weight: *mut f32,
        by_bias: *mut f32,
        by_x: *mut f32,
        threads: usize,
    ) {
        let gradient = Shared(gradient.cast_mut());
        let (places, starts) = self.by_row();
        let by_rows = ByRows {
            layer: self,
            gradient,
            weight: Shared(by_weight),
            bias: Shared(by_bias),
            places,
            starts,
        };
        run(&by_rows, self.rows, 1, threads);
        run(&ByBoards { layer: self, gradient, x: Shared(by_x) }, self.count.len(), 1, threads);
    }
}

struct Forward<'a> {
    layer: Layer<'a>,
    bias: Shared,
    out: Shared,
    places: Vec<usize>,
    starts: Vec<usize>,
}

impl Task for Forward<'_> {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, rows: Range<usize>) {
        let inputs = self.layer.inputs;
        for row in rows {
            for &place in &self.places[self.starts[row]..self.starts[row + 1]] {
                // SAFETY: the caller of `Layer::forward`; this place is ours alone.
                unsafe {
                    let weight = self.layer.weight.0.add(row * inputs);
                    *self.out.0.add(place) = *self.bias.0.add(row)
                        + dot::<V>(weight, self.layer.features(place), inputs);
                }
            }
        }
    }
}

struct ByRows<'a> {
    layer: Layer<'a>,
    gradient: Shared,
    weight: Shared,
    bias: Shared,
    places: Vec<usize>,
    starts: Vec<usize>,
}

impl Task for ByRows<'_> {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, rows: Range<usize>) {
        let inputs = self.layer.inputs;
        for row in rows {
            // SAFETY: the caller of `Layer::backward`; this row is ours alone.
            unsafe {
                let weight = self.weight.0.add(row * inputs);
                std::ptr::write_bytes(weight, 0, inputs);
                let mut bias = 0.0;
                for &place in &self.places[self.starts[row]..self.starts[row + 1]] {
                    let gradient = *self.gradient.0.add(place);
                    bias += gradient;
                    add_scaled::<V>(weight, gradient, self.layer.features(place), inputs);
                }
                *self.bias.0.add(row) = bias;
            }
        }
    }
}

struct ByBoards<'a> {
    layer: Layer<'a>,
    gradient: Shared,
    x: Shared,
}

impl Task for ByBoards<'_> {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, boards: Range<usize>) {
        let Layer { inputs, width, .. } = self.layer;
        for board in boards {
            // SAFETY: the caller of `Layer::backward`; this board is ours alone.
            unsafe {
                let x = self.x.0.add(board * inputs);
                std::ptr::write_bytes(x, 0, inputs);
                for place in board * width..board * width + self.layer.count[board] as usize {
                    let weight = self.layer.weight.0.add(self.layer.index[place] as usize * inputs);
                    add_scaled::<V>(x, *self.gradient.0.add(place), weight, inputs);
                }
            }
        }
    }
}

/// `a · b`.
///
/// # Safety
/// Both hold `len` floats.
#[inline(always)]
unsafe fn dot<V: Vector>(a: *const f32, b: *const f32, len: usize) -> f32 {
    let mut sums = [V::zero(); 4];
    for at in (0..len).step_by(4 * LANES) {
        for (i, sum) in sums.iter_mut().enumerate() {
            let at = (at + i * LANES).min(len);
            // SAFETY: the caller's.
            *sum = unsafe {
                V::load_first(a.add(at), len - at).mul_add(V::load_first(b.add(at), len - at), *sum)
            };
        }
    }
    let mut lanes = [0.0; LANES];
    // SAFETY: the array takes a vector.
    unsafe { sums[0].plus(sums[1]).plus(sums[2].plus(sums[3])).store(lanes.as_mut_ptr()) };
    lanes.iter().sum()
}

/// `to += factor * from`.
///
/// # Safety
/// Both hold `len` floats and do not overlap.
#[inline(always)]
unsafe fn add_scaled<V: Vector>(to: *mut f32, factor: f32, from: *const f32, len: usize) {
    let factor = V::splat(factor);
    for at in (0..len).step_by(LANES) {
        let left = len - at;
        // SAFETY: the caller's.
        unsafe {
            let sum =
                V::load_first(from.add(at), left).mul_add(factor, V::load_first(to.add(at), left));
            sum.store_first(to.add(at), left);
        }
    }
}
