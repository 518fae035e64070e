// What both forward passes compute alike.
#pragma once
#include "device.cuh"

// The sizes of a residual network, as its spec has them. The channels are a multiple of 32, padded with zeros.
struct Sizes {
    int planes, channels, blocks, recurrence, gate, squeeze, policy, value, hidden;
};

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
