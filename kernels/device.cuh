// What the kernels need beyond CUDA C++: for the GPU here, for the processor in cpu/cuda.h.
#pragma once
#ifndef __CUDACC__
#include "cpu/cuda.h"
#else

// The shared memory that the launch asks for, as an array of T.
#define SHARED_MEMORY(T, name)                              \
    extern __shared__ __align__(16) unsigned char shared_[]; \
    T* const name = reinterpret_cast<T*>(shared_)

// Makes a kernel known to the stand-in for the driver.
#define KERNEL(name)

#endif

// The sizes of a residual network, as its spec has them. The channels are a multiple of 32, padded with zeros.
struct Sizes {
    int planes, channels, blocks, recurrence, gate, squeeze, policy, value, hidden;
};
