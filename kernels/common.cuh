// What both forward passes compute alike.
#pragma once
#include "device.cuh"

// The sizes of a residual network, as its spec has them. The channels are a multiple of 32, padded with zeros.
struct Sizes {
    int planes, channels, blocks, recurrence, gate, squeeze, policy, value, hidden;
};

// The blocks that evaluate a position together: SPLIT neighbours of the grid, each of which makes its part of the channels of every
// layer. All blocks of the grid run at the same time, for the host launches no more than that: who waits for another block waits
// for one that runs.
template <int SPLIT>
struct Team {
    unsigned* counter;  // Its own. All bits but the uppermost are 0 while nobody waits.
    int number, part;

    __device__ __forceinline__ Team(unsigned* counters)
        : counter(counters + blockIdx.x / SPLIT * 32), number(blockIdx.x / SPLIT), part(blockIdx.x % SPLIT) {}
};

// A barrier of all threads of a team. What they wrote to global memory before, the others see with `read_past_l1` after it.
// The brackets are for cpu/cuda.h, where a macro of this name counts the calls.
template <int SPLIT>
static __device__ __forceinline__ void (meet)(const Team<SPLIT>& team) {
    if (SPLIT > 1) {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            // The sum of all arrivals is the uppermost bit, which everybody waits for.
            const unsigned before = atomicAdd(team.counter, team.part ? 1 : 0x80000001u - SPLIT);
            while (is_waiting(team.counter, before)) {}
            __threadfence();
        }
    }
    __syncthreads();
}

// After a team has met: a vector that its blocks wrote in parts, into shared memory. A single block wrote it there itself.
template <int SPLIT>
static __device__ __forceinline__ void receive(float* vector, const float* parts, int length) {
    if (SPLIT > 1) {
        for (int i = 4 * threadIdx.x; i < length; i += 4 * blockDim.x) *(float4*)&vector[i] = read_past_l1((const float4*)&parts[i]);
        __syncthreads();
    }
}

static __device__ __forceinline__ float relu(float x) {
    return x < 0.f ? 0.f : x;  // Unlike fmaxf, NaN stays NaN.
}

static __device__ __forceinline__ float sigmoid(float x) {
    return 1.f / (1.f + expf(-x));
}

// The sum over all threads of a warp, or over groups of 8 neighbours.
static __device__ __forceinline__ float sum_over(int threads, float x) {
    for (int distance = threads / 2; distance; distance /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, distance);
    }
    return x;
}

// A row of weights times a vector in shared memory, by one warp; the length is a multiple of 4.
static __device__ float dot(const float* __restrict__ row, const float* vector, int length) {
    float sum = 0.f;
    for (int i = 4 * (threadIdx.x & 31); i < length; i += 128) {
        const float4 a = *(const float4*)&row[i], b = *(const float4*)&vector[i];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    return sum_over(32, sum);
}
