// The yardstick of the ring's benchmark on NVIDIA hardware: the ring's protocol
// by hand in CUDA, on buffers of the same sizes and bytes. Slots of 64 bytes,
// status and result words in arrays of their own, a schedule of pages, chunks of
// it claimed by one ticket a block, tenant and bounds checked, slots counted by
// opcode. Four opcodes: nop, store, add, load in turn.
//
// "protocol" does all of that. "lean" leaves out the schedule, the checks and the
// counts: tickets, status words and results alone.
//
// nvcc -O3 -arch=sm_90 -o ring ring.cu && ./ring
//
// prints one JSON object a line: slots/s of the median run of each geometry. It
// ends with an error if a result is wrong.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

enum { NOP = 0, STORE = 1, ADD = 2, LOAD = 3, OPCODES = 4 };
enum { PUBLISHED = 1, DONE = 3, FAULT = 6 };

const word PAGE_SHIFT = 8, PAGE_SLOTS = 1 << PAGE_SHIFT;
const word COUNT_BITS = PAGE_SHIFT + 1, COUNT_MASK = (1 << COUNT_BITS) - 1;
const word STATE_MASK = 0xF, ATTEMPT = 1 << 16;
const word HEAP_WORDS = 1 << 20, ADDRESSES = HEAP_WORDS - 256;
const int WARM_RUNS = 5, RUNS = 15;

struct Control {
    word ticket, executed, faulted, chunks;
    word counts[OPCODES];
};

struct Ring {
    Control *control;
    const uint4 *slots; // four to a slot: head (opcode, tenant, priority, sequence), then twelve arguments
    word *statuses;
    word *results;
    const word *schedule; // page << COUNT_BITS | slots of it
    word *heap;
    word entries, chunk, tenant, window_base, window_length;
};

__device__ word warp_sum(word n) { return __reduce_add_sync(0xFFFFFFFFu, n); }

// report adds up what a block did and hands it to the control block.
__device__ void report(Control *control, word *totals, const word *done, word faulted, word chunks) {
    for (int op = 0; op < OPCODES; op++) {
        const word n = warp_sum(done[op]);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&totals[op], n);
        }
    }
    const word n = warp_sum(faulted);
    if (threadIdx.x % 32 == 0 && n != 0) {
        atomicAdd(&totals[OPCODES], n);
    }
    __syncthreads();
    if (threadIdx.x < OPCODES) {
        atomicAdd(&control->counts[threadIdx.x], totals[threadIdx.x]);
    }
    if (threadIdx.x == 0) {
        word executed = 0;
        for (int op = 0; op < OPCODES; op++) {
            executed += totals[op];
        }
        atomicAdd(&control->executed, executed);
        atomicAdd(&control->chunks, chunks);
        if (totals[OPCODES] != 0) {
            atomicAdd(&control->faulted, totals[OPCODES]);
        }
    }
}

template <bool LEAN>
__global__ void drain(Ring r) {
    __shared__ word next;
    __shared__ word totals[OPCODES + 1];
    word done[OPCODES] = {0, 0, 0, 0}, faulted = 0, chunks = 0;
    const word positions = r.entries << PAGE_SHIFT;
    if (threadIdx.x <= OPCODES) {
        totals[threadIdx.x] = 0;
    }
    for (;;) {
        if (threadIdx.x == 0) {
            next = atomicAdd(&r.control->ticket, r.chunk);
        }
        __syncthreads();
        const word first = next;
        __syncthreads();
        if (first >= positions) {
            break;
        }
        chunks++;
        const word end = min(first + r.chunk, positions);
        for (word p = first + threadIdx.x; p < end; p += blockDim.x) {
            word slot = p;
            if (!LEAN) {
                const word entry = r.schedule[p >> PAGE_SHIFT];
                const word offset = p & (PAGE_SLOTS - 1);
                if (offset >= (entry & COUNT_MASK)) {
                    continue;
                }
                slot = (entry >> COUNT_BITS << PAGE_SHIFT) + offset;
            }
            const word status = r.statuses[slot];
            const uint4 head = r.slots[(size_t)slot * 4];
            const uint4 a = r.slots[(size_t)slot * 4 + 1];
            if ((status & STATE_MASK) != PUBLISHED) {
                continue;
            }
            word result = 0;
            bool fault = !LEAN && head.y != r.tenant;
            switch (head.x) {
            case NOP:
                break;
            case STORE:
                fault = fault || (!LEAN && a.y >= r.window_length);
                if (!fault) {
                    r.heap[r.window_base + a.y] = a.x;
                }
                break;
            case ADD:
                fault = fault || (!LEAN && a.y >= r.window_length);
                if (!fault) {
                    atomicAdd(&r.heap[r.window_base + a.y], a.x);
                }
                break;
            case LOAD:
                fault = fault || (!LEAN && a.x >= r.window_length);
                if (!fault) {
                    result = r.heap[r.window_base + a.x];
                }
                break;
            default:
                fault = true;
            }
            r.results[slot] = result;
            r.statuses[slot] = ((status & ~STATE_MASK) + ATTEMPT) | (word)(fault ? FAULT : DONE);
            if (!LEAN) {
                faulted += fault;
                for (word op = 0; op < OPCODES; op++) {
                    done[op] += !fault && head.x == op;
                }
            }
        }
    }
    // The barriers of the loop lie between the zeros and the sums.
    if (!LEAN) {
        report(r.control, totals, done, faulted, chunks);
    }
}

static word initial(word address) { return address * 2654435761u + 12345u; }

template <typename T>
static T *upload(const std::vector<T> &host) {
    T *device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <typename T>
static std::vector<T> download(const T *device, size_t n) {
    std::vector<T> host(n);
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

static void wrong(const char *what, word i, word got, word want) {
    fprintf(stderr, "ring.cu: %s %u is %u, want %u\n", what, i, got, want);
    exit(1);
}

// bench measures every geometry on a ring of n slots.
static void bench(const char *size, word n) {
    std::vector<uint4> slots((size_t)n * 4, make_uint4(0, 0, 0, 0));
    for (word i = 0; i < n; i++) {
        slots[(size_t)i * 4] = make_uint4(i % OPCODES, 0, 0, i);
        slots[(size_t)i * 4 + 1] = make_uint4(i % ADDRESSES, i % ADDRESSES, 0, 0);
    }
    std::vector<word> schedule(n / PAGE_SLOTS);
    for (word i = 0; i < schedule.size(); i++) {
        schedule[i] = i << COUNT_BITS | PAGE_SLOTS;
    }
    std::vector<word> heap(HEAP_WORDS);
    for (word i = 0; i < HEAP_WORDS; i++) {
        heap[i] = initial(i);
    }
    std::vector<word> published(n, PUBLISHED);
    Ring r = {};
    r.control = upload(std::vector<Control>(1));
    r.slots = upload(slots);
    r.statuses = upload(published);
    r.results = upload(std::vector<word>(n));
    r.schedule = upload(schedule);
    r.heap = upload(heap);
    r.entries = (word)schedule.size();
    r.window_length = HEAP_WORDS;
    const word *pristine = upload(published);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));

    word runs = 0; // of all kernels, since the heap's beginning
    for (int lean = 0; lean < 2; lean++) {
        double best = 0;
        for (word width : {256u, 512u, 1024u}) {
            for (word groups : {132u, 256u, 264u, 512u, 528u, 1056u}) {
                for (word rows : {1u, 2u, 4u, 8u}) {
                    r.chunk = width * rows;
                    std::vector<float> times;
                    for (int run = 0; run < WARM_RUNS + RUNS; run++) {
                        CHECK(cudaMemset(r.control, 0, sizeof(Control)));
                        CHECK(cudaMemcpy(r.statuses, pristine, n * sizeof(word), cudaMemcpyDeviceToDevice));
                        CHECK(cudaDeviceSynchronize());
                        CHECK(cudaEventRecord(begin));
                        if (lean) {
                            drain<true><<<groups, width>>>(r);
                        } else {
                            drain<false><<<groups, width>>>(r);
                        }
                        CHECK(cudaEventRecord(end));
                        CHECK(cudaEventSynchronize(end));
                        CHECK(cudaGetLastError());
                        runs++;
                        float ms;
                        CHECK(cudaEventElapsedTime(&ms, begin, end));
                        if (run >= WARM_RUNS) {
                            times.push_back(ms);
                        }
                    }
                    std::sort(times.begin(), times.end());
                    const double rate = n / (times[times.size() / 2] * 1e-3);
                    best = std::max(best, rate);
                    printf("{\"name\":\"cuda/%s/%s/%ux%ux%u\",\"value\":%.6g,\"unit\":\"slots/s\"}\n",
                           lean ? "lean" : "protocol", size, width, groups, r.chunk, rate);
                    if (!lean) {
                        const Control c = download(r.control, 1)[0];
                        if (c.executed != n || c.faulted != 0) {
                            wrong("executed", 0, c.executed, n);
                        }
                    }
                }
            }
        }
        printf("{\"name\":\"cuda/%s/%s/best\",\"value\":%.6g,\"unit\":\"slots/s\"}\n", lean ? "lean" : "protocol", size, best);

        const std::vector<word> statuses = download(r.statuses, n), results = download(r.results, n);
        for (word i = 0; i < n; i++) {
            const word want = i % OPCODES == LOAD ? initial(i % ADDRESSES) : 0;
            if (statuses[i] != (ATTEMPT | DONE)) {
                wrong("status", i, statuses[i], ATTEMPT | DONE);
            }
            if (results[i] != want) {
                wrong("result", i, results[i], want);
            }
        }
    }
    std::vector<word> want(HEAP_WORDS);
    for (word i = 0; i < HEAP_WORDS; i++) {
        want[i] = initial(i);
    }
    for (word i = 0; i < n; i++) {
        const word address = i % ADDRESSES;
        if (i % OPCODES == STORE) {
            want[address] = address;
        } else if (i % OPCODES == ADD) {
            want[address] += address * runs;
        }
    }
    const std::vector<word> after = download(r.heap, HEAP_WORDS);
    for (word i = 0; i < HEAP_WORDS; i++) {
        if (after[i] != want[i]) {
            wrong("heap word", i, after[i], want[i]);
        }
    }
    CHECK(cudaFree(r.control));
    CHECK(cudaFree((void *)r.slots));
    CHECK(cudaFree(r.statuses));
    CHECK(cudaFree(r.results));
    CHECK(cudaFree((void *)r.schedule));
    CHECK(cudaFree(r.heap));
    CHECK(cudaFree((void *)pristine));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

int main() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int driver;
    CHECK(cudaDriverGetVersion(&driver));
    printf("{\"device\":\"%s\",\"cuda_driver\":%d}\n", device.name, driver);
    bench("4Mi", 4u << 20);
    bench("256Ki", 256u << 10);
    return 0;
}
