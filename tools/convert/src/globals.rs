//! The Python names that a checkpoint may ask for. Each stands for something built here; none is called.

use crate::pickle::{Node, Storage, TensorParts, Value};
use crate::tensor::Dtype;
use crate::{Result, fail, shown};

/// A name that a pickle may mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// `collections.OrderedDict`
    OrderedDict,
    /// `torch._utils._rebuild_tensor_v2`
    RebuildTensor,
    /// `torch._utils._rebuild_parameter` and `_rebuild_parameter_with_state`
    RebuildParameter,
    /// `torch.Size`
    Size,
    /// `torch.device`
    Device,
    /// `torch.FloatStorage` and the like
    Storage(Dtype),
    /// `torch.float32` and the like
    Dtype,
}

impl Global {
    /// Finds a name in the list.
    ///
    /// # Errors
    /// A refusal that says the name, for every name not listed.
    pub fn find(module: &str, name: &str) -> Result<Self> {
        Ok(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                Self::RebuildParameter
            }
            ("torch", "Size") => Self::Size,
            ("torch", "device") => Self::Device,
            ("torch", "DoubleStorage") => Self::Storage(Dtype::F64),
            ("torch", "FloatStorage") => Self::Storage(Dtype::F32),
            ("torch", "HalfStorage") => Self::Storage(Dtype::F16),
            ("torch", "BFloat16Storage") => Self::Storage(Dtype::BF16),
            ("torch", "LongStorage") => Self::Storage(Dtype::I64),
            ("torch", "IntStorage") => Self::Storage(Dtype::I32),
            ("torch", "ShortStorage") => Self::Storage(Dtype::I16),
            ("torch", "CharStorage") => Self::Storage(Dtype::I8),
            ("torch", "ByteStorage") => Self::Storage(Dtype::U8),
            ("torch", "BoolStorage") => Self::Storage(Dtype::Bool),
            (
                "torch",
                "float64" | "float32" | "float16" | "bfloat16" | "int64" | "int32" | "int16"
                | "int8" | "uint8" | "bool",
            ) => Self::Dtype,
            _ => {
                return fail(format!(
                    "the checkpoint asks for {}.{}: refused, nothing is executed; a checkpoint may hold tensors, \
                     numbers, texts, lists and dicts only: load it where you trust it and save the weights alone, \
                     torch.save({{\"network\": model.state_dict()}}, ...)",
                    shown(module),
                    shown(name)
                ));
            }
        })
    }

    /// What calling this with `args` gives: a value that is there already, or a new node.
    ///
    /// # Errors
    /// When the arguments are not those that torch.save writes.
    pub fn reduce<'a>(self, args: &[Value<'a>], nodes: &[Node<'a>]) -> Result<Built<'a>> {
        let node = |value: &Value| match *value {
            Value::Node(index) => nodes.get(index),
            _ => None,
        };
        match (self, args) {
            (Self::OrderedDict, []) => return Ok(Built::Node(Node::Dict(Vec::new()))),
            (Self::RebuildTensor, [storage, offset, shape, strides, ..]) => {
                if let Some(&Node::Storage(storage)) = node(storage) {
                    return Ok(Built::Node(Node::Tensor(Box::new(TensorParts {
                        storage,
                        offset: *offset,
                        shape: *shape,
                        strides: *strides,
                    }))));
                }
            }
            (Self::RebuildParameter, [tensor, ..]) => {
                if let Some(Node::Tensor(_)) = node(tensor) {
                    return Ok(Built::Value(*tensor));
                }
            }
            (Self::Size, [sequence]) => {
                if let Some(Node::Sequence(_)) = node(sequence) {
                    return Ok(Built::Value(*sequence));
                }
            }
            (Self::Device, _) => return Ok(Built::Value(Value::Other)),
            _ => {}
        }
        fail(format!(
            "{self:?} is called with arguments that torch.save does not write: the file is damaged"
        ))
    }
}

/// The storage that a persistent identifier names: `("storage", type, key, location, elements)`.
///
/// # Errors
/// When it is something else.
pub fn storage<'a>(id: &[Value<'a>]) -> Result<Storage<'a>> {
    match *id {
        [
            Value::Text("storage"),
            Value::Global(Global::Storage(dtype)),
            Value::Text(key),
            _,
            Value::Int(elements),
        ] => Ok(Storage { dtype, key, elements }),
        _ => fail("a storage is not described as torch.save does it: the file is damaged"),
    }
}

/// The result of [`Global::reduce`].
pub enum Built<'a> {
    /// Something there already.
    Value(Value<'a>),
    /// Something new.
    Node(Node<'a>),
}
