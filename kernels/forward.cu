// The whole forward pass of a residual network in one launch, in fp32, for every GPU from compute capability 6.1 on.
//
// A thread block evaluates one position from planes to logits and value, then the next one that falls to it: no launch
// and no barrier between blocks in between. It has 2 x channels threads, each of which computes a tile of 4 channels x
// one rank of 8 squares. Weights and boards stream through shared memory a few input channels at a time, and the maps
// between convolutions lie in the block's scratch in global memory, small enough to stay in the L2 cache. The reference is
// src/network/reference.rs; the layout of the weights is that of src/backend/cuda/pack.rs.
//
// Where there are fewer positions than multiprocessors a position is split over a team of 2, 4 or 8 blocks with a thread for each
// channel of the network. Each block makes its part of the output channels, in smaller tiles, and reads all maps from the
// team's scratch. Every sum has the same order, so that its bits do not depend on the split.
#include "common.cuh"

// A rank in shared memory: 8 squares and 4 floats that are not used, so that the ranks that the threads of a warp read at
// once lie in different banks. Above and below the board there is a rank of zeros.
constexpr int RANK = 12, BOARD = 10 * RANK;

// How many input channels are in shared memory at once: of a 3x3 and of a 1x1 convolution. A part of the output channels leaves room
// for as many times more.
template <int SPLIT>
constexpr int STEP3 = 2 * SPLIT;
template <int SPLIT>
constexpr int STEP1 = 4 * SPLIT;

// Channels of a thread's tile.
template <int SPLIT>
constexpr int TALL = SPLIT == 1 ? 4 : 8 / SPLIT;

template <int SPLIT>
struct Tile {
    float at[TALL<SPLIT>][8];
};

// So many floats as one.
template <int N>
struct Vector;
template <>
struct Vector<4> {
    using Type = float4;
};
template <>
struct Vector<2> {
    using Type = float2;
};
template <>
struct Vector<1> {
    using Type = float;
};
static __device__ __forceinline__ float at(const float4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
static __device__ __forceinline__ float at(const float2& v, int i) {
    return i == 0 ? v.x : v.y;
}
static __device__ __forceinline__ float at(float v, int) {
    return v;
}

// The first channel of this thread.
template <int SPLIT>
static __device__ __forceinline__ int first_channel() {
    return (blockIdx.x % SPLIT * (blockDim.x / 8) + threadIdx.x / 8) * TALL<SPLIT>;
}

// This thread's place in a map [channels, 64].
template <int SPLIT>
static __device__ __forceinline__ float4* own(float* map, int channel) {
    return (float4*)&map[(first_channel<SPLIT>() + channel) * 64 + (threadIdx.x & 7) * 8];
}

template <int SPLIT>
static __device__ __forceinline__ void write(const Tile<SPLIT>& tile, float* map) {
#pragma unroll
    for (int c = 0; c < TALL<SPLIT>; c++) {
        const float* v = tile.at[c];
        own<SPLIT>(map, c)[0] = make_float4(v[0], v[1], v[2], v[3]);
        own<SPLIT>(map, c)[1] = make_float4(v[4], v[5], v[6], v[7]);
    }
}

// f(v, c, x) of every number of the tile.
template <int SPLIT, typename F>
static __device__ __forceinline__ void each(Tile<SPLIT>& tile, F f) {
#pragma unroll
    for (int c = 0; c < TALL<SPLIT>; c++)
#pragma unroll
        for (int x = 0; x < 8; x++) tile.at[c][x] = f(tile.at[c][x], c, x);
}

// This thread's 8 squares of one channel of a map.
template <int SPLIT>
struct Line {
    float at[8];
    __device__ __forceinline__ Line(float* map, int channel) {
        const float4 low = own<SPLIT>(map, channel)[0], high = own<SPLIT>(map, channel)[1];
        at[0] = low.x, at[1] = low.y, at[2] = low.z, at[3] = low.w;
        at[4] = high.x, at[5] = high.y, at[6] = high.z, at[7] = high.w;
    }
};

// Sets the tile to the biases of its channels; the weights follow them.
template <int SPLIT>
static __device__ __forceinline__ const float* begin(Tile<SPLIT>& tile, const float* __restrict__ biases, int channels) {
    const auto bias = *(const typename Vector<TALL<SPLIT>>::Type*)&biases[first_channel<SPLIT>()];
    each(tile, [&](float, int c, int) { return at(bias, c); });
    return biases + channels;
}

// Adds a convolution of a map [inputs, 64] to the tile. Weights [inputs, SIDE, SIDE, channels], zeros up to an even number of
// input channels. Begins with a barrier, after which the map is whole; no thread of the block reads the map after the last one.
template <int SIDE, int STEP, int SPLIT>
static __device__ __forceinline__ const float* convolve(const Team<SPLIT>& team, Tile<SPLIT>& tile, float* boards, float4* filters,
                                                        const float* map, int inputs, const float* __restrict__ weights,
                                                        int channels) {
    // A thread carries a row of weights out of so many; the smallest block has 64 threads, or 16 channels for each of a team's.
    constexpr int TAPS = SIDE * SIDE, ROWS = 32 / TALL<SPLIT>, CARRIED = (STEP * TAPS + ROWS - 1) / ROWS;
    constexpr int LEAST = SPLIT == 1 ? 64 : 16 * SPLIT, LINES = (STEP * 16 + LEAST - 1) / LEAST;
    using Filters = typename Vector<TALL<SPLIT>>::Type;
    const int thread = threadIdx.x, threads = blockDim.x, rank = thread & 7;
    // Of this block's part: float4 in a row of weights; filters of a thread in one.
    const int quads = channels / (4 * SPLIT), group = thread / 8, groups = channels / (TALL<SPLIT> * SPLIT);
    const int own_quads = SPLIT == 1 ? thread : (thread / quads * SPLIT + team.part) * quads + thread % quads;
    const float4* next = (const float4*)weights;
    float4 carried[CARRIED], lines[LINES];

    // How many of a step's input channels there are.
    auto there = [&](int first) { return SPLIT == 1 ? STEP : min(STEP, (inputs + 1) / 2 * 2 - first); };
    // What the next step needs is read into registers while this one computes.
    auto fetch = [&](int first) {
        const int whole = there(first) * TAPS * quads;
#pragma unroll
        for (int i = 0; i < CARRIED; i++) {
            if (i * threads + thread < whole) carried[i] = next[i * threads * SPLIT + own_quads];
        }
        next += whole * SPLIT;
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            const int line = i * threads + thread, channel = first + line / 16;
            if (line < STEP * 16) {
                const float4* from = (const float4*)&map[first * 64 + line * 4];
                lines[i] = channel >= inputs ? make_float4(0.f, 0.f, 0.f, 0.f) : SPLIT == 1 ? *from : read_past_l1(from);
            }
        }
    };
    meet(team);
    fetch(0);
#pragma unroll 1
    for (int first = 0; first < inputs; first += STEP) {
        const int count = there(first), whole = count * TAPS * quads;
        if (first > 0) __syncthreads();
#pragma unroll
        for (int i = 0; i < CARRIED; i++) {
            if (i * threads + thread < whole) filters[i * threads + thread] = carried[i];
        }
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            const int line = i * threads + thread, to = line / 16 * BOARD + (line / 2 % 8 + 1) * RANK + line % 2 * 4;
            if (line < STEP * 16) *(float4*)&boards[to] = lines[i];
        }
        __syncthreads();
        if (first + STEP < inputs) fetch(first + STEP);
#pragma unroll 1
        for (int j = 0; j < count; j++) {
#pragma unroll
            for (int down = 0; down < SIDE; down++) {
                const float4* line = (const float4*)&boards[j * BOARD + (rank + (SIDE == 3 ? down : 1)) * RANK];
                const float4 low = line[0], high = line[1];
                const float in[10] = {0.f, low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, 0.f};
#pragma unroll
                for (int right = 0; right < SIDE; right++) {
                    const Filters w = ((const Filters*)filters)[(j * TAPS + down * SIDE + right) * groups + group];
#pragma unroll
                    for (int x = 0; x < 8; x++) {
                        const float v = in[x + (SIDE == 3 ? right : 1)];
#pragma unroll
                        for (int c = 0; c < TALL<SPLIT>; c++) tile.at[c][x] += at(w, c) * v;
                    }
                }
            }
        }
    }
    return (const float*)next;
}

// Scales and offsets every channel of the tile. Weights: [width, channels] [width], [width, 2 channels] [2 channels].
template <int SPLIT>
static __device__ __forceinline__ const float* squeeze_excite(const Team<SPLIT>& team, Tile<SPLIT>& tile, float* vectors, float* parts,
                                                              const float* __restrict__ w, int channels, int width) {
    const int thread = threadIdx.x, first = first_channel<SPLIT>();
    float *means = vectors, *hidden = means + channels, *excited = hidden + width;
#pragma unroll
    for (int c = 0; c < TALL<SPLIT>; c++) {
        float sum = 0.f;
#pragma unroll
        for (int x = 0; x < 8; x++) sum += tile.at[c][x];
        sum = sum_over(8, sum);
        if (thread % 8 == 0) parts[first + c] = sum * (1.f / 64.f);
    }
    meet(team);
    receive<SPLIT>(means, parts, channels);
    const float* bias = w + width * channels;
    for (int unit = thread / 32; unit < width; unit += blockDim.x / 32) {
        const float sum = dot(w + unit * channels, means, channels);
        if (thread % 32 == 0) hidden[unit] = relu(sum + bias[unit]);
    }
    __syncthreads();
    w = bias + width;
    bias = w + width * 2 * channels;
    // The scales of this block's channels, then the offsets, a thread for each.
    const int some = channels / SPLIT, output = thread + team.part * some + (SPLIT > 1 && thread >= some ? channels - some : 0);
    if (SPLIT == 1 || thread < 2 * some) {
        float sum = bias[output];
        for (int unit = 0; unit < width; unit++) sum += w[unit * 2 * channels + output] * hidden[unit];
        excited[output] = output < channels ? sigmoid(sum) : sum;
    }
    __syncthreads();
    each(tile, [&](float v, int c, int) { return v * excited[first + c] + excited[channels + first + c]; });
    return bias + 2 * channels;
}

template <int SPLIT>
static __device__ __forceinline__ void evaluate(const Sizes& sizes, int positions, const float* __restrict__ planes,
                                                const unsigned* __restrict__ ends, const unsigned short* __restrict__ indices,
                                                const float* __restrict__ weights, float* scratch, unsigned* counters,
                                                float* __restrict__ values, float* __restrict__ logits) {
    // As the launch says: a size that need not stay in a register.
    const int channels = SPLIT == 1 ? blockDim.x / 2 : blockDim.x, thread = threadIdx.x, map_size = channels * 64;
    const int features = sizes.policy + sizes.value;
    const Team<SPLIT> team(counters);
    SHARED_MEMORY(float, boards);
    float4* filters = (float4*)(boards + STEP1<SPLIT> * BOARD);
    float* vectors = (float*)filters + STEP3<1> * 9 * channels;
    float* state = scratch + (size_t)team.number * (SPLIT == 1 ? 3 * map_size : 3 * map_size + max(channels, features * 64 + sizes.hidden));
    float *inside = state + map_size, *previous = inside + map_size;
    // Where vectors are put together: by a team in global memory.
    float* parts = SPLIT == 1 ? vectors : previous + map_size;
    Tile<SPLIT> tile;

    for (int i = thread; i < STEP1<SPLIT> * BOARD; i += blockDim.x) boards[i] = 0.f;
    for (int position = team.number; position < positions; position += gridDim.x / SPLIT) {
        const float* input = planes + (size_t)position * sizes.planes * 64;
        const float* w = begin(tile, weights, channels);
        w = convolve<3, STEP3<SPLIT>>(team, tile, boards, filters, input, sizes.planes, w, channels);
        each(tile, [](float v, int, int) { return relu(v); });
        write(tile, state);

        const float* tower = w;
#pragma unroll 1
        for (int pass = 0; pass < sizes.recurrence; pass++) {
            w = tower;
            if (sizes.gate) {
                if (SPLIT > 1 && pass > 0) meet(team);  // The others have read it in the pass before.
                write(tile, previous);
            }
#pragma unroll 1
            for (int block = 0; block < sizes.blocks; block++) {
                w = begin(tile, w, channels);
                w = convolve<3, STEP3<SPLIT>>(team, tile, boards, filters, state, channels, w, channels);
                each(tile, [](float v, int, int) { return relu(v); });
                write(tile, inside);
                w = begin(tile, w, channels);
                w = convolve<3, STEP3<SPLIT>>(team, tile, boards, filters, inside, channels, w, channels);
                if (sizes.squeeze) w = squeeze_excite(team, tile, vectors, parts, w, channels, sizes.squeeze);
#pragma unroll
                for (int c = 0; c < TALL<SPLIT>; c++) {
                    const Line<SPLIT> before(state, c);
#pragma unroll
                    for (int x = 0; x < 8; x++) tile.at[c][x] = relu(tile.at[c][x] + before.at[x]);
                }
                write(tile, state);
            }
            if (sizes.gate) {
                w = begin(tile, w, channels);
                w = convolve<1, STEP1<SPLIT>>(team, tile, boards, filters, state, channels, w, channels);
                w = convolve<1, STEP1<SPLIT>>(team, tile, boards, filters, previous, channels, w, channels);
#pragma unroll
                for (int c = 0; c < TALL<SPLIT>; c++) {
                    const Line<SPLIT> candidate(state, c), before(previous, c);
#pragma unroll
                    for (int x = 0; x < 8; x++) {
                        const float z = sigmoid(tile.at[c][x]);
                        tile.at[c][x] = z * candidate.at[x] + (1.f - z) * before.at[x];
                    }
                }
                write(tile, state);
            }
        }

        // Policy and value channels together, as many at a time as the trunk has; the last ones are padding.
        for (int first = 0; first < features; first += channels) {
            w = begin(tile, w, channels);
            w = convolve<1, STEP1<SPLIT>>(team, tile, boards, filters, state, channels, w, channels);
#pragma unroll
            for (int c = 0; c < TALL<SPLIT>; c++) {
                const int channel = first + first_channel<SPLIT>() + c;
                if (channel < features) {
#pragma unroll
                    for (int x = 0; x < 8; x++) parts[channel * 64 + thread % 8 * 8 + x] = relu(tile.at[c][x]);
                }
            }
        }
        meet(team);
        receive<SPLIT>(vectors, parts, features * 64);
        // Of the team, too.
        const int warp = team.part * (blockDim.x / 32) + thread / 32, warps = SPLIT * blockDim.x / 32, lane = thread % 32;
        const float *valued = vectors + sizes.policy * 64, *bias = w + sizes.hidden * sizes.value * 64;
        float* hidden = parts + features * 64;
        for (int unit = warp; unit < sizes.hidden; unit += warps) {
            const float sum = dot(w + unit * sizes.value * 64, valued, sizes.value * 64);
            if (lane == 0) hidden[unit] = relu(sum + bias[unit]);
        }
        const float *last = bias + sizes.hidden, *rows = last + sizes.hidden + 4;
        for (unsigned i = (position ? ends[position - 1] : 0) + warp; i < ends[position]; i += warps) {
            const float* row = rows + (size_t)indices[i] * (sizes.policy * 64 + 4);
            const float sum = dot(row, vectors, sizes.policy * 64);
            if (lane == 0) logits[i] = sum + row[sizes.policy * 64];
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

// planes [positions, planes, 64]; ends [positions], where each position's indices end; scratch [blocks, 3, channels, 64], or for
// each team 3 maps and the largest vector; counters [teams, 32].
#define FORWARD(name, split, threads, blocks)                                                                                         \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                                                     \
        name(Sizes sizes, int positions, const float* __restrict__ planes, const unsigned* __restrict__ ends,                         \
             const unsigned short* __restrict__ indices, const float* __restrict__ weights, float* scratch, unsigned* counters,       \
             float* __restrict__ values, float* __restrict__ logits) {                                                                \
        evaluate<split>(sizes, positions, planes, ends, indices, weights, scratch, counters, values, logits);                         \
    }                                                                                                                                 \
    KERNEL(name)

FORWARD(forward, 1, 512, 1)
FORWARD(forward_2, 2, 256, 1)
FORWARD(forward_4, 4, 256, 1)
FORWARD(forward_8, 8, 256, 1)
