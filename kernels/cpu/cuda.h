// The part of CUDA C++ that the kernels use, for a compiler that knows only C++: `g++ -x c++ forward.cu`.
#pragma once
#include <cmath>

#include "fibers.h"

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define threadIdx (fibers::block->current->index)
#define blockIdx (fibers::block->index)
#define blockDim (fibers::block->size)
#define gridDim (fibers::block->grid)
#define __syncthreads() fibers::barrier(__FILE__, __LINE__)
#define __threadfence() std::atomic_thread_fence(std::memory_order_seq_cst)
#define is_waiting(counter, before) fibers::is_waiting(counter, before, __FILE__, __LINE__)
#define meet(team) (fibers::is_left_out(__FILE__, __LINE__) ? void() : (meet)(team))

static inline unsigned atomicAdd(unsigned* number, unsigned more) { return __atomic_fetch_add(number, more, __ATOMIC_SEQ_CST); }
static inline float4 read_past_l1(const float4* address) { return *address; }
using std::max, std::min;

template <class T>
static inline T shuffle_xor(unsigned mask, T value, int distance, int line) {
    return fibers::exchange(mask, value, line)[fibers::block->current->lane ^ distance];
}
#define __shfl_xor_sync(mask, value, distance) shuffle_xor(mask, value, distance, __LINE__)

#define SHARED_MEMORY(T, name) T* const name = reinterpret_cast<T*>(fibers::block->shared)
#define KERNEL(name) static const int name##_is_known = fibers::add(#name, name);

static inline unsigned short to_half(float x) {
    const _Float16 half = static_cast<_Float16>(x);  // To nearest, ties to even.
    unsigned short bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}
static inline float from_half(unsigned short bits) {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return static_cast<float>(half);
}
static inline unsigned halves(float lower, float upper) { return to_half(lower) | static_cast<unsigned>(to_half(upper)) << 16; }

// See device.cuh. The sum's order is not that of a tensor core, which is not documented.
static inline void multiply_add_at(int line, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    struct Fragments {
        unsigned a[4], b[2];
    };
    const auto all = fibers::exchange(0xffffffffu, Fragments{{a[0], a[1], a[2], a[3]}, {b0, b1}}, line);
    const int lane = fibers::block->current->lane;
    auto half = [](unsigned both, int k) { return from_half(static_cast<unsigned short>(both >> 16 * (k & 1))); };
    for (int i = 0; i < 4; i++) {
        const int lower = i / 2, column = lane % 4 * 2 + i % 2;  // Row lane / 4, or 8 further down.
        for (int k = 0; k < 16; k++) {
            const int pair = k % 8 / 2, right = k / 8;
            d[i] += half(all[lane / 4 * 4 + pair].a[lower + 2 * right], k) * half(all[column * 4 + pair].b[right], k);
        }
    }
}
#define multiply_add(d, a, b0, b1) multiply_add_at(__LINE__, d, a, b0, b1)

static inline void load_matrices_at(int line, unsigned (&a)[4], const void* row) {
    if (reinterpret_cast<uintptr_t>(row) % 16) fibers::fail("ldmatrix of an address that is not aligned", *fibers::block->current);
    const auto rows = fibers::exchange(0xffffffffu, row, line);
    const int lane = fibers::block->current->lane;
    for (int i = 0; i < 4; i++) memcpy(&a[i], static_cast<const char*>(rows[8 * i + lane / 4]) + lane % 4 * 4, 4);
}
#define load_matrices(a, row) load_matrices_at(__LINE__, a, row)
