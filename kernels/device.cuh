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

// Whether the uppermost bit of a counter, to which other blocks add, is still that of `before`.
static __device__ __forceinline__ bool is_waiting(const unsigned* counter, unsigned before) {
    return !((*(const volatile unsigned*)counter ^ before) >> 31);
}

// What other blocks may have written since this one read there: an L1 cache does not see that.
static __device__ __forceinline__ float4 read_past_l1(const float4* address) {
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(__cvta_generic_to_global(address))
                 : "memory");
    return v;
}

#if __CUDA_ARCH__ >= 800
// Two numbers as binary16, the first in the lower half.
static __device__ __forceinline__ unsigned halves(float lower, float upper) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(lower), "f"(upper));
    return both;
}

static __device__ __forceinline__ float from_half(unsigned short half) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
    return x;
}

// d += a x b by a warp: a [16, 16] and b [16, 8] of binary16, d [16, 8]; PTX ISA, "Matrix Fragments for mma.m16n8k16".
static __device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices [8, 8] of binary16 in shared memory; lane 8 i + r says where row r of matrix i is.
static __device__ __forceinline__ void load_matrices(unsigned (&a)[4], const unsigned short* row) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address)
                 : "memory");
}
#endif
#endif
