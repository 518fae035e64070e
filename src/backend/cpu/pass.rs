//! What the threads run: one job after the other, each of some positions of a batch.

use super::buffer::Shared;
use super::clock::Clock;
use super::convolution::Algorithm;
use super::crew::{JOBS, Program};
use super::order::Order;
use super::simd::Simd;
use std::cell::UnsafeCell;

/// A program that evaluates what its order says.
pub trait Pass: Program {
    fn order(&self) -> &Order;

    /// Packs and allocates what a job needs that is the first of its kind: nothing is left for the job itself.
    fn make_room(&self, job: Job, threads: usize);

    /// Sets the clock of the first thread.
    ///
    /// # Safety
    /// That thread calls this, between jobs.
    unsafe fn clock<T>(&self, set: impl FnOnce(&mut Clock) -> T) -> T;

    /// See [`super::Cpu::peak`].
    fn peak(&self) -> f64;
}

/// What one thread works in.
pub struct ThreadsOwn<T>(UnsafeCell<T>);

// SAFETY: only the thread whose it is touches it, which `get` makes a promise of.
unsafe impl<T: Send> Sync for ThreadsOwn<T> {}

impl<T> ThreadsOwn<T> {
    pub fn new(own: T) -> Self {
        Self(UnsafeCell::new(own))
    }

    /// What it is.
    ///
    /// # Safety
    /// The thread whose it is calls this, and has no other borrow of it.
    #[allow(clippy::mut_from_ref)] // The caller's promise stands for it.
    pub unsafe fn get(&self) -> &mut T {
        // SAFETY: as the caller promises, nobody else has it.
        unsafe { &mut *self.0.get() }
    }
}

/// Positions in a job, at most.
pub const MOST: usize = 4096;
const _: () = assert!(MOST * Algorithm::ALL.len() <= JOBS as usize);

/// What the threads are told of a job, as a number below [`JOBS`].
#[derive(Clone, Copy)]
pub struct Job {
    /// How many positions, 1 to [`MOST`].
    pub n: usize,
    pub algorithm: Algorithm,
}

impl Job {
    pub fn to_number(self) -> u64 {
        let algorithm = Algorithm::ALL.iter().position(|&a| a == self.algorithm);
        ((self.n - 1) * Algorithm::ALL.len() + algorithm.expect("one of all")) as u64
    }

    pub fn from_number(number: u64) -> Self {
        let (number, algorithms) = (number as usize, Algorithm::ALL);
        Self { n: number / algorithms.len() + 1, algorithm: algorithms[number % algorithms.len()] }
    }
}

/// Turns the planes of a group's position, `first` being the group's, into its part of a map of n positions.
///
/// # Safety
/// Inside of the one piece of work that makes this part.
pub unsafe fn read_planes<S: Simd>(
    order: &Order,
    first: usize,
    n: usize,
    position: usize,
    map: &Shared,
) {
    // SAFETY: inside of a piece of work.
    let planes = unsafe { order.planes(first + position) }.chunks_exact(64 * S::BLOCK);
    let last = planes.remainder();
    for (block, planes) in planes.chain([last]).enumerate() {
        let start = (block * n + position) * 64 * S::BLOCK;
        if planes.is_empty() {
            continue;
        }
        // SAFETY: the piece that this is inside of makes this part.
        let board = unsafe { map.write(start..start + 64 * S::BLOCK) };
        board.fill(0.0);
        for (channel, plane) in planes.chunks_exact(64).enumerate() {
            for (square, &x) in board.chunks_exact_mut(S::BLOCK).zip(plane) {
                square[channel] = x;
            }
        }
    }
}
