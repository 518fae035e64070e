//! Fast passes of a residual tower's training step on a CPU, for PyTorch to call through a C interface.
//!
//! From the ground up: `vector` (eight lanes, AVX2 or portable), `threads` (who does what), `board` (what is read and written),
//! `transform` (Winograd's, one dimension), `tile` and `filter` (two dimensions), `product` (matrices), `convolution`,
//! `residual` (what else a block does), `legal` (the policy layer); `interface` and `heads` are what C
//! sees of them.
//!
//! Tensors are `f32`, boards channels-last: `[boards, 8, 8, channels]` without gaps. A pass is a struct of pointers and sizes;
//! null pointers leave out what may be left out. Every function returns 0, or 1 if a pointer or size was zero that may not be:
//! it has then done nothing. Results depend on the number of threads only where the order of a sum over boards does.

#![deny(missing_docs)]

mod board;
mod convolution;
mod filter;
mod heads;
mod interface;
mod legal;
mod product;
mod residual;
mod threads;
mod tile;
mod transform;
mod vector;

pub use heads::*;
pub use interface::*;
