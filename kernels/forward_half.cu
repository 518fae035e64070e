// The whole forward pass of a residual network in one launch on tensor cores: weights and maps in binary16, sums in fp32. For GPUs
// from compute capability 8.0 on.
//
// As in forward.cu a thread block evaluates one position after the other. Here it is 8 warps, and the one map that there is lies in
// shared memory, channel by channel for each square, with a border of zeros: a convolution is 9 matrix products of the squares,
// moved by a tap, and that tap's weights. A warp makes 32 squares x a quarter of the channels: two tiles of 16 squares by N tiles of 8
// channels. Weights come from global memory in the order in which the lanes want them, one uint4 for 32 input channels.
#include "common.cuh"

constexpr int LINE = 10, SQUARES = LINE * LINE, THREADS = 256;

// The sums of a thread: for each tile of 16 squares and of 8 channels its 4 fragments, see `square` and `channel`.
template <int N>
struct Tile {
    float at[2][N][4];
};

// How a thread's part of a map is kept: pairs of channels.
template <int N>
struct Pairs {
    unsigned at[2][N][2];
};

template <int N>
constexpr int PITCH = 32 * N + 8;  // Rows of a matrix in different banks.

// Of fragment i in tile m, j of a thread.
static __device__ __forceinline__ int square(int m, int i) {
    const int thread = threadIdx.x;
    return thread / 32 % 2 * 32 + m * 16 + thread % 32 / 4 + i / 2 * 8;
}
template <int N>
static __device__ __forceinline__ int channel(int j, int i) {
    const int thread = threadIdx.x;
    return (thread / 64 * N + j) * 8 + thread % 4 * 2 + i % 2;
}

// Where a pair of channels of a square lies in the map.
template <int N>
static __device__ __forceinline__ unsigned* place(unsigned short* map, int square, int channel) {
    return (unsigned*)&map[((square / 8 + 1) * LINE + square % 8 + 1) * PITCH<N> + channel];
}

template <int N>
static __device__ __forceinline__ void write(const Pairs<N>& pairs, unsigned short* map) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) *place<N>(map, square(m, 2 * h), channel<N>(j, 0)) = pairs.at[m][j][h];
}

// f(v, m, j, i) of every number of the tile, as pairs.
template <int N, typename F>
static __device__ __forceinline__ Pairs<N> each(const Tile<N>& tile, F f) {
    Pairs<N> pairs;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float lower = f(tile.at[m][j][2 * h], m, j, 2 * h), upper = f(tile.at[m][j][2 * h + 1], m, j, 2 * h + 1);
                pairs.at[m][j][h] = halves(lower, upper);
            }
    return pairs;
}

// The number of which a tile's fragment i is the sum.
template <int N>
static __device__ __forceinline__ float get(const Pairs<N>& pairs, int m, int j, int i) {
    return from_half(static_cast<unsigned short>(pairs.at[m][j][i / 2] >> i % 2 * 16));
}

// Sets the tile to the biases of its channels; the weights follow them.
template <int N>
static __device__ __forceinline__ const unsigned* begin(Tile<N>& tile, const unsigned* __restrict__ biases) {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            tile.at[0][j][i] = tile.at[1][j][i] = ((const float*)biases)[channel<N>(j, i)];
        }
    return biases + 32 * N;
}

// Adds a convolution of 32 x `pairs` channels of the map to the tile. Weights [taps, pairs, channels / 8, lanes] of uint4, a lane's two
// fragments of the first 16 input channels and of the second. Begins with a barrier, after which the map is whole.
template <int N, int TAPS>
static __device__ __forceinline__ const unsigned* convolve(Tile<N>& tile, const unsigned short* map, int pairs,
                                                           const unsigned* __restrict__ weights) {
    const int thread = threadIdx.x, lane = thread % 32;
    const uint4* next = (const uint4*)weights + thread / 64 * N * 32 + lane;
    // The row of the matrix that this lane loads, for the tap up and to the left.
    const int first = thread / 32 % 2 * 32 + lane % 16;
    const unsigned short* corner = &map[(first / 8 * LINE + first % 8) * PITCH<N> + lane / 16 * 8];
    uint4 coming[N];
#pragma unroll
    for (int j = 0; j < N; j++) coming[j] = next[j * 32];
    __syncthreads();
#pragma unroll 1
    for (int tap = 0; tap < TAPS; tap++) {
        const unsigned short* row = corner + (TAPS == 9 ? tap / 3 * LINE + tap % 3 : LINE + 1) * PITCH<N>;
#pragma unroll 1
        for (int pair = 0; pair < pairs; pair++, row += 32) {
            uint4 w[N];
            next += 4 * N * 32;
#pragma unroll
            for (int j = 0; j < N; j++) {
                w[j] = coming[j];
                coming[j] = next[j * 32];  // After the last weights come others, which nobody uses.
            }
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned a[2][4];
                load_matrices(a[0], row + half * 16);
                load_matrices(a[1], row + half * 16 + 2 * LINE * PITCH<N>);
#pragma unroll
                for (int j = 0; j < N; j++) {
                    const unsigned b0 = half ? w[j].z : w[j].x, b1 = half ? w[j].w : w[j].y;
                    multiply_add(tile.at[0][j], a[0], b0, b1);
                    multiply_add(tile.at[1][j], a[1], b0, b1);
                }
            }
        }
    }
    return weights + TAPS * pairs * 4 * N * 32 * 4;
}

// Scales and offsets every channel of the tile. Weights as in forward.cu, in fp32.
template <int N>
static __device__ __forceinline__ const unsigned* squeeze_excite(Tile<N>& tile, float* vectors, const unsigned* __restrict__ words,
                                                                 int width) {
    constexpr int CHANNELS = 32 * N;
    const int thread = threadIdx.x;
    float *sums = vectors, *hidden = sums + 2 * CHANNELS, *excited = hidden + width;
    const float *w = (const float*)words, *bias = w + width * CHANNELS;
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = tile.at[0][j][i] + tile.at[0][j][i + 2] + tile.at[1][j][i] + tile.at[1][j][i + 2];
            for (int distance = 4; distance < 32; distance *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
            // Of the half of the board that is the warp's.
            if (thread % 32 < 4) sums[thread / 32 % 2 * CHANNELS + channel<N>(j, i)] = sum * (1.f / 64.f);
        }
    __syncthreads();
    for (int unit = thread / 32; unit < width; unit += THREADS / 32) {
        const float* row = w + unit * CHANNELS;
        const float sum = dot(row, sums, CHANNELS) + dot(row, sums + CHANNELS, CHANNELS);
        if (thread % 32 == 0) hidden[unit] = relu(sum + bias[unit]);
    }
    __syncthreads();
    w = bias + width;
    bias = w + width * 2 * CHANNELS;
    for (int output = thread; output < 2 * CHANNELS; output += THREADS) {
        float sum = bias[output];
        for (int unit = 0; unit < width; unit++) sum += w[unit * 2 * CHANNELS + output] * hidden[unit];
        excited[output] = output < CHANNELS ? sigmoid(sum) : sum;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float scale = excited[channel<N>(j, i)], offset = excited[CHANNELS + channel<N>(j, i)];
            tile.at[0][j][i] = tile.at[0][j][i] * scale + offset;
            tile.at[1][j][i] = tile.at[1][j][i] * scale + offset;
        }
    return (const unsigned*)(bias + 2 * CHANNELS);
}

// A row of binary16 times a vector in shared memory, by one warp; the length is a multiple of 8.
static __device__ float dot_halves(const unsigned* __restrict__ row, const float* vector, int length) {
    float sum = 0.f;
    for (int i = 8 * (threadIdx.x & 31); i < length; i += 256) {
        const uint4 w = *(const uint4*)&row[i / 2];
        const unsigned words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sum += from_half(static_cast<unsigned short>(words[k])) * vector[i + 2 * k];
            sum += from_half(static_cast<unsigned short>(words[k] >> 16)) * vector[i + 2 * k + 1];
        }
    }
    return sum_over(32, sum);
}

template <int N>
static __device__ __forceinline__ void forward_half(const Sizes& sizes, int positions, const float* __restrict__ planes,
                                                    const unsigned* __restrict__ ends, const unsigned short* __restrict__ indices,
                                                    const unsigned* __restrict__ weights, unsigned* scratch,
                                                    float* __restrict__ values, float* __restrict__ logits) {
    constexpr int CHANNELS = 32 * N;
    const int thread = threadIdx.x;
    SHARED_MEMORY(unsigned short, map);
    float* vectors = (float*)(map + SQUARES * PITCH<N>);
    // Only the thread that writes a word reads it.
    unsigned* previous = scratch + (size_t)blockIdx.x * 32 * CHANNELS + thread;
    Tile<N> tile;
    Pairs<N> state;

    for (int i = thread; i < SQUARES * PITCH<N> / 8; i += THREADS) ((uint4*)map)[i] = uint4{0, 0, 0, 0};
    for (int position = blockIdx.x; position < positions; position += gridDim.x) {
        const float* input = planes + (size_t)position * sizes.planes * 64;
        __syncthreads();
        for (int i = thread; i < 64 * 16; i += THREADS) {
            const int at = i % 64, plane = i / 64 * 2;
            const float lower = plane < sizes.planes ? input[plane * 64 + at] : 0.f;
            const float upper = plane + 1 < sizes.planes ? input[(plane + 1) * 64 + at] : 0.f;
            *place<N>(map, at, plane) = halves(lower, upper);
        }
        const unsigned* w = begin(tile, weights);
        w = convolve<N, 9>(tile, map, 1, w);
        state = each(tile, [](float v, int, int, int) { return relu(v); });
        __syncthreads();
        write(state, map);

        const unsigned* tower = w;
#pragma unroll 1
        for (int pass = 0; pass < sizes.recurrence; pass++) {
            w = tower;
            if (sizes.gate) {
#pragma unroll
                for (int i = 0; i < 4 * N; i++) previous[i * THREADS] = state.at[i / (2 * N)][i / 2 % N][i % 2];
            }
#pragma unroll 1
            for (int block = 0; block < sizes.blocks; block++) {
                w = begin(tile, w);
                w = convolve<N, 9>(tile, map, N, w);
                const Pairs<N> inside = each(tile, [](float v, int, int, int) { return relu(v); });
                __syncthreads();
                write(inside, map);
                w = begin(tile, w);
                w = convolve<N, 9>(tile, map, N, w);
                if (sizes.squeeze) {
                    w = squeeze_excite(tile, vectors, w, sizes.squeeze);
                } else {
                    __syncthreads();
                }
                state = each(tile, [&](float v, int m, int j, int i) { return relu(v + get(state, m, j, i)); });
                write(state, map);
            }
            if (sizes.gate) {
                w = begin(tile, w);
                w = convolve<N, 1>(tile, map, N, w);
                Pairs<N> before;
#pragma unroll
                for (int i = 0; i < 4 * N; i++) before.at[i / (2 * N)][i / 2 % N][i % 2] = previous[i * THREADS];
                __syncthreads();
                write(before, map);
                w = convolve<N, 1>(tile, map, N, w);
                state = each(tile, [&](float v, int m, int j, int i) {
                    const float z = sigmoid(v);
                    return z * get(state, m, j, i) + (1.f - z) * get(before, m, j, i);
                });
                __syncthreads();
                write(state, map);
            }
        }

        // Policy and value channels together, as many at a time as the trunk has; the last ones are padding.
        const int features = sizes.policy + sizes.value;
        for (int first = 0; first < features; first += CHANNELS) {
            w = begin(tile, w);
            w = convolve<N, 1>(tile, map, N, w);
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int j = 0; j < N; j++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const int feature = first + channel<N>(j, i);
                        if (feature < features) vectors[feature * 64 + square(m, i)] = relu(tile.at[m][j][i]);
                    }
        }
        __syncthreads();
        const int warp = thread / 32, warps = THREADS / 32, lane = thread % 32;
        const float *valued = vectors + sizes.policy * 64, *bias = (const float*)w + sizes.hidden * sizes.value * 32;
        float* hidden = vectors + features * 64;
        for (int unit = warp; unit < sizes.hidden; unit += warps) {
            const float sum = dot_halves(w + unit * sizes.value * 32, valued, sizes.value * 64);
            if (lane == 0) hidden[unit] = relu(sum + bias[unit]);
        }
        const float* last = bias + sizes.hidden;
        const unsigned* rows = (const unsigned*)(last + sizes.hidden + 4);
        for (unsigned i = (position ? ends[position - 1] : 0) + warp; i < ends[position]; i += warps) {
            const unsigned* row = rows + (size_t)indices[i] * (sizes.policy * 32 + 4);
            const float sum = dot_halves(row, vectors, sizes.policy * 64);
            if (lane == 0) logits[i] = sum + ((const float*)row)[sizes.policy * 32];
        }
        __syncthreads();
        if (warp == 0) {
            float sum = 0.f;
            for (int unit = lane; unit < sizes.hidden; unit += 32) sum += last[unit] * hidden[unit];
            sum = sum_over(32, sum);
            if (lane == 0) values[position] = tanhf(sum + last[sizes.hidden]);
        }
    }
}

// As forward.cu's, but for scratch [blocks, channels / 2, 64].
#define FORWARD_HALF(channels, blocks)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                                                 \
        forward_half_##channels(Sizes sizes, int positions, const float* __restrict__ planes, const unsigned* __restrict__ ends,  \
                                const unsigned short* __restrict__ indices, const unsigned* __restrict__ weights,                 \
                                unsigned* scratch, float* __restrict__ values, float* __restrict__ logits) {                      \
        forward_half<channels / 32>(sizes, positions, planes, ends, indices, weights, scratch, values, logits);                   \
    }                                                                                                                             \
    KERNEL(forward_half_##channels)

FORWARD_HALF(32, 2)
FORWARD_HALF(64, 2)
FORWARD_HALF(128, 2)
FORWARD_HALF(256, 1)
