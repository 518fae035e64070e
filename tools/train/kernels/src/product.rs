//! The matrix products between the transforms. A matrix of tiles by channels is stored in panels of [`PANEL`] channels,
//! `[channels / PANEL, tiles, PANEL]`, so that a row of a panel is a cache line and every walk is contiguous.

use crate::vector::{LANES, Vector};

/// Channels of a panel.
pub const PANEL: usize = 2 * LANES;

/// Rows whose sums stay in registers: 6 x 2 sums, two vectors of the right side and one of the left make 15 of 16.
const ROWS: usize = 6;

/// Adds `Σ a[row * ROW + k * STEP] * b[k]` over `depth` steps to `R` rows of a panel.
///
/// # Safety
/// `a` holds those elements, `b` `depth` rows of a panel.
#[inline(always)]
unsafe fn accumulate<V: Vector, const R: usize, const ROW: usize, const STEP: usize>(
    mut sums: [[V; 2]; R],
    mut a: *const f32,
    mut b: *const f32,
    depth: usize,
) -> [[V; 2]; R] {
    for _ in 0..depth {
        // SAFETY: the caller's.
        unsafe {
            let (low, high) = (V::load(b), V::load(b.add(LANES)));
            for (row, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*a.add(row * ROW));
                *sum = [factor.mul_add(low, sum[0]), factor.mul_add(high, sum[1])];
            }
            a = a.add(STEP);
            b = b.add(PANEL);
        }
    }
    sums
}

/// `R` rows of a panel of `left · right`.
///
/// # Safety
/// As [`multiply`], for the rows from `left` and `out` on.
#[inline(always)]
unsafe fn multiply_rows<V: Vector, const R: usize>(
    left: *const f32,
    right: *const f32,
    out: *mut f32,
    tiles: usize,
    panels: usize,
) {
    let mut sums = [[V::zero(); 2]; R];
    for panel in 0..panels {
        // SAFETY: the caller's: `left` has `panels` panels of `tiles` rows, `right` `panels * PANEL` rows.
        sums = unsafe {
            let (left, right) = (left.add(panel * tiles * PANEL), right.add(panel * PANEL * PANEL));
            accumulate::<V, R, PANEL, 1>(sums, left, right, PANEL)
        };
    }
    for (row, sum) in sums.iter().enumerate() {
        // SAFETY: the caller's: `out` has `R` rows.
        unsafe {
            sum[0].store(out.add(row * PANEL));
            sum[1].store(out.add(row * PANEL + LANES));
        }
    }
}

/// `out = left · right`: `[tiles, inner] · [inner, outer]`, both sizes in panels; `tiles` is even.
///
/// # Safety
/// `left` holds `inner` panels and `out` room for `outer` panels of `tiles` rows; `right` is `[outer, inner * PANEL, PANEL]`.
#[inline(always)]
pub unsafe fn multiply<V: Vector>(
    left: *const f32,
    right: *const f32,
    out: *mut f32,
    tiles: usize,
    inner: usize,
    outer: usize,
) {
    for panel in 0..outer {
        // SAFETY: the caller's; the rows taken sum to `tiles`.
        unsafe {
            let right = right.add(panel * inner * PANEL * PANEL);
            let out = out.add(panel * tiles * PANEL);
            let mut row = 0;
            while row + ROWS <= tiles {
                multiply_rows::<V, ROWS>(
                    left.add(row * PANEL),
                    right,
                    out.add(row * PANEL),
                    tiles,
                    inner,
                );
                row += ROWS;
            }
            while row < tiles {
                multiply_rows::<V, 2>(
                    left.add(row * PANEL),
                    right,
                    out.add(row * PANEL),
                    tiles,
                    inner,
                );
                row += 2;
            }
        }
    }
}

/// Adds `R` rows of `leftᵀ · right` to a panel.
///
/// # Safety
/// As [`add_outer`], for the columns from `left` and the rows from `out` on.
#[inline(always)]
unsafe fn add_outer_rows<V: Vector, const R: usize>(
    left: *const f32,
    right: *const f32,
    out: *mut f32,
    tiles: usize,
) {
    let mut sums = [[V::zero(); 2]; R];
    // SAFETY: the caller's: `out` has `R` rows, `left` and `right` `tiles` rows of a panel.
    unsafe {
        for (row, sum) in sums.iter_mut().enumerate() {
            *sum = [V::load(out.add(row * PANEL)), V::load(out.add(row * PANEL + LANES))];
        }
        sums = accumulate::<V, R, 1, PANEL>(sums, left, right, tiles);
        for (row, sum) in sums.iter().enumerate() {
            sum[0].store(out.add(row * PANEL));
            sum[1].store(out.add(row * PANEL + LANES));
        }
    }
}

/// `out += leftᵀ · right`: `[inner, tiles] · [tiles, outer]`, both sizes in panels.
///
/// # Safety
/// `left` holds `inner` and `right` `outer` panels of `tiles` rows; `out` is `[outer, inner * PANEL, PANEL]`.
#[inline(always)]
pub unsafe fn add_outer<V: Vector>(
    left: *const f32,
    right: *const f32,
    out: *mut f32,
    tiles: usize,
    inner: usize,
    outer: usize,
) {
    for panel in 0..outer {
        for rows in 0..inner {
            // SAFETY: the caller's; 6 + 6 + 4 rows make a panel.
            unsafe {
                let left = left.add(rows * tiles * PANEL);
                let right = right.add(panel * tiles * PANEL);
                let out = out.add((panel * inner + rows) * PANEL * PANEL);
                add_outer_rows::<V, ROWS>(left, right, out, tiles);
                add_outer_rows::<V, ROWS>(left.add(ROWS), right, out.add(ROWS * PANEL), tiles);
                add_outer_rows::<V, 4>(left.add(2 * ROWS), right, out.add(2 * ROWS * PANEL), tiles);
            }
        }
    }
}
