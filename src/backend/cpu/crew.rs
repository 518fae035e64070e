//! Threads that compute one thing together.
//!
//! All of them run the same program, a sequence of phases; a phase is a number of pieces of work that do
//! not touch each other, and it is over when all of its pieces are done. Whoever is free takes the next
//! piece. So nobody waits for a thread that sleeps, only for pieces begun: a thread that comes late finds
//! the phases over and runs after the others, and where a core is lost the rest do its share.
//!
//! Between two phases lies no lock and no system call: 32 convolutions of some 50 microseconds each have
//! no time for them. A thread that waits spins briefly, then lets others run; without a job for a while it
//! sleeps.
//!
//! A thread may lose its core to another program in the middle of a piece, for milliseconds, and the others
//! wait. A job in which that made them slower than one thread is followed by some that the caller does
//! alone.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Spins before a waiting thread offers its core to others.
const SPINS: u32 = 300;
/// Offers before a thread without a job goes to sleep.
const OFFERS: u32 = 200;
/// The bits of [`State::claims`] and of [`State::job`] that do not number phases.
const LOW_BITS: u32 = 16;
/// A job is a number below this.
pub const JOBS: u64 = 1 << LOW_BITS;
/// Jobs that the caller does alone, at most, before it tries together again.
const ALONE: u32 = 32;
/// What no job is: the end.
const QUIT: u64 = u64::MAX;

/// What the threads share. What changes from phase to phase has cache lines of its own.
struct State {
    /// The number of the current phase, counted from the start of the crew, and in the low bits the next
    /// piece of it.
    claims: Line<AtomicU64>,
    /// How many pieces of the current phase are done.
    done: Line<AtomicUsize>,
    /// The number of the job's first phase, and in the low bits what the job is.
    job: Line<AtomicU64>,
    /// Which workers sleep.
    asleep: Vec<AtomicBool>,
    /// How many threads there are, the caller among them; set before the first job.
    threads: AtomicUsize,
}

#[repr(align(128))]
struct Line<T>(T);

/// One thread's way through the phases of a job.
pub struct Member<'a> {
    /// Which of the threads it is; the one that gives the jobs is 0.
    pub index: usize,
    team: Option<&'a State>,
    phase: u64,
    /// How long it has waited for the others, beyond moments.
    waited: Duration,
}

impl State {
    fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }
}

impl Member<'_> {
    /// A thread that does everything itself.
    pub fn alone(index: usize) -> Self {
        Self { index, team: None, phase: 0, waited: Duration::ZERO }
    }

    /// How many do its phases, itself among them.
    pub fn threads(&self) -> usize {
        self.team.map_or(1, State::threads)
    }

    /// The next phase: every number below `count` is given to one thread's `work`. Comes back when the work
    /// of all is done and can be seen.
    ///
    /// A thread that is late may find itself here after the job has ended, and then only passes through:
    /// what belongs to a job may be touched inside of `work` only.
    pub fn each(&mut self, count: usize, mut work: impl FnMut(usize)) {
        let Some(state) = self.team else {
            return (0..count).for_each(work);
        };
        if count == 0 {
            return;
        }
        assert!(count < 1 << LOW_BITS, "a phase has few pieces");
        let phase = self.phase;
        self.phase += 1;
        let mut waiting = Waiting::default();
        loop {
            let claims = state.claims.0.load(Ordering::Acquire);
            if claims >> LOW_BITS != phase {
                self.waited += waiting.time();
                return;
            }
            let piece = (claims & ((1 << LOW_BITS) - 1)) as usize;
            if piece == count {
                waiting.pause();
                continue;
            }
            // Only who finds the phase unchanged gets the piece.
            let (relaxed, acquire) = (Ordering::Relaxed, Ordering::Acquire);
            if state.claims.0.compare_exchange(claims, claims + 1, acquire, relaxed).is_err() {
                continue;
            }
            work(piece);
            if state.done.0.fetch_add(1, Ordering::AcqRel) + 1 == count {
                state.done.0.store(0, Ordering::Relaxed);
                state.claims.0.store((phase + 1) << LOW_BITS, Ordering::Release);
                return;
            }
        }
    }
}

/// Ends the program when a thread panics in a job that others share: they would wait for ever for its piece,
/// and unwinding would free what they still work on.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl AbortOnPanic {
    fn guard(job: impl FnOnce()) {
        let bomb = Self;
        job();
        std::mem::forget(bomb);
    }
}

#[derive(Default)]
struct Waiting {
    pauses: u32,
    /// When spinning ended.
    since: Option<Instant>,
}

impl Waiting {
    fn pause(&mut self) {
        self.pauses = self.pauses.saturating_add(1);
        if self.pauses <= SPINS {
            spin_loop();
        } else {
            self.since.get_or_insert_with(Instant::now);
            thread::yield_now();
        }
    }

    fn time(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Some threads and the program that they run.
pub struct Crew<P> {
    state: Arc<State>,
    program: Arc<P>,
    workers: Vec<JoinHandle<()>>,
    crowd: Crowd,
}

/// Whether other programs take the workers' cores.
#[derive(Default)]
struct Crowd {
    /// Jobs still to be done alone.
    alone: u32,
    /// How many they were the last time.
    last: u32,
}

impl Crowd {
    /// After a job that all did together. One thread would have taken the time that the caller did not
    /// wait, once for each thread.
    fn learn(&mut self, threads: usize, time: Duration, waited: Duration) {
        let is_slower = time > time.saturating_sub(waited) * threads as u32;
        self.last = if is_slower { (2 * self.last).clamp(1, ALONE) } else { self.last / 2 };
        self.alone = if is_slower { self.last } else { 0 };
    }

    /// Whether the next job is one to do alone.
    fn is_next_alone(&mut self) -> bool {
        let is_alone = self.alone > 0;
        self.alone -= u32::from(is_alone);
        is_alone
    }
}

/// What a crew can do.
///
/// # Safety
/// For one job all threads call [`Member::each`] equally often and with the same counts, whatever they do
/// in between: a thread that is late would otherwise take a piece of another phase, while somebody else
/// writes what it reads.
pub unsafe trait Program: Send + Sync + 'static {
    /// One job, a number below [`JOBS`], by one of the threads that do it.
    fn run(&self, member: &mut Member<'_>, job: u64);
}

impl<P: Program> Crew<P> {
    /// As many threads as wanted, the caller among them, or as many as the system gives.
    pub fn new(threads: usize, program: Arc<P>) -> Self {
        let workers = threads.saturating_sub(1);
        let state = Arc::new(State {
            // Phase 0 is none: no job equals what a worker has not seen.
            claims: Line(AtomicU64::new(1 << LOW_BITS)),
            done: Line(AtomicUsize::new(0)),
            job: Line(AtomicU64::new(0)),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            threads: AtomicUsize::new(1),
        });
        let start = |worker: usize| {
            let (state, program) = (state.clone(), program.clone());
            let name = format!("fianchetto-{}", worker + 1);
            thread::Builder::new().name(name).spawn(move || work(&state, &*program, worker)).ok()
        };
        let workers: Vec<_> = (0..workers).map_while(start).collect();
        state.threads.store(1 + workers.len(), Ordering::Relaxed);
        Self { state, program, workers, crowd: Crowd::default() }
    }

    /// How many threads there are, the caller among them.
    pub fn threads(&self) -> usize {
        self.state.threads()
    }

    /// What the threads run.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// Does a job.
    pub fn run(&mut self, job: u64) {
        assert!(job < JOBS, "a job has few bits");
        if self.workers.is_empty() || self.crowd.is_next_alone() {
            return self.program.run(&mut Member::alone(0), job);
        }
        let started = Instant::now();
        let phase = self.state.claims.0.load(Ordering::Relaxed) >> LOW_BITS;
        self.call((phase << LOW_BITS) | job);
        let team = Some(&*self.state);
        let mut member = Member { index: 0, team, phase, waited: Duration::ZERO };
        AbortOnPanic::guard(|| self.program.run(&mut member, job));
        let waited = member.waited;
        self.crowd.learn(self.threads(), started.elapsed(), waited);
    }

    /// Lets the workers see a job. Sequentially consistent, as in [`work`]: a worker that goes to sleep
    /// either sees the job or is seen asleep.
    fn call(&self, job: u64) {
        self.state.job.0.store(job, Ordering::SeqCst);
        for (asleep, worker) in self.state.asleep.iter().zip(&self.workers) {
            if asleep.load(Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
    }
}

impl<P> Drop for Crew<P> {
    fn drop(&mut self) {
        self.state.job.0.store(QUIT, Ordering::SeqCst);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker that has panicked has said so; there is nothing left to do about it.
            let _ = worker.join();
        }
    }
}

/// The life of a worker.
fn work<P: Program>(state: &State, program: &P, worker: usize) {
    let (job, asleep) = (&state.job.0, &state.asleep[worker]);
    let mut last = 0;
    loop {
        let mut waiting = Waiting::default();
        let next = loop {
            let next = job.load(Ordering::SeqCst);
            if next != last {
                break next;
            }
            if waiting.pauses < SPINS + OFFERS {
                waiting.pause();
                continue;
            }
            asleep.store(true, Ordering::SeqCst);
            if job.load(Ordering::SeqCst) == last {
                thread::park();
            }
            asleep.store(false, Ordering::SeqCst);
        };
        if next == QUIT {
            return;
        }
        last = next;
        let (index, phase) = (worker + 1, next >> LOW_BITS);
        let member = &mut Member { index, team: Some(state), phase, waited: Duration::ZERO };
        AbortOnPanic::guard(|| program.run(member, next & (JOBS - 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Phases of sums, each of all numbers of the phase before: any piece left out, done twice or too early
    /// gives another result.
    struct Sums {
        numbers: [Vec<AtomicU64>; 2],
        pieces: usize,
        pause: bool,
    }

    const PHASES: usize = 40;

    impl Sums {
        fn new(pieces: usize, pause: bool) -> Self {
            let numbers = || (0..pieces).map(|i| AtomicU64::new(i as u64)).collect();
            Self { numbers: [numbers(), numbers()], pieces, pause }
        }

        fn result(&self) -> Vec<u64> {
            self.numbers[0].iter().map(|x| x.load(Ordering::Relaxed)).collect()
        }
    }

    // SAFETY: the phases depend on nothing.
    unsafe impl Program for Sums {
        fn run(&self, member: &mut Member<'_>, job: u64) {
            for phase in 0..PHASES {
                let (from, to) = (&self.numbers[phase % 2], &self.numbers[1 - phase % 2]);
                let index = member.index;
                member.each(self.pieces, |piece| {
                    if self.pause && (piece + phase) % 11 == index {
                        thread::sleep(std::time::Duration::from_micros(50));
                    }
                    let all = from.iter().map(|x| x.load(Ordering::Relaxed));
                    let sum = all.fold(job, |sum, x| sum.wrapping_mul(31).wrapping_add(x));
                    to[piece].fetch_add(sum + piece as u64, Ordering::Relaxed);
                });
            }
        }
    }

    fn run(threads: usize, pieces: usize, pause: bool, jobs: u64) -> Vec<u64> {
        let mut crew = Crew::new(threads, Arc::new(Sums::new(pieces, pause)));
        (0..jobs).for_each(|job| crew.run(job));
        crew.program().result()
    }

    #[test]
    fn every_piece_is_done_once_and_in_its_phase() {
        for pieces in [1, 2, 7, 30] {
            let expected = run(1, pieces, false, 50);
            for threads in 2..=6 {
                assert_eq!(run(threads, pieces, false, 50), expected, "{threads} threads");
            }
        }
    }

    /// Pieces that sleep let the others run ahead, end the job and begin the next.
    #[test]
    fn late_threads_do_no_harm() {
        for pieces in [1, 5] {
            assert_eq!(run(4, pieces, true, 30), run(1, pieces, false, 30));
        }
    }

    #[test]
    fn a_crowd_is_left_alone_ever_longer_and_tried_again() {
        let (mut crowd, ms) = (Crowd::default(), Duration::from_millis);
        // Two threads take 5 ms, 2 ms of it waiting: alone it would be 6.
        crowd.learn(2, ms(5), ms(2));
        assert!(!crowd.is_next_alone());
        for alone in [1, 2, 4, 8, 16, 32, 32] {
            crowd.learn(2, ms(5), ms(3));
            assert_eq!((0..100).take_while(|_| crowd.is_next_alone()).count(), alone);
        }
        crowd.learn(2, ms(5), ms(0));
        assert!(!crowd.is_next_alone());
        crowd.learn(4, ms(5), ms(3));
        assert!(!crowd.is_next_alone(), "four threads would still be faster");
        crowd.learn(2, ms(5), ms(3));
        assert_eq!((0..100).take_while(|_| crowd.is_next_alone()).count(), 16);
    }

    #[test]
    fn workers_sleep_without_a_job_and_wake_for_the_next() {
        let mut crew = Crew::new(3, Arc::new(Sums::new(4, false)));
        for job in 0..3 {
            crew.run(job);
            let asleep = || crew.state.asleep.iter().all(|asleep| asleep.load(Ordering::SeqCst));
            let slept = (0..5000).any(|_| {
                thread::sleep(std::time::Duration::from_millis(1));
                asleep()
            });
            assert!(slept, "a worker is still busy");
        }
        assert_eq!(crew.program().result(), run(1, 4, false, 3));
    }
}
