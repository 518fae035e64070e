// A stand-in for NVIDIA's driver library, libcuda.so.1: those functions of it that the CUDA backend calls, on kernels that run on
// the processor. The host code under test is the one that ships. Memory is checked where the driver checks it, and filled
// with NaN when it is allocated. What a stream is told waits until somebody synchronises with it: host code that reads too
// early, or writes over what is still to be copied, gets it wrong here, too.
//
// The environment says what it should be like:
//   STANDIN_FAIL=cuInit:100        a function fails with an error
//   STANDIN_DEVICES=0              how many devices there are
//   STANDIN_CAPABILITY=90          compute capability
//   STANDIN_DRIVER=11080           the CUDA version of the driver
//   STANDIN_MEMORY=1000000         bytes of device memory
//   STANDIN_MULTIPROCESSORS=8      how many there are, each for one block at a time
//   STANDIN_TELL=1                 tells of each launch: the kernel and how many blocks
//   STANDIN_WITHOUT_BARRIER=forward.cu:123    leaves out the barriers at a line of a kernel (fibers.h)
#include <map>
#include <mutex>

#include "fibers.h"

namespace {

enum Status { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200, NOT_FOUND = 500 };
enum Attribute { SHARED = 8, MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED_OPTIN = 97, MEMORY_POOLS = 115 };

using Address = unsigned long long;

struct Module {
    std::vector<const fibers::Kernel*> kernels;
};

std::mutex lock;
std::map<Address, size_t> allocations;
std::map<Address, size_t> pinned;
std::vector<std::function<void()>> stream;
std::map<const fibers::Kernel*, int> most_shared;
size_t allocated;
int context;
thread_local void* current;

int setting(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int multiprocessors() { return setting("STANDIN_MULTIPROCESSORS", 2); }

// The error that a function is to fail with, 0 for none.
int failure(const std::string& function) {
    static const std::string text = getenv("STANDIN_FAIL") ? getenv("STANDIN_FAIL") : "";
    return text.rfind(function + ":", 0) == 0 ? atoi(text.c_str() + function.size() + 1) : SUCCESS;
}

// Whether a range lies in one allocation.
bool is_in(const std::map<Address, size_t>& ranges, Address address, size_t size) {
    std::lock_guard<std::mutex> held(lock);
    auto after = ranges.upper_bound(address);
    if (after == ranges.begin()) return false;
    const auto& [start, length] = *--after;
    return address + size <= start + length;
}

void synchronise() {
    std::vector<std::function<void()>> work;
    {
        std::lock_guard<std::mutex> held(lock);
        work.swap(stream);
    }
    for (const auto& one : work) one();
}

// A copy between device memory and the host's. It waits in the stream only where the host's memory is pinned.
int copy(Address device, const void* host, size_t size, void (*move)(Address, void*, size_t)) {
    if (!is_in(allocations, device, size)) return INVALID_VALUE;
    const bool waits = is_in(pinned, reinterpret_cast<Address>(host), size);
    {
        std::lock_guard<std::mutex> held(lock);
        stream.push_back([=] { move(device, const_cast<void*>(host), size); });
    }
    if (!waits) synchronise();
    return SUCCESS;
}

// The sizes of an entry's parameters, from the text between its brackets: `.param .u64 name` or `.param .align 4 .b8 name[36]`.
std::vector<size_t> parameters(const std::string& text) {
    std::vector<size_t> sizes;
    for (size_t at = 0; (at = text.find(".param", at)) != std::string::npos; at++) {
        const std::string one = text.substr(at, text.find(',', at) - at);
        const size_t bracket = one.find('['), type = one.find_last_of('.');
        sizes.push_back(bracket != std::string::npos ? atoi(&one[bracket + 1]) : atoi(&one[type + 2]) / 8);
    }
    return sizes;
}

int load(Module& module, const std::string& ptx) {
    if (ptx.find(".version") == std::string::npos) return INVALID_IMAGE;
    for (size_t at = 0; (at = ptx.find(".entry ", at)) != std::string::npos;) {
        at += 7;
        const size_t open = ptx.find('(', at), close = ptx.find(')', open);
        const std::string name = ptx.substr(at, open - at);
        for (const fibers::Kernel& kernel : fibers::kernels()) {
            if (kernel.name != name) continue;
            if (kernel.parameters != parameters(ptx.substr(open, close - open))) {
                fprintf(stderr, "stand-in: %s has other parameters in the PTX than in the source\n", name.c_str());
                return INVALID_IMAGE;
            }
            module.kernels.push_back(&kernel);
        }
    }
    return SUCCESS;
}

}  // namespace

#define FAILING(name)                                     \
    if (const int status = failure(#name)) return status

extern "C" {
#define DRIVER __attribute__((visibility("default"))) int

DRIVER cuInit(unsigned) {
    FAILING(cuInit);
    return SUCCESS;
}
DRIVER cuDriverGetVersion(int* version) {
    *version = setting("STANDIN_DRIVER", 12020);
    return SUCCESS;
}
DRIVER cuDeviceGetCount(int* count) {
    *count = setting("STANDIN_DEVICES", 1);
    return SUCCESS;
}
DRIVER cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < setting("STANDIN_DEVICES", 1) ? SUCCESS : INVALID_DEVICE;
}
DRIVER cuDeviceGetName(char* name, int size, int) {
    snprintf(name, size, "stand-in");
    return SUCCESS;
}
DRIVER cuDeviceGetAttribute(int* value, int attribute, int) {
    const int capability = setting("STANDIN_CAPABILITY", 61);
    switch (attribute) {
        case MAJOR: *value = capability / 10; break;
        case MINOR: *value = capability % 10; break;
        case MULTIPROCESSORS: *value = multiprocessors(); break;
        case SHARED: *value = 49152; break;
        case MEMORY_POOLS: *value = capability >= 70; break;
        case SHARED_OPTIN: *value = capability < 70 ? 49152 : 101376; break;
        default: *value = 0;
    }
    return SUCCESS;
}
DRIVER cuDevicePrimaryCtxRetain(void** made, int) {
    FAILING(cuDevicePrimaryCtxRetain);
    *made = &context;
    return SUCCESS;
}
DRIVER cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
DRIVER cuCtxSetCurrent(void* made) {
    current = made;
    return SUCCESS;
}
DRIVER cuCtxGetCurrent(void** made) {
    *made = current;
    return SUCCESS;
}
DRIVER cuCtxSynchronize() {
    synchronise();
    return SUCCESS;
}
DRIVER cuGetErrorString(int error, const char** text) {
    static thread_local char buffer[40];
    snprintf(buffer, sizeof buffer, "error %d of the stand-in", error);
    *text = buffer;
    return SUCCESS;
}
DRIVER cuGetErrorName(int error, const char** text) { return cuGetErrorString(error, text); }

DRIVER cuModuleLoadData(void** made, const void* image) {
    FAILING(cuModuleLoadData);
    auto* module = new Module;
    *made = module;
    return load(*module, static_cast<const char*>(image));
}
DRIVER cuModuleUnload(void* module) {
    delete static_cast<Module*>(module);
    return SUCCESS;
}
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
    for (const fibers::Kernel* kernel : static_cast<Module*>(module)->kernels) {
        *function = const_cast<fibers::Kernel*>(kernel);
        if (kernel->name == name) return SUCCESS;
    }
    return NOT_FOUND;
}
DRIVER cuFuncSetAttribute(void* function, int, int value) {
    most_shared[static_cast<fibers::Kernel*>(function)] = value;
    return SUCCESS;
}
DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void*, int, size_t, unsigned) {
    *blocks = 1;
    return SUCCESS;
}

DRIVER cuStreamCreate(void** stream, unsigned) {
    *stream = new int;
    return SUCCESS;
}
DRIVER cuStreamDestroy_v2(void* stream) {
    delete static_cast<int*>(stream);
    return SUCCESS;
}
DRIVER cuStreamSynchronize(void*) {
    FAILING(cuStreamSynchronize);
    synchronise();
    return SUCCESS;
}
DRIVER cuStreamWaitEvent(void*, void*, unsigned) { return SUCCESS; }
DRIVER cuEventCreate(void** event, unsigned) {
    *event = new int;
    return SUCCESS;
}
DRIVER cuEventDestroy_v2(void* event) {
    delete static_cast<int*>(event);
    return SUCCESS;
}
DRIVER cuEventRecord(void*, void*) { return SUCCESS; }
DRIVER cuEventSynchronize(void*) {
    synchronise();
    return SUCCESS;
}

DRIVER cuMemHostAlloc(void** memory, size_t size, unsigned) {
    FAILING(cuMemHostAlloc);
    *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    memset(*memory, 0xff, size);
    std::lock_guard<std::mutex> held(lock);
    pinned[reinterpret_cast<Address>(*memory)] = size;
    return SUCCESS;
}
DRIVER cuMemFreeHost(void* memory) {
    synchronise();
    std::lock_guard<std::mutex> held(lock);
    pinned.erase(reinterpret_cast<Address>(memory));
    free(memory);
    return SUCCESS;
}
DRIVER cuMemAlloc_v2(Address* address, size_t size) {
    FAILING(cuMemAlloc_v2);
    std::lock_guard<std::mutex> held(lock);
    if (!size) return INVALID_VALUE;
    if (allocated + size > static_cast<size_t>(setting("STANDIN_MEMORY", 2'000'000'000))) return OUT_OF_MEMORY;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, size)) return OUT_OF_MEMORY;
    memset(memory, 0xff, size);
    *address = reinterpret_cast<Address>(memory);
    allocations[*address] = size;
    allocated += size;
    return SUCCESS;
}
DRIVER cuMemFree_v2(Address address) {
    synchronise();
    std::lock_guard<std::mutex> held(lock);
    auto found = allocations.find(address);
    if (found == allocations.end()) return INVALID_VALUE;
    allocated -= found->second;
    allocations.erase(found);
    free(reinterpret_cast<void*>(address));
    return SUCCESS;
}
// What cudarc calls instead where there are memory pools.
DRIVER cuMemAllocAsync(Address* address, size_t size, void*) { return cuMemAlloc_v2(address, size); }
DRIVER cuMemFreeAsync(Address address, void*) { return cuMemFree_v2(address); }
DRIVER cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, void*) {
    return copy(to, from, size, [](Address device, void* host, size_t n) { memcpy(reinterpret_cast<void*>(device), host, n); });
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, void*) {
    FAILING(cuMemcpyDtoHAsync_v2);
    return copy(from, to, size, [](Address device, void* host, size_t n) { memcpy(host, reinterpret_cast<void*>(device), n); });
}
DRIVER cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      void*, void** parameters, void**) {
    FAILING(cuLaunchKernel);
    const auto* kernel = static_cast<fibers::Kernel*>(function);
    const unsigned most = most_shared.count(kernel) ? most_shared[kernel] : 49152;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared > most) return INVALID_VALUE;
    if (setting("STANDIN_TELL", 0)) fprintf(stderr, "stand-in: %s, %u blocks\n", kernel->name.c_str(), gx * gy * gz);
    const dim3 grid{gx, gy, gz}, size{bx, by, bz};
    std::lock_guard<std::mutex> held(lock);
    stream.push_back([=, call = kernel->bind(parameters)] { fibers::launch(grid, size, shared, call, multiprocessors()); });
    return SUCCESS;
}
}
