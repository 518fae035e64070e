//! The 3x3 convolutions of the tower: layout, packing, algorithms.
//!
//! # Layout
//!
//! A feature map of n positions is `[blocks][n * 64][BLOCK]`: the channels in blocks of two vectors
//! ([`Simd::BLOCK`]: 32 with AVX-512, 16 with AVX2, 8 with NEON), the last one filled up with zeros; in a
//! block the squares of one position after the other, each square's channels together. A thread that
//! computes a block of output channels so writes memory that no other thread writes to.
//!
//! Everything that multiplies is one micro-kernel ([`Product`]): some rows of such a map (squares, tiles,
//! or whole positions) times a panel of weights, `[depth][BLOCK]`, gives one block of channels for those
//! rows. Its sums stay in registers while it runs down the depth: 6 rows with AVX2, 8 with AVX-512 and
//! NEON. A panel of 128 channels is 8 KB with AVX2 and stays in the first-level cache for all rows.
//!
//! # Packing
//!
//! Weights are packed once, in the order in which they are read: for the direct way by convolution, block of
//! output channels, tap and depth; for Winograd's by convolution, point, block and depth. A depth that is no
//! multiple of four is filled up with zeros. While a panel is multiplied the next is fetched, spread evenly over the
//! work: at batch 1 all weights stream from far memory, and this is worth a third of the time.
//!
//! # Direct
//!
//! A 3x3 convolution is nine products: for each tap the map, shifted by a square, times that tap's panel,
//! added up. Rows and files that a shift pushes off the board are left out: 7.6 multiplications an output
//! instead of 9.
//!
//! # Winograd
//!
//! Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). F(m, 3) computes m outputs
//! of a filter g of three taps, `y[i] = Σ g[k] d[i + k]`, from m + 2 inputs d with m + 2 multiplications
//! instead of 3 m (⊙ multiplies element by element):
//!
//! ```text
//! y = Aᵀ [ (G g) ⊙ (Bᵀ d) ]
//!
//! F(2, 3):       1  0 -1  0          1    0    0
//!          Bᵀ =  0  1  1  0    G =  1/2  1/2  1/2    Aᵀ =  1  1  1  0
//!                0 -1  1  0         1/2 -1/2  1/2          0  1 -1 -1
//!                0  1  0 -1          0    0    1
//!
//! F(4, 3):       4  0 -5  0  1  0          1/4   0    0
//!                0 -4 -4  1  1  0         -1/6 -1/6 -1/6           1  1  1  1  1  0
//!          Bᵀ =  0  4 -4 -1  1  0    G =  -1/6  1/6 -1/6    Aᵀ =   0  1 -1  2 -2  0
//!                0 -2 -1  2  1  0         1/24  1/12  1/6          0  1  1  4  4  0
//!                0  2 -1 -2  1  0         1/24 -1/12  1/6          0  1 -1  8 -8  1
//!                0  4  0 -5  0  1           0    0    1
//! ```
//!
//! In two dimensions, `Aᵀ [ (G g Hᵀ) ⊙ (Bᵀ d C) ] D` on tiles of the board: Aᵀ, G and Bᵀ are those of the form
//! that runs over the ranks (`Y` in the code), D, H and C those of the form that runs over the files (`X`):
//!
//! | | tiles of a board | points | multiplications an output | weights, of the direct ones |
//! |---|---|---|---|---|
//! | F(2x2, 3x3) | 16 | 16 | 4 | 1.8 |
//! | F(4x2, 3x3) | 8 | 24 | 3 | 2.7 |
//! | F(4x4, 3x3) | 4 | 36 | 2.25 | 4 |
//!
//! Summed over the input channels, the ⊙ of each point is a product of a map of tiles and a panel: so a
//! convolution is 16, 24 or 36 products. The larger the tile, the less arithmetic and the more weights to
//! read: small batches want the former forms, large ones the latter ([`super::choice`]). Larger tiles also
//! round more; all stay within 1e-5 of the f64 reference, relative to the largest logit (`tests/kernels.rs`).
//!
//! Three steps, of which the first belongs to whoever makes a block of the input ([`prepare`]): it goes
//! into the form that is multiplied while it still lies in the first-level cache, and where no one else
//! wants it, it is written nowhere else. Then come the products of some blocks of output channels
//! ([`Points`]), and for each of these blocks the way back to a map ([`finish`]), to which bias, ReLU,
//! addition or means are applied at once. On the way there are
//!
//! | | |
//! |---|---|
//! | boards | `[n][64][BLOCK]`: one block of a map; a square is 8 x rank + file |
//! | prepared | `[blocks][points][pitch][BLOCK]`, a row for each tile, in a pitch that is odd ([`Algorithm::pitch`]) |
//! | products | `[blocks][n * tiles][points][BLOCK]` |

use super::product::Product;
use super::simd::{Kernel, Simd};
use super::winograd::{self, F2, F4, Form, Inverse, Transform};
use crate::network::{Architecture, Spec};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A way to compute a 3x3 convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Nine shifted products.
    Direct,
    /// Winograd's F(2x2, 3x3).
    F2x2,
    /// Winograd's F(4x2, 3x3): four ranks by two files.
    F4x2,
    /// Winograd's F(4x4, 3x3).
    F4x4,
    /// Nine shifted products of bytes: the one for networks that are made of them.
    Int8,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Direct, Self::F2x2, Self::F4x2, Self::F4x4, Self::Int8];

    /// Those for plain networks.
    pub const PLAIN: [Self; 4] = [Self::Direct, Self::F2x2, Self::F4x2, Self::F4x4];

    /// Those for such a network.
    pub fn built(spec: &Spec) -> &'static [Self] {
        match spec.architecture {
            Architecture::SquarePair(_) => &[Self::Direct], // Winograd's are for 3x3 taps.
            Architecture::Residual(_) if spec.is_int8() => &[Self::Int8],
            Architecture::Residual(_) => &Self::PLAIN,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::F2x2 => "f2x2",
            Self::F4x2 => "f4x2",
            Self::F4x4 => "f4x4",
            Self::Int8 => "int8",
        }
    }

    /// Maps that the input becomes.
    pub(super) fn points(self) -> usize {
        match self {
            Self::Direct | Self::Int8 => 1,
            Self::F2x2 => winograd::points::<F2, F2>(),
            Self::F4x2 => winograd::points::<F4, F2>(),
            Self::F4x4 => winograd::points::<F4, F4>(),
        }
    }

    /// Rows of such a map for one position.
    fn tiles(self) -> usize {
        match self {
            Self::Direct | Self::Int8 => 64,
            Self::F2x2 => winograd::tiles::<F2, F2>(),
            Self::F4x2 => winograd::tiles::<F4, F2>(),
            Self::F4x4 => winograd::tiles::<F4, F4>(),
        }
    }

    /// From a point to the next in a prepared block of channels of `n` positions, in rows. An odd number:
    /// the same row of all points must not compete for the same place in the cache.
    fn pitch(self, n: usize) -> usize {
        (self.tiles() * n) | 1
    }

    /// Numbers of a prepared block of channels of `n` positions: an odd number of rows again.
    pub(super) fn prepared_len(self, n: usize, block: usize) -> usize {
        ((self.points() * self.pitch(n)) | 1) * block
    }

    /// Numbers of the products of a block of output channels.
    pub(super) fn products_len(self, n: usize, block: usize) -> usize {
        match self {
            Self::Direct | Self::Int8 => 0,
            _ => self.points() * self.tiles() * n * block,
        }
    }

    /// The filters of a block of output channels, `[9][depth][block]`, as this algorithm multiplies them,
    /// `[points][depth][block]` with `stride` numbers from point to point.
    pub(super) fn pack(self, filters: &[f32], block: usize, packed: &mut [f32], stride: usize) {
        match self {
            Self::Direct | Self::Int8 => {
                unreachable!("layers are packed for it when they are made")
            }
            Self::F2x2 => winograd::pack::<F2, F2>(filters, block, packed, stride),
            Self::F4x2 => winograd::pack::<F4, F2>(filters, block, packed, stride),
            Self::F4x4 => winograd::pack::<F4, F4>(filters, block, packed, stride),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why these functions are not asked for it.
const IN_BYTES: &str = "it has an arithmetic of its own";

/// Turns one position's block of channels, `[64][BLOCK]`, into its part of a prepared block.
pub fn prepare<S: Simd>(
    simd: S,
    algorithm: Algorithm,
    board: &[f32],
    position: usize,
    n: usize,
    prepared: &mut [f32],
) {
    let tiles = algorithm.tiles();
    let (pitch, first_row) = (algorithm.pitch(n), position * tiles);
    match algorithm {
        Algorithm::Direct => prepared[first_row * S::BLOCK..][..board.len()].copy_from_slice(board),
        Algorithm::Int8 => unreachable!("{IN_BYTES}"),
        Algorithm::F2x2 => transform::<S, F2, F2>(simd, board, prepared, pitch, first_row),
        Algorithm::F4x2 => transform::<S, F4, F2>(simd, board, prepared, pitch, first_row),
        Algorithm::F4x4 => transform::<S, F4, F4>(simd, board, prepared, pitch, first_row),
    }
}

fn transform<S: Simd, Y: Form, X: Form>(
    simd: S,
    board: &[f32],
    points: &mut [f32],
    pitch: usize,
    first_row: usize,
) {
    simd.run(Transform::<Y, X> { board, points, pitch, first_row, form: PhantomData });
}

/// The products of all points of some blocks of output channels: `[blocks][rows][points][BLOCK]`.
pub struct Points<'a> {
    pub algorithm: Algorithm,
    /// Positions.
    pub n: usize,
    /// All blocks of the prepared input.
    pub input: &'a [f32],
    /// All panels of the layer, `[points][blocks][depth][BLOCK]`.
    pub panels: &'a [f32],
    /// Of how many blocks these are.
    pub all_blocks: usize,
    /// Those to compute.
    pub blocks: Range<usize>,
    pub products: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for Points<'_> {
    type Output = ();

    /// The points one by one, so that a point's input is read from far memory only once.
    #[inline(always)]
    fn run(self, simd: S) {
        let (points, rows) = (self.algorithm.points(), self.algorithm.tiles() * self.n);
        let pitch = self.algorithm.pitch(self.n);
        let len = self.panels.len() / (points * self.all_blocks);
        for point in 0..points {
            for (i, block) in self.blocks.clone().enumerate() {
                let panel = point * self.all_blocks + block;
                let next = match block + 1 < self.blocks.end {
                    true => panel + 1,
                    false => panel + 1 + self.all_blocks - self.blocks.len(),
                };
                let product = Product {
                    input: &self.input[point * pitch * S::BLOCK..],
                    input_stride: self.algorithm.prepared_len(self.n, S::BLOCK),
                    panel: &self.panels[panel * len..][..len],
                    next: self.panels.get(next * len..).unwrap_or_default(),
                    output_stride: points * S::BLOCK,
                    add: false,
                };
                let output = (i * rows * points + point) * S::BLOCK;
                product.run(simd, rows, &mut self.products[output..]);
            }
        }
    }
}

/// From the products of one block to its boards, `[n][64][BLOCK]`.
pub fn finish<S: Simd>(
    simd: S,
    algorithm: Algorithm,
    products: &[f32],
    bias: &[f32],
    boards: &mut [f32],
) {
    match algorithm {
        Algorithm::Direct => unreachable!("it has no products to finish"),
        Algorithm::Int8 => unreachable!("{IN_BYTES}"),
        Algorithm::F2x2 => inverse::<S, F2, F2>(simd, products, bias, boards),
        Algorithm::F4x2 => inverse::<S, F4, F2>(simd, products, bias, boards),
        Algorithm::F4x4 => inverse::<S, F4, F4>(simd, products, bias, boards),
    }
}

fn inverse<S: Simd, Y: Form, X: Form>(simd: S, products: &[f32], bias: &[f32], boards: &mut [f32]) {
    let products =
        products.chunks_exact(winograd::tiles::<Y, X>() * winograd::points::<Y, X>() * S::BLOCK);
    for (board, products) in boards.chunks_exact_mut(64 * S::BLOCK).zip(products) {
        simd.run(Inverse::<Y, X> { products, bias, board, form: PhantomData });
    }
}

/// Adds to one block of output channels of a convolution with 1x1, 2x2 or 3x3 taps, straight from a feature
/// map. 2x2 taps are not padded: the last rank and file of the output are of no use.
pub struct Direct<'a> {
    /// All blocks of the input, `[n * 64][BLOCK]` each.
    pub input: &'a [f32],
    /// From one of them to the next.
    pub input_stride: usize,
    /// 1, 2 or 3 along a side.
    pub taps: usize,
    /// The block's panels, one for each tap.
    pub panels: &'a [f32],
    /// `[n * 64][BLOCK]`.
    pub output: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for Direct<'_> {
    type Output = ();

    /// With one tap the output is one long line; with four it is all squares of a board whose neighbours are
    /// numbered below 64; with nine it is ranks, or what of them a shift leaves on the board.
    #[inline(always)]
    fn run(self, simd: S) {
        let rows = self.output.len() / S::BLOCK;
        let panels = self.panels.chunks_exact(self.panels.len() / (self.taps * self.taps));
        for (tap, panel) in panels.enumerate() {
            let ((lines, up), (squares, right), board) = match self.taps {
                1 => ((0..1, 1), (0..rows, 1), rows),
                2 => ((0..1, 1 + tap / 2), (0..64 - 9, 1 + tap % 2), 64),
                _ => (on_board(tap / 3), on_board(tap % 3), 64),
            };
            for first in (0..rows).step_by(board) {
                for line in lines.clone() {
                    let to = first + 8 * line + squares.start;
                    let product = Product {
                        input: &self.input[(to + 8 * up + right - 9) * S::BLOCK..],
                        input_stride: self.input_stride,
                        panel,
                        next: &self.panels[((tap + 1) * panel.len()).min(self.panels.len())..],
                        output_stride: S::BLOCK,
                        add: true,
                    };
                    product.run(simd, squares.len(), &mut self.output[to * S::BLOCK..]);
                }
            }
        }
    }
}

/// The lines of the board whose neighbour at this tap is on the board, and how far it is, plus one.
fn on_board(tap: usize) -> (Range<usize>, usize) {
    match tap {
        0 => (1..8, 0),
        1 => (0..8, 1),
        _ => (0..7, 2),
    }
}
