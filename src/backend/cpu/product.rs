//! The matrix product that everything is made of.

use super::simd::Simd;

/// Floats in a cache line.
const LINE: usize = 16;

/// Rows of a feature map times a panel of weights.
pub struct Product<'a> {
    /// A feature map from the first row on: `[blocks][rows][BLOCK]`.
    pub input: &'a [f32],
    /// From a block of the map to the next.
    pub input_stride: usize,
    /// `[depth][BLOCK]`.
    pub panel: &'a [f32],
    /// The panel after this one, to be fetched meanwhile.
    pub next: &'a [f32],
    /// From a row of the output to the next.
    pub output_stride: usize,
    /// Whether the product is added to the output or overwrites it.
    pub add: bool,
}

impl Product<'_> {
    /// `output[r] = sum over k of input[r][k] * panel[k]`, rows of [`Simd::BLOCK`] numbers. The order of
    /// summation depends on nothing: a row's bits are the same wherever it lies.
    #[inline(always)]
    pub fn run<S: Simd>(&self, simd: S, rows: usize, output: &mut [f32]) {
        const { assert!(S::BLOCK == 2 * S::LANES) };
        let depth = self.panel.len() / S::BLOCK;
        let blocks = depth.div_ceil(S::BLOCK);
        assert!(depth.is_multiple_of(4) && depth > 0 && rows > 0);
        assert!(self.input.len() >= (blocks - 1) * self.input_stride + rows * S::BLOCK);
        assert!(output.len() >= (rows - 1) * self.output_stride + S::BLOCK);

        let groups = rows.div_ceil(S::ROWS);
        let mut ahead = Ahead {
            next: self.next.as_ptr(),
            lines: self.panel.len().div_ceil(LINE * groups * (depth / 4)),
        };
        let mut row = 0;
        for group in 0..groups {
            let count = (rows - row).div_ceil(groups - group);
            let input = &self.input[row * S::BLOCK..];
            let output = &mut output[row * self.output_stride..];
            // SAFETY: the lengths are checked above, and no group has more than `S::ROWS` rows.
            unsafe {
                match count {
                    1 => self.rows::<S, 1>(simd, input, depth, &mut ahead, output),
                    2 => self.rows::<S, 2>(simd, input, depth, &mut ahead, output),
                    3 => self.rows::<S, 3>(simd, input, depth, &mut ahead, output),
                    4 => self.rows::<S, 4>(simd, input, depth, &mut ahead, output),
                    5 => self.rows::<S, 5>(simd, input, depth, &mut ahead, output),
                    6 => self.rows::<S, 6>(simd, input, depth, &mut ahead, output),
                    7 if S::ROWS > 6 => self.rows::<S, 7>(simd, input, depth, &mut ahead, output),
                    8 if S::ROWS > 6 => self.rows::<S, 8>(simd, input, depth, &mut ahead, output),
                    _ => unreachable!("no set has more than eight rows"),
                }
            }
            row += count;
        }
    }

    /// `R` rows, whose sums stay in registers: two loads of weights and `R` broadcasts for `2 R`
    /// multiplications.
    ///
    /// # Safety
    /// The slices are as long as [`Product::run`] checks.
    #[inline(always)]
    unsafe fn rows<S: Simd, const R: usize>(
        &self,
        simd: S,
        input: &[f32],
        depth: usize,
        ahead: &mut Ahead,
        output: &mut [f32],
    ) {
        let (mut input, mut panel) = (input.as_ptr(), self.panel.as_ptr());
        let output = output.as_mut_ptr();
        let mut sums = [[simd.splat(0.0); 2]; R];
        // SAFETY: every address lies in the slices, by the lengths that the caller has checked; those
        // past their ends are never read.
        unsafe {
            if self.add {
                for (r, sums) in sums.iter_mut().enumerate() {
                    let output = output.add(r * self.output_stride);
                    *sums = [simd.load_at(output), simd.load_at(output.add(S::LANES))];
                }
            }
            let mut left = depth;
            while left > 0 {
                let quads = left.min(S::BLOCK) / 4;
                for _ in 0..quads {
                    ahead.fetch(simd);
                    for k in 0..4 {
                        let weights = [simd.load_at(panel), simd.load_at(panel.add(S::LANES))];
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let x = simd.splat(*input.add(r * S::BLOCK + k));
                            sums[0] = simd.mul_add(x, weights[0], sums[0]);
                            sums[1] = simd.mul_add(x, weights[1], sums[1]);
                        }
                        panel = panel.add(S::BLOCK);
                    }
                    input = input.add(4);
                }
                left -= 4 * quads;
                input = input.wrapping_add(self.input_stride).wrapping_sub(S::BLOCK);
            }
            for (r, sums) in sums.into_iter().enumerate() {
                let output = output.add(r * self.output_stride);
                simd.store_at(sums[0], output);
                simd.store_at(sums[1], output.add(S::LANES));
            }
        }
    }
}

/// Fetches the panel after this one, spread evenly over the work on this one: at batch 1 all weights
/// stream from far memory, and bursts of requests would not overlap with arithmetic.
struct Ahead {
    next: *const f32,
    /// How many cache lines for four steps of one group of rows.
    lines: usize,
}

impl Ahead {
    #[inline(always)]
    fn fetch<S: Simd>(&mut self, simd: S) {
        for _ in 0..self.lines {
            simd.prefetch(self.next);
            self.next = self.next.wrapping_add(LINE);
        }
    }
}
