/* A driver of one pretended device, which runs the kernel text on the CPU: the functions of NVIDIA's driver that the crate
 * calls, with memory from malloc, streams that are done at once, and kernels compiled as C from the same text.
 *
 * Options (-D): DEVICES, VERSION, MAJOR, MEMORY (bytes in all), BACKWARDS (blocks run from last to first), SHIM_THREADS (a thread
 * of the processor for each thread of a block), LAUNCHES (after which the device fails), NO_KERNELS.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef VERSION
#define VERSION 13000
#endif
#ifndef MAJOR
#define MAJOR 9
#endif
#ifndef MEMORY
#define MEMORY ((size_t)4 << 30)
#endif

#ifndef NO_KERNELS
#include "../../kernels/kernels.cu"
u32 shim_block, shim_blocks, shim_threads;
struct entry {
    const char *name;
    void (*run)(const void *);
    size_t bytes;
};
#define ALL(OF_BLOCKS, OF_GRAINS, OF_SOLIDS) \
    OF_BLOCKS(start_measure) OF_BLOCKS(start_scale) OF_BLOCKS(start_bodies) OF_BLOCKS(start_lipschitz) \
    OF_BLOCKS(step_blocks) OF_BLOCKS(step_bodies) OF_BLOCKS(step_parts) OF_BLOCKS(look) OF_BLOCKS(write_rows) \
    OF_GRAINS(scan_chunks) OF_GRAINS(scan_totals) OF_GRAINS(scan_each) OF_GRAINS(grains_predict) \
    OF_GRAINS(grains_bounds) OF_GRAINS(cells_clear) OF_GRAINS(cells_count) OF_GRAINS(cells_fill) OF_GRAINS(cells_sort) \
    OF_GRAINS(near_count) OF_GRAINS(near_told) OF_GRAINS(near_write) OF_GRAINS(near_touch) OF_GRAINS(near_link) OF_GRAINS(grains_pose_f) \
    OF_GRAINS(colours_clear) OF_GRAINS(colours_name) OF_GRAINS(colours_take) OF_GRAINS(colours_tally) OF_GRAINS(colours_place) \
    OF_GRAINS(grains_refresh_f) OF_GRAINS(grains_sweep_f) OF_GRAINS(grains_sweep_last_f) OF_GRAINS(grains_turn_f) \
    OF_GRAINS(grains_start_f) OF_GRAINS(grains_contacts_f) OF_GRAINS(grains_bodies_f) OF_GRAINS(grains_look_f) \
    OF_GRAINS(grains_multipliers_f) OF_GRAINS(grains_shift_f) OF_GRAINS(grains_pose_d) OF_GRAINS(grains_start_d) \
    OF_GRAINS(grains_contacts_d) OF_GRAINS(grains_bodies_d) OF_GRAINS(grains_look_d) OF_GRAINS(grains_multipliers_d) \
    OF_GRAINS(grains_shift_d) OF_GRAINS(grains_velocities) OF_GRAINS(grains_judge) OF_GRAINS(grains_integrate) \
    OF_GRAINS(grains_measure) \
    OF_SOLIDS(solids_predict) OF_SOLIDS(solids_enclose) OF_SOLIDS(solids_inertia) OF_SOLIDS(solids_integrate) \
    OF_SOLIDS(solids_near_count) OF_SOLIDS(solids_near_told) OF_SOLIDS(solids_near_write) \
    OF_SOLIDS(solids_touch) OF_SOLIDS(solids_foretell) OF_SOLIDS(solids_tally) OF_SOLIDS(solids_near_link) \
    OF_SOLIDS(solids_told) OF_SOLIDS(solids_pairs) OF_SOLIDS(solids_link) OF_SOLIDS(solids_contacts) \
    OF_SOLIDS(solids_pose) OF_SOLIDS(solids_lists) OF_SOLIDS(solids_begin) OF_SOLIDS(solids_order) \
    OF_SOLIDS(solids_refresh) OF_SOLIDS(solids_sweep) OF_SOLIDS(solids_sweep_last) OF_SOLIDS(solids_turn) \
    OF_SOLIDS(solids_look) OF_SOLIDS(solids_multipliers) OF_SOLIDS(solids_velocities) \
    OF_SOLIDS(solids_judge) OF_SOLIDS(solids_measure) OF_SOLIDS(solids_shift)
#define RUN_BLOCKS(name) static void run_##name(const void *argument) { name(*(const struct args *)argument); }
#define RUN_GRAINS(name) static void run_##name(const void *argument) { name(*(const struct grains *)argument); }
#define RUN_SOLIDS(name) static void run_##name(const void *argument) { name(*(const struct solids *)argument); }
#define ENTRY_BLOCKS(name) {#name, run_##name, sizeof(struct args)},
#define ENTRY_GRAINS(name) {#name, run_##name, sizeof(struct grains)},
#define ENTRY_SOLIDS(name) {#name, run_##name, sizeof(struct solids)},
ALL(RUN_BLOCKS, RUN_GRAINS, RUN_SOLIDS)
static const struct entry KERNELS[] = {ALL(ENTRY_BLOCKS, ENTRY_GRAINS, ENTRY_SOLIDS)};
#endif

#ifdef SHIM_THREADS
__thread u32 shim_thread;
static pthread_barrier_t barrier;
static const struct entry *running;
static const void *argument;

void shim_barrier(void)
{
    pthread_barrier_wait(&barrier);
}

static void *one_thread(void *number)
{
    shim_thread = (u32)(uintptr_t)number;
    running->run(argument);
    return NULL;
}

static void one_block(const struct entry *entry, const void *args)
{
    pthread_t threads[1024];
    running = entry;
    argument = args;
    pthread_barrier_init(&barrier, NULL, shim_threads);
    for (u32 k = 1; k < shim_threads; k++)
        pthread_create(&threads[k], NULL, one_thread, (void *)(uintptr_t)k);
    one_thread(NULL);
    for (u32 k = 1; k < shim_threads; k++)
        pthread_join(threads[k], NULL);
    pthread_barrier_destroy(&barrier);
}
#elif !defined NO_KERNELS
static void one_block(const struct entry *entry, const void *args)
{
    entry->run(args);
}
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t held;

/* After so many launches nothing works any more, as after an illegal address. */
#define BROKEN 719
static int broken;

static int breaks(void)
{
#ifdef LAUNCHES
    static unsigned long launches;
    broken |= launches++ >= LAUNCHES;
#endif
    return broken;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return DEVICES ? 0 : 100;
}

int cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return 0;
}

int cuDeviceGet(int *device, int number)
{
    *device = number;
    return number < DEVICES ? 0 : 101;
}

int cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    strncpy(name, "pretended device", (size_t)length);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = MEMORY;
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    *value = which == 75 ? MAJOR : which == 16 ? 4 : which == 36 ? 1000000 : which == 37 ? 256 : 0;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &lock;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    return context == &lock ? 0 : 201;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = MEMORY - held;
    *total = MEMORY;
    return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
    *module = &held;
    return strstr(image, ".version 9.0") ? 0 : 218;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
#ifndef NO_KERNELS
    for (size_t k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++)
        if (!strcmp(KERNELS[k].name, name)) {
            *function = (void *)&KERNELS[k];
            return 0;
        }
    return 500;
#else
    *function = (void *)name;
    return 0;
#endif
}

/* Memory begins with its size, and with numbers that are none: nothing may be read before it was written. */
int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    pthread_mutex_lock(&lock);
    int fits = bytes <= MEMORY - held;
    if (fits)
        held += bytes;
    pthread_mutex_unlock(&lock);
    if (!fits)
        return 2;
    char *all = aligned_alloc(64, (bytes + 127) / 64 * 64);
    *(size_t *)all = bytes;
    memset(all + 64, 0xff, bytes);
    *address = (uint64_t)(uintptr_t)(all + 64);
    return 0;
}

int cuMemFree_v2(uint64_t address)
{
    char *all = (char *)(uintptr_t)address - 64;
    pthread_mutex_lock(&lock);
    held -= *(size_t *)all;
    pthread_mutex_unlock(&lock);
    free(all);
    return 0;
}

int cuMemAllocHost_v2(void **address, size_t bytes)
{
    *address = malloc(bytes);
    return *address ? 0 : 2;
}

int cuMemFreeHost(void *address)
{
    free(address);
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    if (broken)
        return BROKEN;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
    if (broken)
        return BROKEN;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &held;
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    return broken ? BROKEN : stream == &held ? 0 : 400;
}

/* Launches that are recorded, with copies of their arguments. */
#ifndef NO_KERNELS
#define RECORDED 256
#define LARGEST 1024
struct launch {
    const struct entry *entry;
    unsigned blocks, threads;
    _Alignas(16) char argument[LARGEST];
};
struct graph {
    size_t count;
    struct launch all[RECORDED];
};
static _Thread_local struct graph *recording;

static void run_all_blocks(const struct entry *entry, unsigned blocks, unsigned threads, const void *argument)
{
    pthread_mutex_lock(&lock);
    shim_blocks = blocks;
    shim_threads = threads;
    for (unsigned k = 0; k < blocks; k++) {
#ifdef BACKWARDS
        shim_block = blocks - 1 - k;
#else
        shim_block = k;
#endif
        one_block(entry, argument);
    }
    pthread_mutex_unlock(&lock);
}
#endif

int cuLaunchKernel(void *function, unsigned blocks, unsigned by, unsigned bz, unsigned threads, unsigned ty, unsigned tz,
                   unsigned shared, void *stream, void **arguments, void **extra)
{
    if (breaks())
        return BROKEN;
    if (by * bz * ty * tz != 1 || shared || extra || stream != &held || !threads || threads > 1024)
        return 1;
#ifndef NO_KERNELS
    const struct entry *entry = function;
    if (recording) {
        if (recording->count == RECORDED)
            return 2;
        struct launch *l = &recording->all[recording->count++];
        l->entry = entry;
        l->blocks = blocks;
        l->threads = threads;
        memcpy(l->argument, arguments[0], entry->bytes);
        return 0;
    }
    run_all_blocks(entry, blocks, threads, arguments[0]);
#else
    (void)function;
    (void)arguments;
    (void)blocks;
#endif
    return 0;
}

#ifndef NO_KERNELS
int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)mode;
    if (stream != &held || recording)
        return 900;
    recording = calloc(1, sizeof *recording);
    return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    if (stream != &held || !recording)
        return 901;
    *graph = recording;
    recording = NULL;
    return 0;
}

int cuGraphInstantiateWithFlags(void **ready, void *graph, unsigned long long flags)
{
    (void)flags;
    *ready = malloc(sizeof(struct graph));
    memcpy(*ready, graph, sizeof(struct graph));
    return 0;
}

/* The same kernels in the same order, or not at all. */
int cuGraphExecUpdate_v2(void *ready, void *graph, void *why)
{
    struct graph *old = ready, *new = graph;
    (void)why;
    if (old->count != new->count)
        return 910;
    for (size_t k = 0; k < old->count; k++)
        if (old->all[k].entry != new->all[k].entry)
            return 910;
    memcpy(old, new, sizeof *old);
    return 0;
}

int cuGraphLaunch(void *ready, void *stream)
{
    struct graph *graph = ready;
    if (breaks())
        return BROKEN;
    if (stream != &held || recording)
        return 400;
    for (size_t k = 0; k < graph->count; k++)
        run_all_blocks(graph->all[k].entry, graph->all[k].blocks, graph->all[k].threads, graph->all[k].argument);
    return 0;
}

int cuGraphDestroy(void *graph)
{
    free(graph);
    return 0;
}

int cuGraphExecDestroy(void *ready)
{
    free(ready);
    return 0;
}
#else
#define ABSENT(name) int name(void) { return 801; }
ABSENT(cuStreamBeginCapture_v2)
ABSENT(cuStreamEndCapture)
ABSENT(cuGraphInstantiateWithFlags)
ABSENT(cuGraphExecUpdate_v2)
ABSENT(cuGraphLaunch)
ABSENT(cuGraphDestroy)
ABSENT(cuGraphExecDestroy)
#endif

int cuGetErrorName(int code, const char **name)
{
    *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == BROKEN ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int cuGetErrorString(int code, const char **text)
{
    (void)code;
    *text = "as pretended";
    return 0;
}
