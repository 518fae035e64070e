// The whole forward pass of a residual network in one launch, in fp32, for every GPU from compute capability 6.1 on.
//
// A thread block evaluates one position from planes to logits and value, then the next one that falls to it: no launch
// and no barrier between blocks in between. It has 2 x channels threads, each of which computes a tile of 4 channels x
// one rank of 8 squares. Weights and boards stream through shared memory a few input channels at a time, and the maps
// between convolutions lie in the block's scratch in global memory, small enough to stay in the L2 cache. The reference is
// src/network/reference.rs; the layout of the weights is that of src/backend/cuda/pack.rs.
#include "common.cuh"

// A rank in shared memory: 8 squares and 4 floats that are not used, so that the ranks that the threads of a warp read at
// once lie in different banks. Above and below the board there is a rank of zeros.
constexpr int RANK = 12, BOARD = 10 * RANK;

// How many input channels are in shared memory at once: of a 3x3 and of a 1x1 convolution.
constexpr int STEP3 = 2, STEP1 = 4;

struct Tile {
    float at[4][8];
};

// This thread's place in a map [channels, 64].
static __device__ __forceinline__ float4* own(float* map, int channel) {
    return (float4*)&map[(threadIdx.x / 8 * 4 + channel) * 64 + (threadIdx.x & 7) * 8];
}

static __device__ __forceinline__ void write(const Tile& tile, float* map) {
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const float* v = tile.at[c];
        own(map, c)[0] = make_float4(v[0], v[1], v[2], v[3]);
        own(map, c)[1] = make_float4(v[4], v[5], v[6], v[7]);
    }
}

// f(v, c, x) of every number of the tile.
template <typename F>
static __device__ __forceinline__ void each(Tile& tile, F f) {
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int x = 0; x < 8; x++) tile.at[c][x] = f(tile.at[c][x], c, x);
}

// This thread's 8 squares of one channel of a map.
struct Line {
    float at[8];
    __device__ __forceinline__ Line(float* map, int channel) {
        const float4 low = own(map, channel)[0], high = own(map, channel)[1];
        at[0] = low.x, at[1] = low.y, at[2] = low.z, at[3] = low.w;
        at[4] = high.x, at[5] = high.y, at[6] = high.z, at[7] = high.w;
    }
};

// Sets the tile to the biases of its channels; the weights follow them.
static __device__ __forceinline__ const float* begin(Tile& tile, const float* __restrict__ biases, int channels) {
    const float4 bias = *(const float4*)&biases[threadIdx.x / 8 * 4];
    each(tile, [&](float, int c, int) { return c == 0 ? bias.x : c == 1 ? bias.y : c == 2 ? bias.z : bias.w; });
    return biases + channels;
}

// Adds a convolution of a map [inputs, 64] to the tile. Weights [inputs, SIDE, SIDE, channels], zeros up to a multiple of STEP
// input channels. Begins with a barrier, after which the map is whole; no thread reads the map after the last one.
template <int SIDE, int STEP>
static __device__ __forceinline__ const float* convolve(Tile& tile, float* boards, float4* filters, const float* map, int inputs,
                                                        const float* __restrict__ weights, int channels) {
    constexpr int TAPS = SIDE * SIDE, CARRIED = (STEP * TAPS + 7) / 8, LINES = (STEP * 16 + 63) / 64;
    const int thread = threadIdx.x, threads = blockDim.x, rank = thread & 7, quad = thread / 8, quads = channels / 4;
    const int whole = STEP * TAPS * quads;
    const float4* next = (const float4*)weights;
    float4 carried[CARRIED], lines[LINES];

    // What the next step needs is read into registers while this one computes.
    auto fetch = [&](int first) {
#pragma unroll
        for (int i = 0; i < CARRIED; i++) {
            if (i * threads + thread < whole) carried[i] = next[i * threads + thread];
        }
        next += whole;
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            const int line = i * threads + thread, channel = first + line / 16;
            if (line < STEP * 16) {
                lines[i] = channel < inputs ? *(const float4*)&map[first * 64 + line * 4] : make_float4(0.f, 0.f, 0.f, 0.f);
            }
        }
    };
    __syncthreads();
    fetch(0);
#pragma unroll 1
    for (int first = 0; first < inputs; first += STEP) {
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
        for (int j = 0; j < STEP; j++) {
#pragma unroll
            for (int down = 0; down < SIDE; down++) {
                const float4* line = (const float4*)&boards[j * BOARD + (rank + (SIDE == 3 ? down : 1)) * RANK];
                const float4 low = line[0], high = line[1];
                const float in[10] = {0.f, low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, 0.f};
#pragma unroll
                for (int right = 0; right < SIDE; right++) {
                    const float4 w = filters[(j * TAPS + down * SIDE + right) * quads + quad];
#pragma unroll
                    for (int x = 0; x < 8; x++) {
                        const float v = in[x + (SIDE == 3 ? right : 1)];
                        tile.at[0][x] += w.x * v;
                        tile.at[1][x] += w.y * v;
                        tile.at[2][x] += w.z * v;
                        tile.at[3][x] += w.w * v;
                    }
                }
            }
        }
    }
    return (const float*)next;
}

// Scales and offsets every channel of the tile. Weights: [width, channels] [width], [width, 2 channels] [2 channels].
static __device__ __forceinline__ const float* squeeze_excite(Tile& tile, float* vectors, const float* __restrict__ w, int channels,
                                                              int width) {
    const int thread = threadIdx.x, first = thread / 8 * 4;
    float *means = vectors, *hidden = means + channels, *excited = hidden + width;
#pragma unroll
    for (int c = 0; c < 4; c++) {
        float sum = 0.f;
#pragma unroll
        for (int x = 0; x < 8; x++) sum += tile.at[c][x];
        sum = sum_over(8, sum);
        if (thread % 8 == 0) means[first + c] = sum * (1.f / 64.f);
    }
    __syncthreads();
    const float* bias = w + width * channels;
    for (int unit = thread / 32; unit < width; unit += blockDim.x / 32) {
        const float sum = dot(w + unit * channels, means, channels);
        if (thread % 32 == 0) hidden[unit] = relu(sum + bias[unit]);
    }
    __syncthreads();
    w = bias + width;
    bias = w + width * 2 * channels;
    float sum = bias[thread];
    for (int unit = 0; unit < width; unit++) sum += w[unit * 2 * channels + thread] * hidden[unit];
    excited[thread] = thread < channels ? sigmoid(sum) : sum;
    __syncthreads();
    each(tile, [&](float v, int c, int) { return v * excited[first + c] + excited[channels + first + c]; });
    return bias + 2 * channels;
}

// planes [positions, planes, 64]; ends [positions], where each position's indices end; scratch [blocks, 3, channels, 64].
extern "C" __global__ void __launch_bounds__(512, 1)
    forward(Sizes sizes, int positions, const float* __restrict__ planes, const unsigned* __restrict__ ends,
            const unsigned short* __restrict__ indices, const float* __restrict__ weights, float* scratch, float* __restrict__ values,
            float* __restrict__ logits) {
    // As the launch says: a size that need not stay in a register.
    const int channels = blockDim.x / 2, thread = threadIdx.x, map_size = channels * 64;
    SHARED_MEMORY(float, boards);
    float4* filters = (float4*)(boards + STEP1 * BOARD);
    float* vectors = (float*)filters + STEP3 * 9 * channels;
    float* state = scratch + (size_t)blockIdx.x * 3 * map_size;
    float *inside = state + map_size, *previous = inside + map_size;
    Tile tile;

    for (int i = thread; i < STEP1 * BOARD; i += blockDim.x) boards[i] = 0.f;
    for (int position = blockIdx.x; position < positions; position += gridDim.x) {
        const float* input = planes + (size_t)position * sizes.planes * 64;
        const float* w = begin(tile, weights, channels);
        w = convolve<3, STEP3>(tile, boards, filters, input, sizes.planes, w, channels);
        each(tile, [](float v, int, int) { return relu(v); });
        write(tile, state);

        const float* tower = w;
#pragma unroll 1
        for (int pass = 0; pass < sizes.recurrence; pass++) {
            w = tower;
            if (sizes.gate) write(tile, previous);
#pragma unroll 1
            for (int block = 0; block < sizes.blocks; block++) {
                w = begin(tile, w, channels);
                w = convolve<3, STEP3>(tile, boards, filters, state, channels, w, channels);
                each(tile, [](float v, int, int) { return relu(v); });
                write(tile, inside);
                w = begin(tile, w, channels);
                w = convolve<3, STEP3>(tile, boards, filters, inside, channels, w, channels);
                if (sizes.squeeze) w = squeeze_excite(tile, vectors, w, channels, sizes.squeeze);
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const Line before(state, c);
#pragma unroll
                    for (int x = 0; x < 8; x++) tile.at[c][x] = relu(tile.at[c][x] + before.at[x]);
                }
                write(tile, state);
            }
            if (sizes.gate) {
                w = begin(tile, w, channels);
                w = convolve<1, STEP1>(tile, boards, filters, state, channels, w, channels);
                w = convolve<1, STEP1>(tile, boards, filters, previous, channels, w, channels);
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const Line candidate(state, c), before(previous, c);
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
        const int features = sizes.policy + sizes.value;
        for (int first = 0; first < features; first += channels) {
            w = begin(tile, w, channels);
            w = convolve<1, STEP1>(tile, boards, filters, state, channels, w, channels);
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const int channel = first + thread / 8 * 4 + c;
                if (channel < features) {
#pragma unroll
                    for (int x = 0; x < 8; x++) vectors[channel * 64 + thread % 8 * 8 + x] = relu(tile.at[c][x]);
                }
            }
        }
        __syncthreads();
        const int warp = thread / 32, warps = blockDim.x / 32, lane = thread % 32;
        const float *valued = vectors + sizes.policy * 64, *bias = w + sizes.hidden * sizes.value * 64;
        float* hidden = vectors + features * 64;
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
        __syncthreads();
        if (warp == 0) {
            float sum = 0.f;
            for (int unit = lane; unit < sizes.hidden; unit += 32) sum += last[unit] * hidden[unit];
            sum = sum_over(32, sum);
            if (lane == 0) values[position] = tanhf(sum + last[sizes.hidden]);
        }
    }
}
KERNEL(forward)
