//! The functions between layers.

pub fn relu(x: &mut [f32]) {
    for x in x {
        *x = at_least_zero(*x);
    }
}

/// As PyTorch's, and unlike `max`, it lets NaN through: an overflow inside a network must be seen.
pub fn at_least_zero(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
