//! Rounding the numbers of a row one after the other, each so that it makes up for the errors of those before it.
//!
//! A row w of numbers becomes a row q of whole ones, and what counts is how far off w·x is on average, over inputs x:
//! `(w - q) H (w - q)^T` with the inputs' mean products `H`. With `H = M M^T` and M upper triangular this is the squared length
//! of `(w - q) M`, whose element j depends on no number after the j-th. So the j-th is rounded to where that element is
//! smallest. (Babai's nearest plane, 1986; Frantar, Ashkboos, Hoefler and Alistarh, "GPTQ", arXiv 2210.17323.)

use ndarray::{Array2, ArrayView1};

/// What is added to the diagonal of H, as a share of its mean: without it, numbers whose inputs are always 0 would be free.
const DAMPING: f64 = 0.01;

/// The matrix M, `[n, n]`, of the inputs' mean products `[n, n]`.
pub struct Inputs(Array2<f64>);

impl Inputs {
    /// From the sums of products of inputs, `[n, n]`; only what is on and above the diagonal is read.
    pub fn new(products: &Array2<f64>) -> Self {
        let n = products.nrows();
        let mean = products.diag().sum() / n.max(1) as f64;
        let damping = if mean > 0.0 { DAMPING * mean } else { 1.0 };
        let mut m = products.clone();
        // Cholesky's factorization from the last row up.
        for j in (0..n).rev() {
            let pivot = (m[[j, j]] + damping).max(damping).sqrt();
            m[[j, j]] = pivot;
            for i in 0..j {
                m[[i, j]] /= pivot;
                m[[j, i]] = 0.0;
            }
            let column = m.slice(ndarray::s![..j, j]).to_owned();
            for (i, &x) in column.iter().enumerate() {
                let mut row = m.slice_mut(ndarray::s![i, i..j]);
                row.scaled_add(-x, &column.slice(ndarray::s![i..]));
            }
        }
        Self(m)
    }

    /// Whole numbers between `-limit` and `limit` for a row.
    pub fn round(&self, row: ArrayView1<'_, f64>, limit: f64) -> Vec<i8> {
        let mut error = vec![0.0; row.len()];
        row.iter()
            .zip(self.0.outer_iter())
            .enumerate()
            .map(|(j, (&wanted, m))| {
                let whole = (wanted + error[j] / m[j]).round_ties_even().clamp(-limit, limit);
                let off = wanted - whole;
                error[j..].iter_mut().zip(m.iter().skip(j)).for_each(|(e, m)| *e += off * m);
                whole as i8
            })
            .collect()
    }

    /// How far off these whole numbers are, squared, on average over the inputs.
    pub fn error(&self, row: ArrayView1<'_, f64>, whole: &[i8]) -> f64 {
        let off: ndarray::Array1<f64> =
            row.iter().zip(whole).map(|(wanted, &whole)| wanted - f64::from(whole)).collect();
        off.dot(&self.0).mapv(|x| x * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;

    /// Numbers between -1 and 1 from a formula.
    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|i| ((i as f64 + seed) * 12.9898).sin() * 43_758.545_3 % 1.0).collect()
    }

    /// Inputs that have much in common, `[n, n]` products of 50 of them.
    fn products(n: usize) -> Array2<f64> {
        let (own, common) = (numbers(50 * n, 0.5), numbers(50, 7.5));
        let inputs = Array2::from_shape_fn((50, n), |(s, i)| 2.0 + own[s * n + i] + common[s]);
        inputs.t().dot(&inputs)
    }

    #[test]
    fn the_factor_is_the_products() {
        let (n, products) = (12, products(12));
        let Inputs(m) = Inputs::new(&products);
        let again = m.dot(&m.t());
        let damping = DAMPING * products.diag().sum() / n as f64;
        for ((i, j), &x) in products.indexed_iter() {
            let expected = x + if i == j { damping } else { 0.0 };
            assert!((again[[i, j]] - expected).abs() < 1e-9 * expected.abs(), "{i}, {j}");
            assert!(i <= j || m[[i, j]] == 0.0);
        }
    }

    #[test]
    fn independent_inputs_are_rounded_each_to_the_nearest() {
        let inputs = Inputs::new(&Array2::from_diag(&Array1::from(vec![4.0, 0.0, 9.0, 1.0])));
        let row = Array1::from(vec![1.4, -2.6, 130.2, -0.5]);
        assert_eq!(inputs.round(row.view(), 127.0), [1, -3, 127, 0]);
    }

    /// The error by its definition, of the best of all rows nearby, and of one that is rounded number by number.
    #[test]
    fn errors_make_up_for_each_other() {
        let n = 8;
        let products = products(n);
        let inputs = Inputs::new(&products);
        let mut sums = [0.0; 2];
        for seed in 0..20 {
            let row = Array1::from(numbers(n, 100.0 * f64::from(seed))) * 20.0;
            let error = |whole: &[i8]| {
                let off = &row - &whole.iter().map(|&x| f64::from(x)).collect::<Array1<f64>>();
                let damping = DAMPING * products.diag().sum() / n as f64;
                off.dot(&products).dot(&off) + damping * off.dot(&off)
            };
            let best = (0..1 << n).map(|up| {
                let near = |(i, x): (usize, &f64)| (x.floor() + f64::from(up >> i & 1)) as i8;
                error(&row.iter().enumerate().map(near).collect::<Vec<i8>>())
            });
            let best = best.fold(f64::INFINITY, f64::min);
            let plain: Vec<i8> = row.iter().map(|x| x.round_ties_even() as i8).collect();
            let found = inputs.round(row.view(), 127.0);
            assert!(
                (inputs.error(row.view(), &found) - error(&found)).abs() < 1e-6 * error(&found)
            );
            assert!(error(&found) <= 2.0 * best, "{seed}: {} of {best}", error(&found));
            sums[0] += error(&found);
            sums[1] += error(&plain);
        }
        assert!(sums[0] < 0.5 * sums[1], "{sums:?}");
    }
}
