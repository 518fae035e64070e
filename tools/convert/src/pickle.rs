//! A reader of the pickles in torch.save files that executes nothing.
//!
//! Python's pickle is a program for a stack machine
//! ([format](https://docs.python.org/3/library/pickletools.html)). This machine knows the
//! instructions that torch.save emits, protocols 2 to 5, and the names in
//! [`globals`]; it refuses the rest. Values refer to each other by number, so that
//! no input can make it recurse, and what it keeps is held against a budget.

use crate::globals::{self, Built, Global};
use crate::tensor::Dtype;
use crate::{Result, fail};
use std::collections::HashMap;

/// One value of the pickle; texts borrow from the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A string.
    Text(&'a str),
    /// A name from the list.
    Global(Global),
    /// Something with parts: its place among the [`Pickle`]'s nodes.
    Node(usize),
    /// Something of no interest to a conversion: floats, bytes, huge numbers.
    Other,
}

/// A value with parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// A list or a tuple.
    Sequence(Vec<Value<'a>>),
    /// A dict; where a key occurs again, the last one counts.
    Dict(Vec<(Value<'a>, Value<'a>)>),
    /// A storage.
    Storage(Storage<'a>),
    /// A tensor.
    Tensor(Box<TensorParts<'a>>),
}

/// A storage: the elements that tensors are views of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Storage<'a> {
    /// The type of its elements.
    pub dtype: Dtype,
    /// Names the archive's entry `data/<key>`.
    pub key: &'a str,
    /// How many elements the file says it has.
    pub elements: i64,
}

/// What a tensor is made of, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorParts<'a> {
    /// Where its elements are.
    pub storage: Storage<'a>,
    /// Its first element.
    pub offset: Value<'a>,
    /// A sequence of sizes.
    pub shape: Value<'a>,
    /// A sequence of strides.
    pub strides: Value<'a>,
}

/// A pickle, read.
#[derive(Clone, Debug)]
pub struct Pickle<'a> {
    root: Value<'a>,
    nodes: Vec<Node<'a>>,
}

impl<'a> Pickle<'a> {
    /// Reads a pickle, keeping at most about `budget` bytes.
    ///
    /// # Errors
    /// When it is damaged, asks for a name not in the list, or is over the budget.
    pub fn read(input: &'a [u8], budget: usize) -> Result<Self> {
        let machine = Machine {
            input,
            at: 0,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            nodes: Vec::new(),
            kept: 0,
            budget,
        };
        machine.run()
    }

    /// The pickled value.
    pub fn root(&self) -> Value<'a> {
        self.root
    }

    /// The entries, if `value` is a dict.
    pub fn dict(&self, value: Value) -> Option<&[(Value<'a>, Value<'a>)]> {
        match self.node(value)? {
            Node::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// What `key` holds, if `value` is a dict that has it.
    pub fn get(&self, value: Value, key: &str) -> Option<Value<'a>> {
        let entry = self.dict(value)?.iter().rfind(|(k, _)| *k == Value::Text(key))?;
        Some(entry.1)
    }

    /// The parts, if `value` is a tensor.
    pub fn tensor(&self, value: Value) -> Option<&TensorParts<'a>> {
        match self.node(value)? {
            Node::Tensor(parts) => Some(parts),
            _ => None,
        }
    }

    /// The numbers, if `value` is a sequence of whole numbers from 0.
    pub fn sizes(&self, value: Value) -> Option<Vec<usize>> {
        match self.node(value)? {
            Node::Sequence(items) => items.iter().map(size).collect(),
            _ => None,
        }
    }

    fn node(&self, value: Value) -> Option<&Node<'a>> {
        match value {
            Value::Node(index) => self.nodes.get(index),
            _ => None,
        }
    }
}

/// The number, if `value` is a whole number from 0.
pub fn size(value: &Value) -> Option<usize> {
    match *value {
        Value::Int(n) => n.try_into().ok(),
        _ => None,
    }
}

struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    stack: Vec<Value<'a>>,
    /// Heights of the stack where a mark lies.
    marks: Vec<usize>,
    memo: HashMap<u32, Value<'a>>,
    nodes: Vec<Node<'a>>,
    /// Bytes kept outside the stack, about.
    kept: usize,
    budget: usize,
}

impl<'a> Machine<'a> {
    fn run(mut self) -> Result<Pickle<'a>> {
        loop {
            let start = self.at;
            match self.byte()? {
                0x80 => {
                    let protocol = self.byte()?;
                    if !(2..=5).contains(&protocol) {
                        return fail(format!(
                            "the pickle has protocol {protocol}, expected 2 to 5"
                        ));
                    }
                }
                0x95 => drop(self.take(8)?), // FRAME: only a hint for readers of streams
                b'.' => {
                    let root = self.pop()?;
                    return Ok(Pickle { root, nodes: self.nodes });
                }

                b'N' => self.push(Value::None)?,
                0x88 => self.push(Value::Bool(true))?,
                0x89 => self.push(Value::Bool(false))?,
                b'J' => {
                    let n = i32::from_le_bytes(self.array()?);
                    self.push(Value::Int(n.into()))?;
                }
                b'K' => {
                    let n = self.byte()?;
                    self.push(Value::Int(n.into()))?;
                }
                b'M' => {
                    let n = u16::from_le_bytes(self.array()?);
                    self.push(Value::Int(n.into()))?;
                }
                0x8a => {
                    let length = self.byte()?.into();
                    self.long(length)?;
                }
                0x8b => {
                    let length = self.length4()?;
                    self.long(length)?;
                }
                b'G' => self.skip(8)?,
                b'C' => {
                    let length = self.byte()?.into();
                    self.skip(length)?;
                }
                b'B' => {
                    let length = self.length4()?;
                    self.skip(length)?;
                }
                0x8c => {
                    let length = self.byte()?.into();
                    self.text(length)?;
                }
                b'X' => {
                    let length = self.length4()?;
                    self.text(length)?;
                }

                b'(' => {
                    self.marks.push(self.stack.len());
                    self.keep(0)?;
                }
                b'0' => drop(self.pop()?),
                b'1' => drop(self.pop_mark()?),
                b')' | b']' => self.push_node(Node::Sequence(Vec::new()))?,
                b'}' => self.push_node(Node::Dict(Vec::new()))?,
                b't' => {
                    let items = self.pop_mark()?;
                    self.push_node(Node::Sequence(items))?;
                }
                op @ 0x85..=0x87 => {
                    let items = self.pop_many(usize::from(op - 0x84))?;
                    self.push_node(Node::Sequence(items))?;
                }
                b'a' => {
                    let items = self.pop_many(1)?;
                    self.append(items)?;
                }
                b'e' => {
                    let items = self.pop_mark()?;
                    self.append(items)?;
                }
                b's' => {
                    let items = self.pop_many(2)?;
                    self.set(&items)?;
                }
                b'u' => {
                    let items = self.pop_mark()?;
                    self.set(&items)?;
                }

                b'q' => {
                    let place = self.byte()?.into();
                    self.remember(place)?;
                }
                b'r' => {
                    let place = u32::from_le_bytes(self.array()?);
                    self.remember(place)?;
                }
                0x94 => {
                    let place = self.memo.len().try_into().unwrap_or(u32::MAX);
                    self.remember(place)?;
                }
                b'h' => {
                    let place = self.byte()?.into();
                    self.recall(place)?;
                }
                b'j' => {
                    let place = u32::from_le_bytes(self.array()?);
                    self.recall(place)?;
                }

                b'c' => {
                    let module = self.line()?;
                    let name = self.line()?;
                    self.push(Value::Global(Global::find(module, name)?))?;
                }
                0x93 => match self.pop_many(2)?[..] {
                    [Value::Text(module), Value::Text(name)] => {
                        self.push(Value::Global(Global::find(module, name)?))?;
                    }
                    _ => return self.damaged("a name is not text"),
                },
                b'Q' => {
                    let id = self.pop()?;
                    let storage = globals::storage(self.sequence(id)?)?;
                    self.push_node(Node::Storage(storage))?;
                }
                b'R' => {
                    let args = self.pop()?;
                    let Value::Global(global) = self.pop()? else {
                        return self.damaged("something is called that is no function");
                    };
                    match global.reduce(self.sequence(args)?, &self.nodes)? {
                        Built::Value(value) => self.push(value)?,
                        Built::Node(node) => self.push_node(node)?,
                    }
                }
                b'b' => {
                    // Attributes, such as the `_metadata` of a state dict; tensors and dicts need none.
                    self.pop()?;
                    let object = self.pop()?;
                    self.push(object)?;
                }
                other => {
                    return fail(format!(
                        "the pickle holds instruction 0x{other:02x} at byte {start}, which torch.save does not write for \
                         a dict of tensors: save the weights alone, torch.save({{\"network\": model.state_dict()}}, ...)"
                    ));
                }
            }
        }
    }

    fn damaged<T>(&self, what: &str) -> Result<T> {
        fail(format!("the pickle is damaged near byte {}: {what}", self.at))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some(bytes) = self.input.get(self.at..).and_then(|rest| rest.get(..length)) else {
            return self.damaged("it ends too early");
        };
        self.at += length;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn length4(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = &self.input[self.at..];
        let Some(length) = rest.iter().position(|&b| b == b'\n') else {
            return self.damaged("a name has no end");
        };
        let line = self.take(length)?;
        self.take(1)?;
        std::str::from_utf8(line).or_else(|_| self.damaged("a name is not UTF-8"))
    }

    fn text(&mut self, length: usize) -> Result<()> {
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => self.push(Value::Text(text)),
            Err(_) => self.damaged("a text is not UTF-8"),
        }
    }

    fn skip(&mut self, length: usize) -> Result<()> {
        self.take(length)?;
        self.push(Value::Other)
    }

    /// A little-endian number in two's complement.
    fn long(&mut self, length: usize) -> Result<()> {
        let bytes = self.take(length)?;
        if length > 8 {
            return self.push(Value::Other);
        }
        let negative = bytes.last().is_some_and(|&b| b >= 0x80);
        let mut extended = [if negative { 0xff } else { 0 }; 8];
        extended[..length].copy_from_slice(bytes);
        self.push(Value::Int(i64::from_le_bytes(extended)))
    }

    fn push(&mut self, value: Value<'a>) -> Result<()> {
        self.stack.push(value);
        self.keep(0)
    }

    fn push_node(&mut self, node: Node<'a>) -> Result<()> {
        let parts = match &node {
            Node::Sequence(items) => size_of_val(&items[..]),
            Node::Dict(entries) => size_of_val(&entries[..]),
            Node::Storage(_) => 0,
            Node::Tensor(_) => size_of::<TensorParts>(),
        };
        self.keep(size_of::<Node>() + parts)?;
        self.nodes.push(node);
        self.push(Value::Node(self.nodes.len() - 1))
    }

    fn keep(&mut self, bytes: usize) -> Result<()> {
        self.kept += bytes;
        let stack = size_of::<Value>() * self.stack.len() + size_of::<usize>() * self.marks.len();
        if self.kept + stack > self.budget {
            return self.damaged("it builds more than its file could hold");
        }
        Ok(())
    }

    /// The part of the stack above the last mark.
    fn above_mark(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Value<'a>> {
        if self.stack.len() > self.above_mark()
            && let Some(value) = self.stack.pop()
        {
            return Ok(value);
        }
        self.damaged("a value is missing")
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value<'a>>> {
        match self.stack.len().checked_sub(count) {
            Some(from) if from >= self.above_mark() => Ok(self.stack.drain(from..).collect()),
            _ => self.damaged("a value is missing"),
        }
    }

    fn pop_mark(&mut self) -> Result<Vec<Value<'a>>> {
        match self.marks.pop() {
            Some(from) => Ok(self.stack.drain(from..).collect()),
            None => self.damaged("a mark is missing"),
        }
    }

    fn sequence(&self, value: Value<'a>) -> Result<&[Value<'a>]> {
        if let Value::Node(index) = value
            && let Some(Node::Sequence(items)) = self.nodes.get(index)
        {
            return Ok(items);
        }
        self.damaged("a tuple is missing")
    }

    /// The node on top of the stack, which stays there.
    fn top(&mut self) -> Option<&mut Node<'a>> {
        match *self.stack.last()? {
            Value::Node(index) => self.nodes.get_mut(index),
            _ => None,
        }
    }

    fn append(&mut self, items: Vec<Value<'a>>) -> Result<()> {
        self.keep(size_of_val(&items[..]))?;
        match self.top() {
            Some(Node::Sequence(list)) => list.extend(items),
            _ => return self.damaged("a list is missing"),
        }
        Ok(())
    }

    fn set(&mut self, items: &[Value<'a>]) -> Result<()> {
        self.keep(size_of_val(items))?;
        match self.top() {
            Some(Node::Dict(dict)) if items.len().is_multiple_of(2) => {
                dict.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            _ => return self.damaged("a dict is missing"),
        }
        Ok(())
    }

    fn remember(&mut self, place: u32) -> Result<()> {
        // A slot of the table, with the share of it that stays empty.
        self.keep(2 * size_of::<(u32, Value)>())?;
        match self.stack.last() {
            Some(&value) => drop(self.memo.insert(place, value)),
            None => return self.damaged("a value is missing"),
        }
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Result<()> {
        match self.memo.get(&place) {
            Some(&value) => self.push(value),
            None => self.damaged("it refers to a value that it does not hold"),
        }
    }
}
