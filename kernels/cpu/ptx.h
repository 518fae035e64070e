// What the instructions of a translated PTX kernel mean: see translate.py.
#pragma once
#include "cpu/cuda.h"

namespace ptx {

// A parameter passed as so many bytes.
template <int N>
struct Bytes {
    alignas(4) unsigned char bytes[N];
};

// The same bits as another type; the lower ones of a wider one.
template <class T, class X>
T as(const X& x) {
    static_assert(sizeof(T) <= sizeof(X));
    T value;
    memcpy(&value, &x, sizeof value);
    return value;
}

template <size_t N>
unsigned char* aligned(unsigned char* address) {
    if (reinterpret_cast<uintptr_t>(address) % N) fibers::fail("an address that is not aligned", *fibers::block->current);
    return address;
}

template <class T>
T load(const unsigned char* address, int i) {
    T value;
    memcpy(&value, address + i * sizeof(T), sizeof value);
    return value;
}

template <class T>
void store(unsigned char* address, int i, T value) {
    memcpy(address + i * sizeof(T), &value, sizeof value);
}

// Registers of 16 bits as one of 32, or of 32 as one of 64.
template <class T>
auto pack(T lower, T upper) {
    using Wide = std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t>;
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    return static_cast<Wide>(as<Bits>(lower) | static_cast<Wide>(as<Bits>(upper)) << (8 * sizeof(T)));
}

template <class Wide, class T>
void unpack(Wide wide, T& lower, T& upper) {
    memcpy(&lower, &wide, sizeof(T));
    memcpy(&upper, reinterpret_cast<const char*>(&wide) + sizeof(T), sizeof(T));
}

inline float fma(float a, float b, float c) { return fmaf(a, b, c); }

// Rounded down. The product is exact in double, and the sum but for its last bits.
inline float fma_down(float a, float b, float c) {
    const double exact = static_cast<double>(a) * b + c;
    const float near = static_cast<float>(exact);
    return near > exact ? nextafterf(near, -INFINITY) : near;
}

template <class T>
T min(T a, T b) {
    if constexpr (std::is_same_v<T, float>) return fminf(a, b);
    return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
    if constexpr (std::is_same_v<T, float>) return fmaxf(a, b);
    return a > b ? a : b;
}

inline float saturated(float x) { return x > 0.f ? fminf(x, 1.f) : 0.f; }

// Shifts by the width and more leave nothing but signs.
template <class T>
T shl(T x, uint32_t by) {
    return by < 8 * sizeof(T) ? static_cast<T>(x << by) : T{0};
}
template <class T>
T shr(T x, uint32_t by) {
    return by < 8 * sizeof(T) ? static_cast<T>(x >> by) : static_cast<T>(x < 0 ? -1 : 0);
}

// So many bits of a number, from one on; they do not reach beyond it.
inline uint32_t extract(uint32_t bits, uint32_t at, uint32_t count) {
    return static_cast<uint32_t>(bits >> at & ((uint64_t{1} << count) - 1));
}

// The lower bits of a number, so many, in another from a bit on; they do not reach beyond it.
inline uint32_t insert(uint32_t bits, uint32_t into, uint32_t at, uint32_t count) {
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << count) - 1) << at;
    return (into & ~mask) | (bits << at & mask);
}

template <class T>
T shuffle_xor(unsigned mask, T value, int distance, int line) {
    return ::shuffle_xor(mask, value, distance, line);
}

inline void mma(int line, float& d0, float& d1, float& d2, float& d3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                unsigned b0, unsigned b1, float c0, float c1, float c2, float c3) {
    const unsigned a[4] = {a0, a1, a2, a3};
    float d[4] = {c0, c1, c2, c3};
    multiply_add_at(line, d, a, b0, b1);
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
}

inline void ldmatrix(int line, const void* row, unsigned& a0, unsigned& a1, unsigned& a2, unsigned& a3) {
    unsigned a[4];
    load_matrices_at(line, a, row);
    a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
}

}  // namespace ptx
