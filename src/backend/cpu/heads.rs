//! The policy and value heads. Of the policy layer only the rows asked for are computed.

use super::activation::relu;
use super::convolution::Convolution;
use super::dense::{linear, one_output};
use crate::network::{Spec, weights};

/// 1x1 convolution, then one row of a fully connected layer for each logit asked for.
pub struct PolicyHead {
    conv: Convolution,
    layer: weights::Linear<f32>,
}

/// 1x1 convolution, then two fully connected layers.
pub struct ValueHead {
    conv: Convolution,
    hidden: weights::Linear<f32>,
    value: weights::Linear<f32>,
}

/// The memory of both heads for one group.
pub struct Workspace {
    /// `[head channels, n, 64]`, of one head after the other.
    map: Vec<f32>,
    /// `[n, head channels, 64]`: what the fully connected layers read.
    features: Vec<f32>,
    hidden: Vec<f32>,
}

impl Workspace {
    pub fn new(spec: &Spec, group: usize) -> Self {
        let map = spec.policy_channels.max(spec.value_channels) * group * 64;
        Self { map: vec![0.0; map], features: vec![0.0; map], hidden: vec![0.0; spec.value_hidden] }
    }
}

impl PolicyHead {
    pub fn new(conv: &weights::Convolution<f32>, layer: weights::Linear<f32>) -> Self {
        Self { conv: Convolution::new(conv), layer }
    }

    /// How many policy indices there are.
    pub fn size(&self) -> usize {
        self.layer.bias.len()
    }

    /// Convolves the state of `n` positions into features that [`PolicyHead::logits`] reads.
    pub fn features(&self, state: &[f32], n: usize, workspace: &mut Workspace) {
        features(&self.conv, state, n, workspace);
    }

    /// The logits of `indices` for position `j` of the group.
    pub fn logits(&self, j: usize, workspace: &Workspace, indices: &[u16], logits: &mut [f32]) {
        let length = self.conv.outputs() * 64;
        let features = &workspace.features[j * length..][..length];
        for (logit, &index) in logits.iter_mut().zip(indices) {
            *logit = one_output(&self.layer, index.into(), features);
        }
    }
}

impl ValueHead {
    pub fn new(
        conv: &weights::Convolution<f32>,
        hidden: weights::Linear<f32>,
        value: weights::Linear<f32>,
    ) -> Self {
        Self { conv: Convolution::new(conv), hidden, value }
    }

    /// The values of the `n` positions of a group.
    pub fn run(&self, state: &[f32], n: usize, workspace: &mut Workspace, values: &mut [f32]) {
        features(&self.conv, state, n, workspace);
        let Workspace { features, hidden, .. } = workspace;
        for (value, features) in values.iter_mut().zip(features.chunks(self.conv.outputs() * 64)) {
            linear(&self.hidden, features, hidden);
            relu(hidden);
            *value = one_output(&self.value, 0, hidden).tanh();
        }
    }
}

/// Convolves `[channels, n, 64]` to `[head channels, n, 64]` and turns it into `[n, head channels, 64]`.
fn features(conv: &Convolution, state: &[f32], n: usize, workspace: &mut Workspace) {
    let outputs = conv.outputs();
    let map = &mut workspace.map[..outputs * n * 64];
    conv.run(state, map, n, &mut []);
    relu(map);
    for (i, board) in map.as_chunks::<64>().0.iter().enumerate() {
        let (channel, position) = (i / n, i % n);
        workspace.features[(position * outputs + channel) * 64..][..64].copy_from_slice(board);
    }
}
