/* A driver of one pretended device, which runs the kernel text on the CPU: the functions of NVIDIA's driver that the crate
 * calls, with memory from malloc, streams that are done at once, and kernels compiled as C from the same text.
 *
 * Options (-D): DEVICES, VERSION, MAJOR, MEMORY (bytes in all), BACKWARDS (blocks run from last to first), SHIM_THREADS (a thread
 * of the processor for each thread of a block), NO_KERNELS.
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
typedef void (*kernel)(struct args);
struct entry {
    const char *name;
    kernel run;
};
static const struct entry KERNELS[] = {
    {"start_measure", start_measure}, {"start_scale", start_scale}, {"start_bodies", start_bodies},
    {"start_lipschitz", start_lipschitz}, {"step_blocks", step_blocks}, {"step_bodies", step_bodies},
    {"step_parts", step_parts}, {"look", look}, {"write_rows", write_rows},
};
#endif

#ifdef SHIM_THREADS
__thread u32 shim_thread;
static pthread_barrier_t barrier;
static const struct entry *running;
static const struct args *argument;

void shim_barrier(void)
{
    pthread_barrier_wait(&barrier);
}

static void *one_thread(void *number)
{
    shim_thread = (u32)(uintptr_t)number;
    running->run(*argument);
    return NULL;
}

static void one_block(const struct entry *entry, const struct args *args)
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
static void one_block(const struct entry *entry, const struct args *args)
{
    entry->run(*args);
}
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t held;

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
    *value = which == 75 ? MAJOR : which == 16 ? 4 : 0;
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
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
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
    return stream == &held ? 0 : 400;
}

int cuLaunchKernel(void *function, unsigned blocks, unsigned by, unsigned bz, unsigned threads, unsigned ty, unsigned tz,
                   unsigned shared, void *stream, void **arguments, void **extra)
{
    if (by * bz * ty * tz != 1 || shared || extra || stream != &held || !threads || threads > 1024)
        return 1;
#ifndef NO_KERNELS
    pthread_mutex_lock(&lock);
    shim_blocks = blocks;
    shim_threads = threads;
    for (unsigned k = 0; k < blocks; k++) {
#ifdef BACKWARDS
        shim_block = blocks - 1 - k;
#else
        shim_block = k;
#endif
        one_block(function, arguments[0]);
    }
    pthread_mutex_unlock(&lock);
#else
    (void)function;
    (void)arguments;
    (void)blocks;
#endif
    return 0;
}

int cuGetErrorName(int code, const char **name)
{
    *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int cuGetErrorString(int code, const char **text)
{
    (void)code;
    *text = "as pretended";
    return 0;
}
