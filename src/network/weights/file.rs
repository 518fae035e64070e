//! The layers of a network by the names of their tensors.

use super::{
    Block, Convolution, Linear, PolicyLayer, Real, ResidualLayers, Rows, Squares, SqueezeExcite,
    Tower, WeightsError,
};
use crate::network::float16::{self, F16};
use crate::network::int8;
use crate::network::spec::{Int8, Residual};
use ndarray::{Array, Array1, ArrayD, Dimension, IntoDimension};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// Added to every variance of a BatchNorm, as PyTorch does by default.
const BATCH_NORM_EPSILON: f64 = 1e-5;

/// Layers by name, from a file that [`open`](super::open) has checked.
pub struct File<'a>(pub &'a SafeTensors<'a>);

impl File<'_> {
    pub fn residual<T: Real>(&self, sizes: &Residual) -> Result<ResidualLayers<T>, WeightsError> {
        let convolution = |i: usize, n: usize| {
            self.normalised(&format!("tower.{i}.conv{n}"), &format!("tower.{i}.bn{n}"))
        };
        let bytes = |i: usize, n: usize| self.int8_convolution(&format!("tower.{i}.conv{n}"));
        Ok(ResidualLayers {
            recurrence: sizes.recurrence,
            stem: self.normalised("stem.0", "stem.1")?,
            tower: match sizes.int8 {
                Int8::Nothing => Tower::Plain(self.blocks(sizes, convolution)?),
                Int8::Tower | Int8::TowerAndPolicy => Tower::Int8(self.blocks(sizes, bytes)?),
            },
            gate: if sizes.gate { Some(self.biased("gate")?) } else { None },
            policy_conv: self.normalised("policy_conv", "policy_bn")?,
            policy: self.policy("policy_fc")?,
            value_conv: self.normalised("value_conv", "value_bn")?,
            value_hidden: self.linear("value_fc1")?,
            value: self.linear("value_fc2")?,
        })
    }

    /// The blocks, whose convolutions `convolution` reads: of a block the first and the second.
    fn blocks<T: Real, C>(
        &self,
        sizes: &Residual,
        convolution: impl Fn(usize, usize) -> Result<C, WeightsError>,
    ) -> Result<Vec<Block<T, C>>, WeightsError> {
        let block = |i| {
            Ok(Block {
                conv1: convolution(i, 1)?,
                conv2: convolution(i, 2)?,
                se: match sizes.se_width {
                    Some(_) => Some(SqueezeExcite {
                        squeeze: self.linear(&format!("tower.{i}.se.fc1"))?,
                        excite: self.linear(&format!("tower.{i}.se.fc2"))?,
                    }),
                    None => None,
                },
            })
        };
        (0..sizes.blocks).map(block).collect()
    }

    fn int8_convolution(&self, name: &str) -> Result<int8::Convolution, WeightsError> {
        let weight = self.bytes(&format!("{name}.weight"))?;
        let (_, bias) = self.tensor(&format!("{name}.bias"))?;
        Ok(int8::Convolution {
            weight: weight.into_dimensionality().expect("its shape is checked"),
            scale: self.scales(&format!("{name}.scale"))?,
            bias: Array1::from(bias),
            input_scale: self.scales(&format!("{name}.input_scale"))?,
        })
    }

    fn bytes(&self, name: &str) -> Result<ArrayD<i8>, WeightsError> {
        let view = self.0.tensor(name).map_err(WeightsError::format)?;
        let bytes: Vec<i8> = view.data().iter().map(|&byte| byte as i8).collect();
        if bytes.contains(&i8::MIN) {
            let expected = "whole numbers from -127 to 127";
            return Err(WeightsError::Number { name: name.to_owned(), found: -128.0, expected });
        }
        Ok(array(view.shape(), bytes))
    }

    /// Numbers to multiply and to divide by.
    fn scales(&self, name: &str) -> Result<Array1<f32>, WeightsError> {
        let (_, scales) = self.tensor::<f32>(name)?;
        match scales.iter().find(|&&scale| scale < f32::MIN_POSITIVE) {
            Some(&bad) => {
                let (found, expected) = (bad.into(), "numbers above 1.2e-38");
                Err(WeightsError::Number { name: name.to_owned(), found, expected })
            }
            None => Ok(Array1::from(scales)),
        }
    }

    pub fn squares<T: Real>(&self, name: &str) -> Result<Squares<T>, WeightsError> {
        Ok(Squares {
            conv1: self.biased(&format!("{name}.conv1"))?,
            conv2: self.biased(&format!("{name}.conv2"))?,
            fc1: self.linear(&format!("{name}.fc1"))?,
            fc2: self.linear(&format!("{name}.fc2"))?,
            fc3: self.linear(&format!("{name}.fc3"))?,
        })
    }

    fn tensor<T: Real>(&self, name: &str) -> Result<(Vec<usize>, Vec<T>), WeightsError> {
        let view = self.0.tensor(name).map_err(WeightsError::format)?;
        let numbers = numbers(&view);
        if let Some(bad) = numbers.iter().find(|x: &&T| !x.is_finite()) {
            return Err(not_finite(name, bad.to_f64().unwrap_or(f64::NAN)));
        }
        Ok((view.shape().to_vec(), numbers))
    }

    fn linear<T: Real>(&self, name: &str) -> Result<Linear<T>, WeightsError> {
        let (shape, weight) = self.tensor(&format!("{name}.weight"))?;
        let (_, bias) = self.tensor(&format!("{name}.bias"))?;
        Ok(Linear { weight: array((shape[0], shape[1]), weight), bias: Array1::from(bias) })
    }

    fn policy<T: Real>(&self, name: &str) -> Result<PolicyLayer<T>, WeightsError> {
        let view = self.0.tensor(&format!("{name}.weight")).map_err(WeightsError::format)?;
        if view.dtype() == Dtype::I8 {
            let weight = self.bytes(&format!("{name}.weight"))?;
            let weight = weight.into_dimensionality().expect("its shape is checked");
            let weight = Rows::Bytes(weight, self.scales(&format!("{name}.scale"))?);
            let (_, bias) = self.tensor(&format!("{name}.bias"))?;
            return Ok(PolicyLayer { weight, bias: Array1::from(bias) });
        }
        if view.dtype() != Dtype::F16 {
            let Linear { weight, bias } = self.linear(name)?;
            return Ok(PolicyLayer { weight: Rows::Full(weight), bias });
        }
        let halves: Vec<F16> = halves(&view).collect();
        if let Some(bad) = halves.iter().find(|half| !half.is_finite()) {
            return Err(not_finite(&format!("{name}.weight"), bad.to_f32().into()));
        }
        let weight = Rows::Half(array((view.shape()[0], view.shape()[1]), halves));
        let (_, bias) = self.tensor(&format!("{name}.bias"))?;
        Ok(PolicyLayer { weight, bias: Array1::from(bias) })
    }

    fn biased<T: Real>(&self, name: &str) -> Result<Convolution<T>, WeightsError> {
        let (shape, weight) = self.tensor(&format!("{name}.weight"))?;
        let (_, bias) = self.tensor(&format!("{name}.bias"))?;
        let shape = (shape[0], shape[1], shape[2], shape[3]);
        Ok(Convolution { weight: array(shape, weight), bias: Array1::from(bias) })
    }

    /// A convolution and the BatchNorm after it, as one convolution with a bias.
    fn normalised<T: Real>(&self, conv: &str, norm: &str) -> Result<Convolution<T>, WeightsError> {
        let (shape, weight) = self.tensor::<f32>(&format!("{conv}.weight"))?;
        let part = |part: &str| Ok(self.tensor::<f64>(&format!("{norm}.{part}"))?.1);
        let (gain, offset) = (part("weight")?, part("bias")?);
        let (mean, variance) = (part("running_mean")?, part("running_var")?);
        // There only where the architecture has it.
        let bias = match self.0.tensor(&format!("{conv}.bias")) {
            Ok(_) => self.tensor::<f64>(&format!("{conv}.bias"))?.1,
            Err(_) => vec![0.0; mean.len()],
        };
        if let Some(&found) = variance.iter().find(|&&variance| variance < 0.0) {
            let (name, expected) = (format!("{norm}.running_var"), "no negative variance");
            return Err(WeightsError::Number { name, found, expected });
        }
        let scale: Vec<f64> = (gain.iter().zip(&variance))
            .map(|(gain, variance)| gain / (variance + BATCH_NORM_EPSILON).sqrt())
            .collect();
        let folded: Vec<T> = weight
            .chunks(weight.len() / scale.len())
            .zip(&scale)
            .flat_map(|(filter, scale)| {
                filter.iter().map(move |&w| T::from_f64(f64::from(w) * scale))
            })
            .collect();
        let bias: Array1<T> = (0..scale.len())
            .map(|o| T::from_f64(offset[o] + (bias[o] - mean[o]) * scale[o]))
            .collect();
        // A network with an infinite weight would not fail: ReLU turns a NaN into 0.
        if let Some(infinite) = folded.iter().chain(&bias).find(|x| !x.is_finite()) {
            let name = format!("{conv}.weight");
            let found = infinite.to_f64().unwrap_or(f64::NAN);
            let expected = "finite numbers after folding its BatchNorm in";
            return Err(WeightsError::Number { name, found, expected });
        }
        let shape = (shape[0], shape[1], shape[2], shape[3]);
        Ok(Convolution { weight: array(shape, folded), bias })
    }
}

fn array<T, D: Dimension>(shape: impl IntoDimension<Dim = D>, numbers: Vec<T>) -> Array<T, D> {
    Array::from_shape_vec(shape.into_dimension(), numbers).expect("the file's shape fits its data")
}

fn not_finite(name: &str, found: f64) -> WeightsError {
    let expected = "finite numbers only";
    WeightsError::Number { name: name.to_owned(), found, expected }
}

fn halves(view: &TensorView<'_>) -> impl Iterator<Item = F16> {
    view.data().as_chunks::<2>().0.iter().map(|&pair| F16(u16::from_le_bytes(pair)))
}

fn numbers<T: Real>(view: &TensorView<'_>) -> Vec<T> {
    match view.dtype() {
        Dtype::F16 => halves(view).map(|half| T::from_f32(half.to_f32())).collect(),
        Dtype::BF16 => {
            halves(view).map(|F16(bits)| T::from_f32(float16::from_bf16(bits))).collect()
        }
        _ => {
            let words = view.data().as_chunks::<4>().0;
            words.iter().map(|&word| T::from_f32(f32::from_le_bytes(word))).collect()
        }
    }
}
