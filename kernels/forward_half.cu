// The whole forward pass of a residual network in one launch on tensor cores: weights and maps in binary16, sums in fp32. For GPUs
// from compute capability 8.0 on.
//
// As in forward.cu a thread block evaluates one position after the other. Here it is 8 warps, and the one map that there is lies in
// shared memory, channel by channel for each square, with a border of zeros: a convolution is 9 matrix products of the squares,
// moved by a tap, and that tap's weights. A warp makes 32 squares x a quarter of the channels: two tiles of 16 squares by N tiles of 8
// channels. Weights come from global memory in the order in which the lanes want them, one uint4 for 32 input channels.
//
// A position may be split over a team, as in forward.cu. A block is 4 warps then, each of which makes 32 squares x half of the block's part
// of the channels: as much for each matrix that it loads as with twice the warps. The blocks tell each other the map in
// the team's scratch.
#include "common.cuh"

constexpr int LINE = 10, SQUARES = LINE * LINE;
template <int SPLIT>
constexpr int THREADS = SPLIT == 1 ? 256 : 128;

// Tiles of 8 channels of a warp, in a network of 32 x W channels.
template <int W, int SPLIT>
constexpr int TILES = W * 256 / THREADS<SPLIT> / SPLIT;

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

template <int W>
constexpr int PITCH = 32 * W + 8;  // Rows of a matrix in different banks.

// Of fragment i in tile m, j of a thread.
static __device__ __forceinline__ int square(int m, int i) {
    const int thread = threadIdx.x;
    return thread / 32 % 2 * 32 + m * 16 + thread % 32 / 4 + i / 2 * 8;
}
template <int W, int SPLIT>
static __device__ __forceinline__ int channel(int j, int i) {
    const int thread = threadIdx.x, part = blockIdx.x % SPLIT;
    return part * (32 * W / SPLIT) + (thread / 64 * TILES<W, SPLIT> + j) * 8 + thread % 4 * 2 + i % 2;
}

// Where a pair of channels of a square lies in the map.
template <int W>
static __device__ __forceinline__ unsigned* place(unsigned short* map, int square, int channel) {
    return (unsigned*)&map[((square / 8 + 1) * LINE + square % 8 + 1) * PITCH<W> + channel];
}

// Makes the map of what all threads of the team have of it. In global memory a team's maps are [64, channels / 2]: one that it writes now,
// and one that some may still be reading.
template <int W, int SPLIT>
static __device__ __forceinline__ void write(const Team<SPLIT>& team, const Pairs<TILES<W, SPLIT>>& pairs, unsigned short* map,
                                             unsigned*& now, unsigned*& before) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int j = 0; j < TILES<W, SPLIT>; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int at = square(m, 2 * h), first = channel<W, SPLIT>(j, 0);
                *(SPLIT == 1 ? place<W>(map, at, first) : &now[at * 16 * W + first / 2]) = pairs.at[m][j][h];
            }
    if (SPLIT > 1) meet(team);
    if (SPLIT > 1) {
        for (int i = threadIdx.x; i < 64 * 4 * W; i += THREADS<SPLIT>) {
            *(float4*)place<W>(map, i / (4 * W), i % (4 * W) * 8) = read_past_l1((const float4*)now + i);
        }
        unsigned* const written = now;
        now = before;
        before = written;
    }
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
template <int W, int SPLIT>
static __device__ __forceinline__ const unsigned* begin(Tile<TILES<W, SPLIT>>& tile, const unsigned* __restrict__ biases) {
#pragma unroll
    for (int j = 0; j < TILES<W, SPLIT>; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            tile.at[0][j][i] = tile.at[1][j][i] = ((const float*)biases)[channel<W, SPLIT>(j, i)];
        }
    return biases + 32 * W;
}

// Adds a convolution of 32 x `pairs` channels of the map to the tile. Weights [taps, pairs, channels / 8, lanes] of uint4, a lane's two
// fragments of the first 16 input channels and of the second. Begins with a barrier, after which the map is whole.
template <int W, int SPLIT, int TAPS>
static __device__ __forceinline__ const unsigned* convolve(Tile<TILES<W, SPLIT>>& tile, const unsigned short* map, int pairs,
                                                           const unsigned* __restrict__ weights) {
    constexpr int N = TILES<W, SPLIT>;
    const int thread = threadIdx.x, lane = thread % 32, part = blockIdx.x % SPLIT;
    const uint4* next = (const uint4*)weights + part * (4 * W / SPLIT) * 32 + thread / 64 * N * 32 + lane;
    // The row of the matrix that this lane loads, for the tap up and to the left.
    const int first = thread / 32 % 2 * 32 + lane % 16;
    const unsigned short* corner = &map[(first / 8 * LINE + first % 8) * PITCH<W> + lane / 16 * 8];
    uint4 coming[N];
#pragma unroll
    for (int j = 0; j < N; j++) coming[j] = next[j * 32];
    __syncthreads();
#pragma unroll 1
    for (int tap = 0; tap < TAPS; tap++) {
        const unsigned short* row = corner + (TAPS == 9 ? tap / 3 * LINE + tap % 3 : LINE + 1) * PITCH<W>;
#pragma unroll 1
        for (int pair = 0; pair < pairs; pair++, row += 32) {
            uint4 w[N];
            next += 4 * W * 32;
#pragma unroll
            for (int j = 0; j < N; j++) {
                w[j] = coming[j];
                coming[j] = next[j * 32];  // After the last weights come others, which nobody uses.
            }
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned a[2][4];
                load_matrices(a[0], row + half * 16);
                load_matrices(a[1], row + half * 16 + 2 * LINE * PITCH<W>);
#pragma unroll
                for (int j = 0; j < N; j++) {
                    const unsigned b0 = half ? w[j].z : w[j].x, b1 = half ? w[j].w : w[j].y;
                    multiply_add(tile.at[0][j], a[0], b0, b1);
                    multiply_add(tile.at[1][j], a[1], b0, b1);
                }
            }
        }
    }
    return weights + TAPS * pairs * 4 * W * 32 * 4;
}

// Scales and offsets every channel of the tile. Weights as in forward.cu, in fp32.
template <int W, int SPLIT>
static __device__ __forceinline__ const unsigned* squeeze_excite(const Team<SPLIT>& team, Tile<TILES<W, SPLIT>>& tile, float* vectors,
                                                                 float* parts, const unsigned* __restrict__ words, int width) {
    constexpr int CHANNELS = 32 * W, N = TILES<W, SPLIT>, SOME = CHANNELS / SPLIT;
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
            if (thread % 32 < 4) parts[thread / 32 % 2 * CHANNELS + channel<W, SPLIT>(j, i)] = sum * (1.f / 64.f);
        }
    meet(team);
    receive<SPLIT>(sums, parts, 2 * CHANNELS);
    for (int unit = thread / 32; unit < width; unit += THREADS<SPLIT> / 32) {
        const float* row = w + unit * CHANNELS;
        const float sum = dot(row, sums, CHANNELS) + dot(row, sums + CHANNELS, CHANNELS);
        if (thread % 32 == 0) hidden[unit] = relu(sum + bias[unit]);
    }
    __syncthreads();
    w = bias + width;
    bias = w + width * 2 * CHANNELS;
    // The scales of this block's channels, then the offsets.
    for (int i = thread; i < 2 * SOME; i += THREADS<SPLIT>) {
        const int output = i + team.part * SOME + (i >= SOME ? CHANNELS - SOME : 0);
        float sum = bias[output];
        for (int unit = 0; unit < width; unit++) sum += w[unit * 2 * CHANNELS + output] * hidden[unit];
        excited[output] = output < CHANNELS ? sigmoid(sum) : sum;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float scale = excited[channel<W, SPLIT>(j, i)], offset = excited[CHANNELS + channel<W, SPLIT>(j, i)];
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

template <int W, int SPLIT>
static __device__ __forceinline__ void forward_half(const Sizes& sizes, int positions, const float* __restrict__ planes,
                                                    const unsigned* __restrict__ ends, const unsigned short* __restrict__ indices,
                                                    const unsigned* __restrict__ weights, unsigned* scratch, unsigned* counters,
                                                    float* __restrict__ values, float* __restrict__ logits) {
    constexpr int CHANNELS = 32 * W, N = TILES<W, SPLIT>, MAP = 32 * CHANNELS;
    const int thread = threadIdx.x, features = sizes.policy + sizes.value;
    const Team<SPLIT> team(counters);
    SHARED_MEMORY(unsigned short, map);
    float* vectors = (float*)(map + SQUARES * PITCH<W>);
    scratch += (size_t)team.number * (SPLIT == 1 ? MAP : 3 * MAP + max(2 * CHANNELS, features * 64 + sizes.hidden));
    // Only the thread that writes a word reads it.
    unsigned* previous = scratch + team.part * 4 * N * THREADS<SPLIT> + thread;
    unsigned *now = scratch + MAP, *before = now + MAP;
    // Where vectors are put together: by a team in global memory.
    float* parts = SPLIT == 1 ? vectors : (float*)(before + MAP);
    Tile<N> tile;
    Pairs<N> state;

    for (int i = thread; i < SQUARES * PITCH<W> / 8; i += THREADS<SPLIT>) ((uint4*)map)[i] = uint4{0, 0, 0, 0};
    for (int position = team.number; position < positions; position += gridDim.x / SPLIT) {
        const float* input = planes + (size_t)position * sizes.planes * 64;
        __syncthreads();
        for (int i = thread; i < 64 * 16; i += THREADS<SPLIT>) {
            const int at = i % 64, plane = i / 64 * 2;
            const float lower = plane < sizes.planes ? input[plane * 64 + at] : 0.f;
            const float upper = plane + 1 < sizes.planes ? input[(plane + 1) * 64 + at] : 0.f;
            *place<W>(map, at, plane) = halves(lower, upper);
        }
        const unsigned* w = begin<W, SPLIT>(tile, weights);
        w = convolve<W, SPLIT, 9>(tile, map, 1, w);
        state = each(tile, [](float v, int, int, int) { return relu(v); });
        if (SPLIT == 1) __syncthreads();
        write<W>(team, state, map, now, before);

        const unsigned* tower = w;
#pragma unroll 1
        for (int pass = 0; pass < sizes.recurrence; pass++) {
            w = tower;
            if (sizes.gate) {
#pragma unroll
                for (int i = 0; i < 4 * N; i++) previous[i * THREADS<SPLIT>] = state.at[i / (2 * N)][i / 2 % N][i % 2];
            }
#pragma unroll 1
            for (int block = 0; block < sizes.blocks; block++) {
                w = begin<W, SPLIT>(tile, w);
                w = convolve<W, SPLIT, 9>(tile, map, W, w);
                const Pairs<N> inside = each(tile, [](float v, int, int, int) { return relu(v); });
                if (SPLIT == 1) __syncthreads();
                write<W>(team, inside, map, now, before);
                w = begin<W, SPLIT>(tile, w);
                w = convolve<W, SPLIT, 9>(tile, map, W, w);
                if (sizes.squeeze) {
                    w = squeeze_excite<W>(team, tile, vectors, parts, w, sizes.squeeze);
                } else {
                    if (SPLIT == 1) __syncthreads();
                }
                state = each(tile, [&](float v, int m, int j, int i) { return relu(v + get(state, m, j, i)); });
                write<W>(team, state, map, now, before);
            }
            if (sizes.gate) {
                w = begin<W, SPLIT>(tile, w);
                w = convolve<W, SPLIT, 1>(tile, map, W, w);
                Pairs<N> old;
#pragma unroll
                for (int i = 0; i < 4 * N; i++) old.at[i / (2 * N)][i / 2 % N][i % 2] = previous[i * THREADS<SPLIT>];
                if (SPLIT == 1) __syncthreads();
                write<W>(team, old, map, now, before);
                w = convolve<W, SPLIT, 1>(tile, map, W, w);
                state = each(tile, [&](float v, int m, int j, int i) {
                    const float z = sigmoid(v);
                    return z * get(state, m, j, i) + (1.f - z) * get(old, m, j, i);
                });
                if (SPLIT == 1) __syncthreads();
                write<W>(team, state, map, now, before);
            }
        }

        // Policy and value channels together, as many at a time as the trunk has; the last ones are padding.
        for (int first = 0; first < features; first += CHANNELS) {
            w = begin<W, SPLIT>(tile, w);
            w = convolve<W, SPLIT, 1>(tile, map, W, w);
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int j = 0; j < N; j++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const int feature = first + channel<W, SPLIT>(j, i);
                        if (feature < features) parts[feature * 64 + square(m, i)] = relu(tile.at[m][j][i]);
                    }
        }
        meet(team);
        receive<SPLIT>(vectors, parts, features * 64);
        // Of the team, too.
        constexpr int WARPS = THREADS<SPLIT> / 32, warps = SPLIT * WARPS;
        const int warp = team.part * WARPS + thread / 32, lane = thread % 32;
        const float *valued = vectors + sizes.policy * 64, *bias = (const float*)w + sizes.hidden * sizes.value * 32;
        float* hidden = parts + features * 64;
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
        meet(team);
        receive<SPLIT>(vectors, hidden, sizes.hidden);
        if (warp == 0) {
            const float* units = SPLIT == 1 ? hidden : vectors;
            float sum = 0.f;
            for (int unit = lane; unit < sizes.hidden; unit += 32) sum += last[unit] * units[unit];
            sum = sum_over(32, sum);
            if (lane == 0) values[position] = tanhf(sum + last[sizes.hidden]);
        }
    }
}

// As forward.cu's, but for scratch [blocks, channels / 2, 64], or 3 maps and the largest vector.
#define FORWARD_HALF(name, channels, split, blocks)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS<split>, blocks)                                                          \
        name(Sizes sizes, int positions, const float* __restrict__ planes, const unsigned* __restrict__ ends,                     \
             const unsigned short* __restrict__ indices, const unsigned* __restrict__ weights, unsigned* scratch,                 \
             unsigned* counters, float* __restrict__ values, float* __restrict__ logits) {                                        \
        forward_half<channels / 32, split>(sizes, positions, planes, ends, indices, weights, scratch, counters, values, logits);  \
    }                                                                                                                             \
    KERNEL(name)

FORWARD_HALF(forward_half_32, 32, 1, 2)
FORWARD_HALF(forward_half_64, 64, 1, 2)
FORWARD_HALF(forward_half_128, 128, 1, 2)
FORWARD_HALF(forward_half_256, 256, 1, 1)
FORWARD_HALF(forward_half_64_2, 64, 2, 1)
FORWARD_HALF(forward_half_128_2, 128, 2, 1)
FORWARD_HALF(forward_half_128_4, 128, 4, 1)
FORWARD_HALF(forward_half_256_4, 256, 4, 1)
FORWARD_HALF(forward_half_256_8, 256, 8, 1)
