//! A tensor as a strided view into the bytes of a file.

use crate::{Result, fail};
use half::{bf16, f16};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Dtype {
    F16,
    BF16,
    F32,
    F64,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl Dtype {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// Where the elements of a tensor lie in a storage; counts are in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The type of the elements.
    pub dtype: Dtype,
    /// Elements along each dimension.
    pub shape: Vec<usize>,
    /// How far apart neighbours along each dimension lie; 0 repeats one element.
    pub strides: Vec<usize>,
    /// The first element.
    pub offset: usize,
}

/// A tensor of any layout whose elements have been checked to lie inside its bytes.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    layout: Layout,
    data: &'a [u8],
    big_endian: bool,
}

impl<'a> Tensor<'a> {
    /// A view of `data` in this layout.
    ///
    /// # Errors
    /// When some element would lie outside `data`, or sizes are beyond all measure.
    pub fn new(layout: Layout, data: &'a [u8], big_endian: bool) -> Result<Self> {
        let held = data.len() / layout.dtype.size();
        let Layout { shape, strides, offset, .. } = &layout;
        if shape.len() != strides.len() {
            return fail(format!("{} dimensions but {} strides", shape.len(), strides.len()));
        }
        let elements = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let last = shape.iter().zip(strides).try_fold(*offset, |last, (&size, &stride)| {
            last.checked_add(size.saturating_sub(1).checked_mul(stride)?)
        });
        match (elements, last) {
            (Some(0), _) => fail(format!("{shape:?} has no elements")),
            (Some(_), Some(last)) if last < held => Ok(Self { layout, data, big_endian }),
            _ => fail(format!(
                "shape {shape:?} with strides {strides:?} from element {offset} reaches outside its storage of {held} elements"
            )),
        }
    }

    /// Elements along each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The elements in row-major order, as f32.
    ///
    /// # Errors
    /// When the elements are not floats, or one is not finite as f32.
    pub fn values(&self) -> Result<Vec<f32>> {
        let Layout { dtype, shape, strides, offset } = &self.layout;
        let read: fn([u8; 8]) -> f32 = match dtype {
            Dtype::F16 => |b| f16::from_le_bytes([b[0], b[1]]).to_f32(),
            Dtype::BF16 => |b| bf16::from_le_bytes([b[0], b[1]]).to_f32(),
            Dtype::F32 => |b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            Dtype::F64 => |b| f64::from_le_bytes(b) as f32,
            other => return fail(format!("its elements are {other:?}, expected floats")),
        };
        let size = dtype.size();
        let mut values = Vec::with_capacity(shape.iter().product());
        let mut index = vec![0; shape.len()];
        let mut at = *offset;
        loop {
            let mut element = [0; 8];
            element[..size].copy_from_slice(&self.data[at * size..][..size]);
            if self.big_endian {
                element[..size].reverse();
            }
            let value = read(element);
            if !value.is_finite() {
                return fail(format!(
                    "element {index:?} is {value} as f32, expected a finite number"
                ));
            }
            values.push(value);

            // The next index in row-major order, like the wheels of a counter.
            let Some(wheel) = (0..shape.len()).rev().find(|&d| index[d] + 1 < shape[d]) else {
                return Ok(values);
            };
            for d in wheel + 1..shape.len() {
                at -= index[d] * strides[d];
                index[d] = 0;
            }
            index[wheel] += 1;
            at += strides[wheel];
        }
    }
}
