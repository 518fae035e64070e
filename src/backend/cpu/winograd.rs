//! Winograd's convolutions: the matrices, the transforms, the weights. [`super::convolution`] explains.

use super::layer::no_subnormal;
use super::simd::{Kernel, Simd};

/// A one-dimensional form F(m, 3): `m` outputs of a filter of three taps from `m + 2` inputs with as
/// many multiplications. Arrays have the length of the larger form; the smaller one passes on what it does
/// not use.
pub trait Form {
    /// m.
    const OUTPUTS: usize;
    /// m + 2.
    const POINTS: usize;
    /// G, `[points][3]`: what a filter becomes.
    const FILTER: &'static [[f64; 3]];
    /// Bᵀ: what the inputs become.
    fn input<S: Simd>(simd: S, d: [S::V; 6]) -> [S::V; 6];
    /// Aᵀ: what the products become.
    fn output<S: Simd>(simd: S, m: [S::V; 6]) -> [S::V; 4];
}

/// F(2, 3), with the points 0, 1, -1 and infinity.
pub struct F2;

impl Form for F2 {
    const OUTPUTS: usize = 2;
    const POINTS: usize = 4;
    const FILTER: &'static [[f64; 3]] =
        &[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]];

    #[inline(always)]
    fn input<S: Simd>(simd: S, d: [S::V; 6]) -> [S::V; 6] {
        [
            simd.sub(d[0], d[2]),
            simd.add(d[1], d[2]),
            simd.sub(d[2], d[1]),
            simd.sub(d[1], d[3]),
            d[4],
            d[5],
        ]
    }

    #[inline(always)]
    fn output<S: Simd>(simd: S, m: [S::V; 6]) -> [S::V; 4] {
        let (sum, difference) = (simd.add(m[1], m[2]), simd.sub(m[1], m[2]));
        [simd.add(m[0], sum), simd.sub(difference, m[3]), m[4], m[5]]
    }
}

/// F(4, 3), with the points 0, 1, -1, 2, -2 and infinity.
pub struct F4;

impl Form for F4 {
    const OUTPUTS: usize = 4;
    const POINTS: usize = 6;
    const FILTER: &'static [[f64; 3]] = &[
        [1.0 / 4.0, 0.0, 0.0],
        [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
        [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
        [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
        [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
        [0.0, 0.0, 1.0],
    ];

    #[inline(always)]
    fn input<S: Simd>(simd: S, d: [S::V; 6]) -> [S::V; 6] {
        let (two, four, minus_five) = (simd.splat(2.0), simd.splat(4.0), simd.splat(-5.0));
        let minus_four = simd.splat(-4.0);
        let even = simd.mul_add(minus_four, d[2], d[4]);
        let odd = simd.mul_add(minus_four, d[1], d[3]);
        let even2 = simd.sub(d[4], d[2]);
        let odd2 = simd.mul(two, simd.sub(d[3], d[1]));
        [
            simd.mul_add(minus_five, d[2], simd.mul_add(four, d[0], d[4])),
            simd.add(even, odd),
            simd.sub(even, odd),
            simd.add(even2, odd2),
            simd.sub(even2, odd2),
            simd.mul_add(minus_five, d[3], simd.mul_add(four, d[1], d[5])),
        ]
    }

    #[inline(always)]
    fn output<S: Simd>(simd: S, m: [S::V; 6]) -> [S::V; 4] {
        let (sum, difference) = (simd.add(m[1], m[2]), simd.sub(m[1], m[2]));
        let (sum2, difference2) = (simd.add(m[3], m[4]), simd.sub(m[3], m[4]));
        [
            simd.add(simd.add(m[0], sum), sum2),
            simd.mul_add(simd.splat(2.0), difference2, difference),
            simd.mul_add(simd.splat(4.0), sum2, sum),
            simd.add(simd.mul_add(simd.splat(8.0), difference2, difference), m[5]),
        ]
    }
}

/// Tiles of a board.
pub const fn tiles<Y: Form, X: Form>() -> usize {
    (8 / Y::OUTPUTS) * (8 / X::OUTPUTS)
}

/// Points of a tile: the matrix products of a convolution.
pub const fn points<Y: Form, X: Form>() -> usize {
    Y::POINTS * X::POINTS
}

/// The largest product of [`Form::POINTS`] and tiles along one side: 16 for F(2, 3), 12 for F(4, 3).
const MOST_LINES: usize = 16;

/// One block of a position's feature map, `[64][BLOCK]`, to `Bᵀ d B` of its tiles.
pub struct Transform<'a, Y, X> {
    pub board: &'a [f32],
    /// `[points][pitch][BLOCK]`, with a row for each tile of all positions.
    pub points: &'a mut [f32],
    pub pitch: usize,
    /// The row of the board's first tile.
    pub first_row: usize,
    pub form: std::marker::PhantomData<(Y, X)>,
}

impl<S: Simd, Y: Form, X: Form> Kernel<S> for Transform<'_, Y, X> {
    type Output = ();

    /// First along the files, each only once although tiles overlap; then along the ranks.
    #[inline(always)]
    fn run(self, simd: S) {
        let board = &self.board[..64 * S::BLOCK];
        let tiles = tiles::<Y, X>();
        let last = (points::<Y, X>() - 1) * self.pitch + self.first_row + tiles - 1;
        assert!(self.points.len() >= (last + 1) * S::BLOCK);
        const { assert!(S::BLOCK == 2 * S::LANES) };
        let zero = simd.splat(0.0);
        // By file, with a border, then by tile and point.
        let mut files = [[zero; MOST_LINES]; 10];
        for lanes in (0..S::BLOCK).step_by(S::LANES) {
            for x in 0..8 {
                for tile in 0..8 / Y::OUTPUTS {
                    let mut d = [zero; 6];
                    for (i, d) in d.iter_mut().enumerate().take(Y::POINTS) {
                        let y = tile * Y::OUTPUTS + i;
                        if (1..=8).contains(&y) {
                            *d = simd.load(&board[((y - 1) * 8 + x) * S::BLOCK + lanes..]);
                        }
                    }
                    let d = Y::input(simd, d);
                    for (to, &d) in files[x + 1][tile * Y::POINTS..].iter_mut().zip(&d[..Y::POINTS])
                    {
                        *to = d;
                    }
                }
            }
            for tile in 0..tiles {
                let (tile_y, tile_x) = (tile / (8 / X::OUTPUTS), tile % (8 / X::OUTPUTS));
                for y in 0..Y::POINTS {
                    let mut d = [zero; 6];
                    for (d, file) in d.iter_mut().zip(&files[tile_x * X::OUTPUTS..]).take(X::POINTS)
                    {
                        *d = file[tile_y * Y::POINTS + y];
                    }
                    let d = X::input(simd, d);
                    for (x, &d) in d.iter().enumerate().take(X::POINTS) {
                        let row = (y * X::POINTS + x) * self.pitch + self.first_row + tile;
                        // SAFETY: a point's row of a tile, none beyond `last`.
                        unsafe {
                            simd.store_at(d, self.points.as_mut_ptr().add(row * S::BLOCK + lanes))
                        };
                    }
                }
            }
        }
    }
}

/// One board's products `[tiles][points][BLOCK]` to `Aᵀ m A` plus a bias.
pub struct Inverse<'a, Y, X> {
    pub products: &'a [f32],
    pub bias: &'a [f32],
    /// `[64][BLOCK]`.
    pub board: &'a mut [f32],
    pub form: std::marker::PhantomData<(Y, X)>,
}

impl<S: Simd, Y: Form, X: Form> Kernel<S> for Inverse<'_, Y, X> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        let zero = simd.splat(0.0);
        let products = &self.products[..tiles::<Y, X>() * points::<Y, X>() * S::BLOCK];
        let board = &mut self.board[..64 * S::BLOCK];
        for lanes in (0..S::BLOCK).step_by(S::LANES) {
            let bias = simd.load(&self.bias[lanes..]);
            for tile in 0..tiles::<Y, X>() {
                let products = &products[tile * points::<Y, X>() * S::BLOCK..];
                let (tile_y, tile_x) = (tile / (8 / X::OUTPUTS), tile % (8 / X::OUTPUTS));
                let mut columns = [[zero; 4]; 6];
                for (x, column) in columns.iter_mut().enumerate().take(X::POINTS) {
                    let mut m = [zero; 6];
                    for (y, m) in m.iter_mut().enumerate().take(Y::POINTS) {
                        *m = simd.load(&products[(y * X::POINTS + x) * S::BLOCK + lanes..]);
                    }
                    *column = Y::output(simd, m);
                }
                for y in 0..Y::OUTPUTS {
                    let sums = X::output(simd, columns.map(|column| column[y]));
                    for (x, &sum) in sums.iter().enumerate().take(X::OUTPUTS) {
                        let square = (tile_y * Y::OUTPUTS + y) * 8 + tile_x * X::OUTPUTS + x;
                        simd.store(simd.add(sum, bias), &mut board[square * S::BLOCK + lanes..]);
                    }
                }
            }
        }
    }
}

/// The filters of a block of output channels, `[9][depth][block]`, to `G g Gᵀ`, `[points][depth][block]`
/// with `stride` numbers from point to point. In f64: the fractions in G are not exact.
pub fn pack<Y: Form, X: Form>(filters: &[f32], block: usize, packed: &mut [f32], stride: usize) {
    let depth = filters.len() / 9 / block;
    let tap = |y: usize, x: usize, k: usize| &filters[((3 * y + x) * depth + k) * block..][..block];
    assert!(block <= 32, "the widest vectors have 16 numbers");
    let mut half = [[[0.0_f64; 32]; 3]; 6];
    for k in 0..depth {
        for (row, half) in Y::FILTER.iter().zip(&mut half) {
            for (x, half) in half.iter_mut().enumerate() {
                let taps = tap(0, x, k).iter().zip(tap(1, x, k)).zip(tap(2, x, k));
                for (half, ((&a, &b), &c)) in half.iter_mut().zip(taps) {
                    *half = row[0] * f64::from(a) + row[1] * f64::from(b) + row[2] * f64::from(c);
                }
            }
        }
        for (y, [a, b, c]) in half.iter().enumerate().take(Y::POINTS) {
            for (x, row) in X::FILTER.iter().enumerate() {
                let at = (y * X::POINTS + x) * stride + k * block;
                let packed = &mut packed[at..at + block];
                for (packed, ((a, b), c)) in packed.iter_mut().zip(a.iter().zip(b).zip(c)) {
                    *packed = no_subnormal((row[0] * a + row[1] * b + row[2] * c) as f32);
                }
            }
        }
    }
}
