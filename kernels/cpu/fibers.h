// Thread blocks on a processor: every CUDA thread of a block is a fiber, and a thread of the operating system runs one block
// after another. Between two barriers a warp does all it has to before the next one begins, in another order each time: a
// missing barrier shows up as a wrong number. A block that waits for another is left for the next one and returned to, and so
// are blocks done one after the other between their barriers. What no kernel may do (threads at different barriers, a
// barrier after a return, lanes at different shuffles, blocks that wait for one that does not run) ends the program with a message.
//
// Not modelled: the order of memory accesses between blocks, bank conflicts, speed.
#pragma once
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};

namespace fibers {

enum class State { running, at_barrier, at_shuffle, asking, returned };

// Bytes: of a stack, of what a lane can show others, and after shared memory, to see whether somebody writes there.
constexpr size_t STACK = 128 << 10, MESSAGE = 64, BEYOND = 4096;

struct Thread {
    State state;
    uint3 index;
    int lane, warp, line;
    unsigned mask, shuffles;
#ifdef __x86_64__
    void* stack_pointer;
#else
    ucontext_t context;
#endif
};

// What lanes show each other in a shuffle. Two, in turn: a lane may be at the next shuffle while another still reads.
struct Board {
    alignas(16) unsigned char message[2][32][MESSAGE];
};

struct Block {
    uint3 index;
    dim3 size, grid;
    std::vector<Thread> threads;
    std::vector<Board> boards;
    std::vector<int> warp_order, lane_order;
    unsigned char* shared;
    unsigned char* stacks;
    const std::function<void()>* kernel;
    Thread* current;
    uint64_t random;
    std::vector<unsigned char> memory;
    unsigned turns;  // How often a thread was entered.
#ifdef __x86_64__
    void* stack_pointer;
#else
    ucontext_t context;
#endif
};

inline thread_local Block* block;

[[noreturn]] inline void fail(const char* what, const Thread& thread) {
    fprintf(stderr, "kernel on the processor: %s (block %u, thread %u, line %d)\n", what, block->index.x, thread.index.x, thread.line);
    abort();
}

inline void begin() {
    (*block->kernel)();
    block->current->state = State::returned;
}

#ifdef __x86_64__
// Saves what a call must preserve on one stack and takes it from another.
__attribute__((naked, noinline)) inline void change_stack(void** /*from*/, void* /*to*/) {
    asm volatile(
        "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n\t"
        "movq %rsp, (%rdi); movq %rsi, %rsp\n\t"
        "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; ret");
}
inline void leave() { change_stack(&block->current->stack_pointer, block->stack_pointer); }
inline void enter(Thread& thread) {
    block->current = &thread;
    change_stack(&block->stack_pointer, thread.stack_pointer);
}
inline void first() {
    begin();
    leave();
}
inline void prepare(Thread& thread, unsigned char* stack) {
    // As if change_stack had been called at the entry of first, where the stack is 8 off a multiple of 16.
    void** top = reinterpret_cast<void**>(stack + STACK) - 2;
    *top = reinterpret_cast<void*>(first);
    top -= 6;
    memset(top, 0, 6 * sizeof(void*));
    thread.stack_pointer = top;
}
#else
inline void leave() { swapcontext(&block->current->context, &block->context); }
inline void enter(Thread& thread) {
    block->current = &thread;
    swapcontext(&block->context, &thread.context);
}
inline void first() {
    begin();
    leave();
}
inline void prepare(Thread& thread, unsigned char* stack) {
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stack;
    thread.context.uc_stack.ss_size = STACK;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, first, 0);
}
#endif

inline void wait(State state, int line) {
    block->current->state = state;
    block->current->line = line;
    leave();
}

// Whether the barrier at a line is to be left out: a mistake on purpose, for the test that such mistakes are found.
inline bool is_left_out(const char* file, int line) {
    static const char* wanted = getenv("STANDIN_WITHOUT_BARRIER");
    if (!wanted) return false;
    const char* folder = strrchr(file, '/');
    return std::string(folder ? folder + 1 : file) + ":" + std::to_string(line) == wanted;
}

inline void barrier(const char* file, int line) {
    if (!is_left_out(file, line)) wait(State::at_barrier, line);
}

// Gives the other blocks a turn before a look at what they may have written.
inline void ask(int line) { wait(State::asking, line); }

// See device.cuh.
inline bool is_waiting(const unsigned* counter, unsigned before, const char* file, int line) {
    if (is_left_out(file, line)) return false;
    ask(line);
    return !((__atomic_load_n(counter, __ATOMIC_SEQ_CST) ^ before) >> 31);
}

// The messages of all lanes of the mask, each having given its own.
template <class T>
struct Messages {
    const unsigned char (*message)[MESSAGE];
    T operator[](int lane) const {
        T value;
        memcpy(&value, message[lane & 31], sizeof value);
        return value;
    }
};

template <class T>
Messages<T> exchange(unsigned mask, const T& value, int line) {
    static_assert(sizeof(T) <= MESSAGE);
    Thread& self = *block->current;
    self.line = line;
    if (!(mask >> self.lane & 1)) fail("a lane shuffles that is not in its mask", self);
    auto& message = block->boards[self.warp].message[self.shuffles++ & 1];
    memcpy(message[self.lane], &value, sizeof value);
    self.mask = mask;
    wait(State::at_shuffle, line);
    return {message};
}

// Lets a warp go on whose lanes have all come to one shuffle.
inline bool release_shuffle(Thread* lanes, int count, Thread& thread) {
    for (int lane = 0; lane < 32; lane++) {
        if (!(thread.mask >> lane & 1)) continue;
        if (lane >= count || lanes[lane].state == State::returned) fail("a shuffle with a lane that has returned", thread);
        const Thread& other = lanes[lane];
        if (other.state != State::at_shuffle || other.mask != thread.mask || other.shuffles != thread.shuffles) return false;
        if (other.line != thread.line) fail("lanes at different shuffles", other);
    }
    const unsigned mask = thread.mask;
    for (int lane = 0; lane < count; lane++) {
        if (mask >> lane & 1) lanes[lane].state = State::running;
    }
    return true;
}

// Lets the block go on when all its threads have come to one barrier.
inline bool release_barrier(std::vector<Thread>& threads) {
    size_t waiting = 0, returned = 0;
    const Thread* at = nullptr;
    for (const Thread& thread : threads) {
        returned += thread.state == State::returned;
        if (thread.state != State::at_barrier) continue;
        waiting++;
        if (at && at->line != thread.line) fail("threads at different barriers", thread);
        at = &thread;
    }
    if (!waiting || waiting + returned < threads.size()) return false;
    if (returned) fail("a barrier after threads have returned", *at);
    for (Thread& thread : threads) thread.state = State::running;
    return true;
}

inline uint64_t draw() {
    uint64_t& x = block->random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x >> 8;
}

inline void shuffle(std::vector<int>& order) {
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[draw() % i]);
}

// Runs a warp until it can do no more alone.
inline void run_warp(Thread* lanes, int count) {
    for (bool again = true; again;) {
        again = false;
        for (const int lane : block->lane_order) {
            if (lane >= count || lanes[lane].state != State::running) continue;
            enter(lanes[lane]);
            block->turns++;
        }
        for (int lane = 0; lane < count; lane++) {
            if (lanes[lane].state == State::at_shuffle) again |= release_shuffle(lanes, count, lanes[lane]);
        }
    }
}

// Prepares to run a block, whose shared memory is full of NaN at first.
inline void begin_block(uint3 index, dim3 size, dim3 grid, size_t shared, const std::function<void()>& kernel, uint64_t random) {
    const unsigned count = size.x * size.y * size.z;
    block->index = index, block->size = size, block->grid = grid, block->kernel = &kernel, block->random = random;
    block->threads.resize(count), block->boards.resize((count + 31) / 32);
    void* stacks = mmap(nullptr, count * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) abort();
    block->stacks = static_cast<unsigned char*>(stacks);
    block->memory.assign(shared + 64 + BEYOND, 0xff);
    block->shared = block->memory.data() + (64 - reinterpret_cast<uintptr_t>(block->memory.data()) % 64);
    for (unsigned i = 0; i < count; i++) {
        Thread& thread = block->threads[i];
        thread.state = State::running;
        thread.index = {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
        thread.lane = i % 32, thread.warp = i / 32;
        prepare(thread, block->stacks + i * STACK);
        if (i < 32) block->lane_order.push_back(i);
        if (i % 32 == 0) block->warp_order.push_back(i / 32);
    }
}

inline void end_block(size_t shared) {
    const unsigned char* end = block->shared + shared;
    if (std::any_of(end, end + BEYOND, [](unsigned char byte) { return byte != 0xff; })) {
        fail("a write beyond shared memory", block->threads[0]);
    }
    munmap(block->stacks, block->threads.size() * STACK);
}

// Runs the block until all its threads have returned or wait for another block; whether it did more than ask again. When a warp asks
// for the other blocks, they may get their turn before the warps after it: what these should have done before shows if it is missing.
inline bool run_block() {
    std::vector<Thread>& threads = block->threads;
    const int count = static_cast<int>(threads.size());
    auto in = [&](State state) {
        return std::count_if(threads.begin(), threads.end(), [=](const Thread& thread) { return thread.state == state; });
    };
    for (Thread& thread : threads) {
        if (thread.state == State::asking) thread.state = State::running;
    }
    const int64_t first = block->turns;
    auto did_more = [&] { return block->turns - first != in(State::asking); };
    for (unsigned before = first - 1; block->turns != before || release_barrier(threads);) {
        before = block->turns;
        shuffle(block->warp_order);
        shuffle(block->lane_order);
        for (const int warp : block->warp_order) {
            Thread* lanes = &threads[32 * warp];
            const int in_warp = std::min(32, count - 32 * warp);
            run_warp(lanes, in_warp);
            const bool asks = std::any_of(lanes, lanes + in_warp, [](const Thread& lane) { return lane.state == State::asking; });
            if (asks && draw() % 2) return did_more();
        }
    }
    if (!in(State::asking) && in(State::returned) < count) fail("no thread can go on", threads[0]);
    return did_more();
}

// Runs a grid of blocks, so many of them at once.
inline void launch(dim3 grid, dim3 size, size_t shared, const std::function<void()>& kernel, unsigned at_once) {
    using Clock = std::chrono::steady_clock;
    const unsigned blocks = grid.x * grid.y * grid.z;
    static std::atomic<unsigned> launches{0};
    const unsigned first = 1 + 1000 * launches++;
    std::mutex lock;
    unsigned next = 0, running = 0;
    Clock::time_point progress = Clock::now();

    auto work = [&] {
        std::vector<std::unique_ptr<Block>> own;
        for (;;) {
            // Those that there are have returned or wait: now another one.
            {
                std::lock_guard<std::mutex> held(lock);
                if (next < blocks && running < at_once) {
                    own.push_back(std::make_unique<Block>());
                    block = own.back().get();
                    const unsigned i = next++;
                    running++;
                    // Other orders in each block and launch.
                    begin_block({i % grid.x, i / grid.x % grid.y, i / (grid.x * grid.y)}, size, grid, shared, kernel,
                                0x9e3779b97f4a7c15u * (first + i));
                } else if (own.empty() && next == blocks) {
                    return;
                }
            }
            bool any = false;
            for (auto& one : own) {
                block = one.get();
                any |= run_block();
                const auto& threads = block->threads;
                if (!std::all_of(threads.begin(), threads.end(), [](const Thread& t) { return t.state == State::returned; })) continue;
                end_block(shared);
                one.reset();
            }
            const auto ended = std::remove(own.begin(), own.end(), nullptr);
            std::lock_guard<std::mutex> held(lock);
            running -= own.end() - ended;
            own.erase(ended, own.end());
            if (any) progress = Clock::now();
            if (!own.empty() && Clock::now() - progress > std::chrono::seconds(30)) {
                block = own[0].get();
                fail("blocks wait for another that does not come", block->threads[0]);
            }
            if (!any) std::this_thread::yield();
        }
    };
    std::vector<std::thread> workers;
    const unsigned most = std::min(blocks, std::max(1u, std::thread::hardware_concurrency()));
    for (unsigned i = 0; i < most; i++) workers.emplace_back(work);
    for (std::thread& worker : workers) worker.join();
}

// The kernels in this program: name, sizes of the parameters, and how to call one with pointers to them.
struct Kernel {
    std::string name;
    std::vector<size_t> parameters;
    std::function<std::function<void()>(void**)> bind;
};

inline std::vector<Kernel>& kernels() {
    static std::vector<Kernel> all;
    return all;
}

template <class... A, size_t... I>
std::function<void()> with_arguments(void (*kernel)(A...), void** at, std::index_sequence<I...>) {
    std::tuple<std::decay_t<A>...> arguments(*static_cast<std::decay_t<A>*>(at[I])...);
    return [kernel, arguments] { std::apply(kernel, arguments); };
}

template <class... A>
int add(const char* name, void (*kernel)(A...)) {
    auto binder = [kernel](void** at) { return with_arguments(kernel, at, std::index_sequence_for<A...>{}); };
    kernels().push_back({name, {sizeof(A)...}, binder});
    return 0;
}

}  // namespace fibers
