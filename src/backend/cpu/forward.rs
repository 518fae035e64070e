//! A residual network: groups of positions through the tower and the heads.

use super::arithmetic::Arithmetic;
use super::choice::GROUP;
use super::clock::Clock;
use super::convolution::Algorithm;
use super::crew::{Member, Program};
use super::heads::{Features, Heads};
use super::order::Order;
use super::pass::{Job, Pass, ThreadsOwn, read_planes};
use super::simd::Simd;
use super::tower::{Maps, Scratch, Tower};
use crate::network::spec::Residual;
use crate::network::weights::{Block, ResidualLayers};
use std::sync::OnceLock;

/// A whole residual network.
pub struct Forward<A: Arithmetic<S>, S: Simd> {
    simd: S,
    planes: usize,
    sizes: Residual,
    tower: Tower<S, A>,
    heads: Heads<S>,
    order: Order,
    /// One for each thread. A group that all threads work on lies in the first.
    groups: Vec<OnceLock<(Maps<A, S>, Features)>>,
    scratch: Vec<ThreadsOwn<Scratch>>,
}

impl<A: Arithmetic<S>, S: Simd> Forward<A, S> {
    pub fn new(
        simd: S,
        planes: usize,
        sizes: Residual,
        layers: ResidualLayers<f32>,
        blocks: Vec<Block<f32, A::Convolution>>,
        threads: usize,
    ) -> Self {
        Self {
            simd,
            planes,
            tower: Tower::new(simd, &layers.stem, blocks, layers.gate, layers.recurrence),
            heads: Heads::new(
                simd,
                (layers.policy_conv, layers.policy),
                (layers.value_conv, layers.value_hidden, layers.value),
            ),
            order: Order::none(),
            groups: (0..threads).map(|_| OnceLock::new()).collect(),
            scratch: (0..threads)
                .map(|_| ThreadsOwn::new(Scratch::new::<A, S>(&sizes, GROUP)))
                .collect(),
            sizes,
        }
    }

    /// The memory of a group.
    fn memory(&self, group: usize) -> &(Maps<A, S>, Features) {
        let new =
            || (Maps::new(self.planes, &self.sizes, GROUP), Features::new(&self.sizes, GROUP));
        self.groups[group].get_or_init(new)
    }

    /// Whether so many positions are one group that all threads work on, block by block.
    fn is_shared(n: usize, threads: usize) -> bool {
        threads > 1 && n < 2 * threads && n <= GROUP
    }

    /// The group of positions that begins at `first`.
    ///
    /// # Safety
    /// `member` has the index of the thread that calls this.
    unsafe fn group(
        &self,
        member: &mut Member<'_>,
        memory: usize,
        first: usize,
        n: usize,
        algorithm: Algorithm,
    ) {
        let (maps, features) = self.memory(memory);
        // SAFETY: it is this thread's, which uses it here and, between jobs, in `clock`.
        let scratch = unsafe { self.scratch[member.index].get() };

        member.each(n, |position| {
            // SAFETY: inside of the piece that makes this position of the planes.
            unsafe { read_planes::<S>(&self.order, first, n, position, &maps.planes) }
        });
        let state = self.tower.run(member, maps, scratch, n, algorithm);
        let positions = first..first + n;
        self.heads.run(member, &maps.states[state], features, scratch, &self.order, positions);
    }
}

// SAFETY: its phases depend on the job and on how many threads there are.
unsafe impl<A: Arithmetic<S>, S: Simd> Program for Forward<A, S> {
    /// All threads work on a few positions; of many each takes groups of its own.
    fn run(&self, member: &mut Member<'_>, job: u64) {
        let Job { n, algorithm } = Job::from_number(job);
        let threads = member.threads();
        if Self::is_shared(n, threads) {
            // SAFETY: the crew gives each thread a member of its own.
            return unsafe { self.group(member, 0, 0, n, algorithm) };
        }
        let groups = n.div_ceil(GROUP).next_multiple_of(threads).min(n);
        let index = member.index;
        member.each(groups, |group| {
            let (first, end) = (n * group / groups, n * (group + 1) / groups);
            let alone = &mut Member::alone(index);
            // SAFETY: as above.
            unsafe { self.group(alone, index, first, end - first, algorithm) };
        });
    }
}

impl<A: Arithmetic<S>, S: Simd> Pass for Forward<A, S> {
    fn order(&self) -> &Order {
        &self.order
    }

    fn make_room(&self, Job { n, algorithm }: Job, threads: usize) {
        self.tower.pack(algorithm);
        // All of them now, or a thread that is late today would allocate in a later batch.
        let groups = if Self::is_shared(n, threads) { 1 } else { threads };
        (0..groups).for_each(|group| _ = self.memory(group));
    }

    unsafe fn clock<T>(&self, set: impl FnOnce(&mut Clock) -> T) -> T {
        // SAFETY: the first thread calls this, which is in no job.
        set(&mut unsafe { self.scratch[0].get() }.clock)
    }

    fn peak(&self) -> f64 {
        A::peak(self.simd)
    }
}
