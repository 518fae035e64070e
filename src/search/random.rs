//! Random numbers for play.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that differs from one run of the program to the next.
    pub fn from_time() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self::new(now.map_or(0, |now| now.as_nanos() as u64))
    }

    /// Uniform over all numbers.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Starts from an option's value: 0 for other numbers in each run.
    pub fn of_option(seed: u32) -> Self {
        if seed == 0 { Self::from_time() } else { Self::new(seed.into()) }
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From the normal distribution (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// From the gamma distribution of this shape and scale 1 (Marsaglia and Tsang 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * (1.0 - self.unit()).powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// `count` numbers that add up to 1, from the symmetric Dirichlet distribution.
    pub fn dirichlet(&mut self, alpha: f64, count: usize) -> Vec<f64> {
        let mut shares: Vec<f64> = (0..count).map(|_| self.gamma(alpha)).collect();
        let sum: f64 = shares.iter().sum();
        for share in &mut shares {
            *share = if sum > 0.0 { *share / sum } else { 1.0 / count as f64 };
        }
        shares
    }

    /// Which of the candidates, best first, is drawn in proportion to `weight^(1/temperature)`.
    pub fn draw(&mut self, weights: &[f64], temperature: f64) -> usize {
        let unit = self.unit();
        let best = weights.first().copied().unwrap_or(0.0);
        if best <= 0.0 {
            return 0;
        }
        let weights = weights.iter().map(|p| (p / best).powf(1.0 / temperature));
        let mut left = unit * weights.clone().sum::<f64>();
        for (i, weight) in weights.enumerate() {
            left -= weight;
            if left < 0.0 {
                return i;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567, from the algorithm's reference implementation.
    #[test]
    fn reference_sequence() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(random.next(), 9_817_491_932_198_370_423);
    }

    /// Each share of a symmetric Dirichlet distribution of n parts has the mean 1/n and the variance
    /// (n - 1) / (n^2 (n alpha + 1)).
    #[test]
    fn dirichlet_has_its_moments() {
        const DRAWS: usize = 20_000;
        for (alpha, parts) in [(0.3, 20), (1.0, 3), (2.5, 2)] {
            let mut random = Random::new(1);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let shares = random.dirichlet(alpha, parts);
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                sum += shares[0];
                squares += shares[0] * shares[0];
            }
            let n = parts as f64;
            let (mean, square) = (sum / DRAWS as f64, squares / DRAWS as f64);
            let variance = (n - 1.0) / (n * n * (n * alpha + 1.0));
            assert!((mean - 1.0 / n).abs() < 5.0 * (variance / DRAWS as f64).sqrt());
            assert!(((square - mean * mean) / variance - 1.0).abs() < 0.1, "{alpha} {parts}");
        }
    }
}
