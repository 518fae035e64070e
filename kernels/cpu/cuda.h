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
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define threadIdx (fibers::block->current->index)
#define blockIdx (fibers::block->index)
#define blockDim (fibers::block->size)
#define gridDim (fibers::block->grid)
#define __syncthreads() fibers::barrier(__LINE__)

template <class T>
static inline T shuffle_xor(unsigned mask, T value, int distance, int line) {
    return fibers::exchange(mask, value, line)[fibers::block->current->lane ^ distance];
}
#define __shfl_xor_sync(mask, value, distance) shuffle_xor(mask, value, distance, __LINE__)

#define SHARED_MEMORY(T, name) T* const name = reinterpret_cast<T*>(fibers::block->shared)
#define KERNEL(name) static const int name##_is_known = fibers::add(#name, name);
