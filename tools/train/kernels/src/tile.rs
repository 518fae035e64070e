//! Boards to transformed tiles and back. A board is 2 x 2 tiles of 4 x 4 outputs; tile (row, column) reads the 6 x 6 inputs
//! from (4 row - 1, 4 column - 1) on, zeros outside the board. A transformed tile is 36 numbers, one in each of 36 matrices of
//! tiles by channels (see `product`).

#![expect(clippy::needless_range_loop, reason = "rows and columns change places")]

use crate::board::Board;
use crate::product::PANEL;
use crate::transform;
use crate::vector::Vector;

/// Tiles of a board.
pub const TILES: usize = 4;
/// Numbers of a transformed tile, and matrices to multiply.
pub const POINTS: usize = 36;

/// `Bᵀ d B` of the four tiles: what the forward pass makes of its input.
///
/// # Safety
/// `to` has room for [`TILES`] rows of a panel in each of [`POINTS`] matrices, `matrix` floats apart.
#[inline(always)]
pub unsafe fn split<V: Vector>(board: &Board<V>, to: *mut f32, matrix: usize) {
    for row in 0..2 {
        let mut lines = [[V::zero(); 10]; 6]; // by columns; the first and the last are the border
        for file in 0..8 {
            let mut column = [V::zero(); 6];
            for (i, value) in column.iter_mut().enumerate() {
                let rank = 4 * row + i;
                if (1..9).contains(&rank) {
                    *value = board[(rank - 1) * 8 + file];
                }
            }
            let column = transform::input(column);
            for i in 0..6 {
                lines[i][file + 1] = column[i];
            }
        }
        for column in 0..2 {
            for (i, line) in lines.iter().enumerate() {
                let x = 4 * column;
                let points = transform::input([
                    line[x],
                    line[x + 1],
                    line[x + 2],
                    line[x + 3],
                    line[x + 4],
                    line[x + 5],
                ]);
                for (j, point) in points.iter().enumerate() {
                    // SAFETY: the caller's.
                    unsafe {
                        point.store(to.add((i * 6 + j) * matrix + (row * 2 + column) * PANEL))
                    };
                }
            }
        }
    }
}

/// The adjoint of [`split`]: the gradient by its input.
///
/// # Safety
/// `from` holds what `split` wrote.
#[inline(always)]
pub unsafe fn split_adjoint<V: Vector>(from: *const f32, matrix: usize, board: &mut Board<V>) {
    for row in 0..2 {
        let mut lines = [[V::zero(); 10]; 6];
        for (i, line) in lines.iter_mut().enumerate() {
            for column in 0..2 {
                // SAFETY: the caller's.
                let values = transform::input_adjoint(unsafe {
                    points(from, matrix, row * 2 + column, i * 6, 1)
                });
                for (j, value) in values.iter().enumerate() {
                    line[4 * column + j] = line[4 * column + j].plus(*value);
                }
            }
        }
        for file in 0..8 {
            let column = transform::input_adjoint([
                lines[0][file + 1],
                lines[1][file + 1],
                lines[2][file + 1],
                lines[3][file + 1],
                lines[4][file + 1],
                lines[5][file + 1],
            ]);
            for (i, value) in column.iter().enumerate() {
                let rank = 4 * row + i;
                if (1..9).contains(&rank) {
                    let square = (rank - 1) * 8 + file;
                    // The lower tiles come second and share two ranks with the upper.
                    board[square] =
                        if row == 1 && i < 2 { board[square].plus(*value) } else { *value };
                }
            }
        }
    }
}

/// `Aᵀ m A` of the four tiles: the forward pass's output.
///
/// # Safety
/// `from` holds [`TILES`] rows of a panel in each of [`POINTS`] matrices, `matrix` floats apart.
#[inline(always)]
pub unsafe fn join<V: Vector>(from: *const f32, matrix: usize, board: &mut Board<V>) {
    for row in 0..2 {
        for column in 0..2 {
            let mut lines = [[V::zero(); 6]; 4];
            for j in 0..6 {
                // SAFETY: the caller's.
                let values =
                    transform::output(unsafe { points(from, matrix, row * 2 + column, j, 6) });
                for i in 0..4 {
                    lines[i][j] = values[i];
                }
            }
            for (i, line) in lines.iter().enumerate() {
                let values = transform::output(*line);
                for (j, value) in values.iter().enumerate() {
                    board[(4 * row + i) * 8 + 4 * column + j] = *value;
                }
            }
        }
    }
}

/// The adjoint of [`join`]: what the backward pass makes of the gradient by the output.
///
/// # Safety
/// As [`split`].
#[inline(always)]
pub unsafe fn join_adjoint<V: Vector>(board: &Board<V>, to: *mut f32, matrix: usize) {
    for row in 0..2 {
        for column in 0..2 {
            let mut lines = [[V::zero(); 4]; 6];
            for j in 0..4 {
                let at = 4 * row * 8 + 4 * column + j;
                let values = transform::output_adjoint([
                    board[at],
                    board[at + 8],
                    board[at + 16],
                    board[at + 24],
                ]);
                for i in 0..6 {
                    lines[i][j] = values[i];
                }
            }
            for (i, line) in lines.iter().enumerate() {
                let points = transform::output_adjoint(*line);
                for (j, point) in points.iter().enumerate() {
                    // SAFETY: the caller's.
                    unsafe {
                        point.store(to.add((i * 6 + j) * matrix + (row * 2 + column) * PANEL))
                    };
                }
            }
        }
    }
}

/// Six points of a tile, from `first` on, `step` apart.
///
/// # Safety
/// `from` holds them.
#[inline(always)]
unsafe fn points<V: Vector>(
    from: *const f32,
    matrix: usize,
    tile: usize,
    first: usize,
    step: usize,
) -> [V; 6] {
    let mut points = [V::zero(); 6];
    for (i, point) in points.iter_mut().enumerate() {
        // SAFETY: the caller's.
        *point = unsafe { V::load(from.add((first + i * step) * matrix + tile * PANEL)) };
    }
    points
}
