//! The functions between layers.

pub fn relu(x: &mut [f32]) {
    for x in x {
        *x = x.max(0.0);
    }
}

pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
