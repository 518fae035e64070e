//! Evaluating a batch allocates nothing, once one of its size has been evaluated, and minimax nothing for each
//! position. The only test in its file: it counts the allocations of all threads.

mod launch;
mod random_weights;

use fianchetto::backend::cpu::Cpu;
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::chess::Game;
use fianchetto::encoding::Encoding;
use fianchetto::network::Network;
use fianchetto::network::spec::{Int8, Residual};
use fianchetto::search::{Limits, Player, minimax::Minimax};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The system's allocator, with a count.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged. `realloc` and `alloc_zeroed` are left to the
// trait, which calls `alloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// One position, a full group, a group filled in part, and several groups, the last filled in part.
const SIZES: [usize; 6] = [1, 2, 5, 8, 13, 40];

/// Fills the batch anew, as a search does, and evaluates it.
fn evaluate(cpu: &mut Cpu, batch: &mut Batch, outputs: &mut Outputs, size: usize) {
    batch.clear();
    for position in 0..size {
        batch.push(|planes, indices| {
            planes[position] = 1.0;
            indices.extend([3, 1000, 4095]);
        });
    }
    cpu.evaluate(batch, outputs).unwrap();
}

#[test]
fn work_under_way_allocates_nothing() {
    evaluating();
    searching();
}

fn evaluating() {
    let small = random_weights::small_sizes;
    let full = Residual { channels: 40, se_width: Some(10), ..small() };
    let plain = Residual { channels: 128, gate: false, se_width: None, ..small() };
    let int8 = Residual { int8: Int8::TowerAndPolicy, ..full.clone() };
    let [full, plain, int8] =
        [full, plain, int8].map(|sizes| random_weights::residual(Encoding::Canonical19, sizes));
    for spec in [full, plain, int8, random_weights::pair(40, 50)] {
        let file = random_weights::file(&spec, 1);
        for threads in 1..=3 {
            let mut cpu = Cpu::new(Network::from_safetensors(&file).unwrap(), threads);
            let mut batch = Batch::new(spec.encoding.planes());
            let mut outputs = Outputs::default();
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            SIZES.into_iter().for_each(|n| evaluate(&mut cpu, &mut batch, &mut outputs, n));
            let first = ALLOCATIONS.load(Ordering::Relaxed) - before;
            assert!(first > 0, "the first calls make room");
            // A thread allocates while it starts, whenever the system lets it.
            sleep(launch::patience(Duration::from_millis(300)));

            let before = ALLOCATIONS.load(Ordering::Relaxed);
            for size in SIZES.into_iter().chain(SIZES.into_iter().rev()).cycle().take(60) {
                evaluate(&mut cpu, &mut batch, &mut outputs, size);
                let more = ALLOCATIONS.load(Ordering::Relaxed) - before;
                assert_eq!(more, 0, "{:?}, {threads} threads, batch {size}", spec.architecture);
            }
        }
    }
}

fn searching() {
    let fen = "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7";
    let (game, _) = Game::from_fen(fen).unwrap();
    let limits = Limits { depth: Some(6), ..Limits::default() };
    let (mut nodes, stop) = (0, AtomicBool::new(false));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    Minimax::default().choose(&game, &limits, &stop, &mut |report| nodes = report.nodes).unwrap();
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(nodes > 100_000, "{nodes}");
    assert!(count < 1000, "{count} allocations for {nodes} positions");
}
