//! Every instruction set that this machine has does what its portable twin does, lane by lane.

use super::*;

/// All operations on lanes of `a`, `b` and `c`, one row of results after the other.
struct All<'a>([&'a [f32]; 3]);

impl<S: Simd> Kernel<S> for All<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run(self, s: S) -> Vec<f32> {
        let mut rows = vec![Vec::new(); 11];
        for at in (0..self.0[0].len()).step_by(S::LANES) {
            let [a, b, c] = self.0.map(|x| s.load(&x[at..]));
            let n = s.at_least(s.splat(-126.0), s.at_most(s.splat(127.0), s.round(a)));
            let results = [
                s.add(a, b),
                s.sub(a, b),
                s.mul(a, b),
                s.div(a, b),
                s.mul_add(a, b, c),
                s.at_least(a, b),
                s.at_most(a, b),
                s.round(a),
                s.power_of_two(n),
                s.relu(a),
                s.sigmoid(a),
            ];
            for (row, result) in rows.iter_mut().zip(results) {
                let mut lanes = [0.0; 16];
                s.store(result, &mut lanes);
                row.extend(&lanes[..S::LANES]);
            }
        }
        rows.concat()
    }
}

/// All finite numbers of half the width, widened.
struct Halves<'a>(&'a [F16]);

impl<S: Simd> Kernel<S> for Halves<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run(self, simd: S) -> Vec<f32> {
        let mut wide = vec![0.0; self.0.len()];
        for (to, from) in wide.chunks_mut(S::LANES).zip(self.0.chunks(S::LANES)) {
            simd.store(simd.load_half(from), to);
        }
        wide
    }
}

struct Sum<'a>(&'a [f32]);

impl<S: Simd> Kernel<S> for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self, simd: S) -> f32 {
        self.0.chunks_exact(S::LANES).map(|x| simd.sum(simd.load(x))).sum()
    }
}

fn numbers(seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 20) as f32 - 8.0
    };
    let odd = [
        0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, 87.5, -87.5, 200.0, -200.0, 1e-30, 3e4, -3e4,
        7.0,
    ];
    odd.into_iter().chain((0..1008).map(|_| next())).collect()
}

fn check<S: Simd>(name: &str) {
    let Some(simd) = S::detect() else {
        return eprintln!("SKIPPED {name}: this processor does not have it");
    };
    let [a, b, c] = [1, 2, 3].map(numbers);
    let b: Vec<f32> = b.into_iter().map(|b| if b == 0.0 { 3.0 } else { b }).collect();
    let ours = simd.run(All([&a, &b, &c]));
    let theirs = Portable {}.run(All([&a, &b, &c]));
    assert_eq!(ours.len(), 11 * a.len());
    for (i, (x, y)) in ours.iter().zip(&theirs).enumerate() {
        let (row, at) = (i / a.len(), i % a.len());
        // Multiplication with addition may be rounded once or twice: the error is one of the parts.
        let scale = if row == 4 { (a[at] * b[at]).abs() + c[at].abs() } else { y.abs() };
        let tolerance = if row == 4 || row == 10 { 4.0 * f32::EPSILON * scale } else { 0.0 };
        assert!((x - y).abs() <= tolerance, "{name}: operation {row} of {}: {x} and {y}", a[at]);
    }
    assert_eq!(simd.run(Sum(&a[..16])), a[..16].iter().sum::<f32>());

    let halves: Vec<F16> = (0..=u16::MAX).map(F16).filter(|half| half.is_finite()).collect();
    for (half, wide) in halves.iter().zip(simd.run(Halves(&halves))) {
        assert_eq!(wide.to_bits(), half.to_f32().to_bits(), "{name}: {half:?} widened");
    }

    // NaN comes through what limits.
    let nan = [f32::NAN; 16];
    let limited = simd.run(All([&[1.0; 16], &nan, &[0.0; 16]]));
    assert!(limited[5 * 16..7 * 16].iter().all(|x| x.is_nan()), "{name}: a limit hides NaN");
    let through = simd.run(All([&nan, &[1.0; 16], &[0.0; 16]]));
    assert!(
        through[9 * 16..11 * 16].iter().all(|x| x.is_nan()),
        "{name}: ReLU or sigmoid hides NaN"
    );
}

#[test]
fn every_set_is_its_portable_twin() {
    check::<Portable>("portable");
    check::<Wide>("wide");
    #[cfg(target_arch = "x86_64")]
    {
        check::<Avx2>("avx2");
        check::<Avx512>("avx512");
    }
    #[cfg(target_arch = "aarch64")]
    check::<Neon>("neon");
}

/// Against the standard library in f64.
#[test]
fn sigmoid_is_accurate() {
    let a = numbers(1);
    let all = Portable {}.run(All([&a, &a, &a]));
    for (&x, sigmoid) in a.iter().zip(&all[10 * a.len()..]) {
        let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
        let difference = (f64::from(*sigmoid) - exact).abs();
        assert!(difference <= 4e-7 * exact + 1e-37, "sigmoid of {x}: {sigmoid}, not {exact}");
    }
}
