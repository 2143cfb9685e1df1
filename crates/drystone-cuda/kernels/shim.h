/* What the kernels need of the machine, for CUDA and for plain C.
 *
 * The kernels are written in the part of C that CUDA C++ shares, with the macros below in place of everything that differs.
 * Compiled as C, blocks run one after the other, and so do the threads of a block between two barriers: LANES is then a loop
 * over all of them. Nothing may therefore live in a local variable from one LANES to the next. With SHIM_THREADS the threads of
 * a block are threads of the processor, and barriers are barriers: slow, but a barrier that is missing is then seen.
 *
 * Sums have a shape of their own: a chunk has CHUNK items whatever the number of threads, and chunks are added up in a tree of
 * fixed shape. No result depends on the launch geometry. Nothing is contracted to a fused multiply-add: the kernels are
 * compiled with -fmad=false, and with -ffp-contract=off as C. Division and square root are correctly rounded in both.
 */

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __CUDACC__

#define KERNEL extern "C" __global__ void
/* Kernels that wait for memory most of the time: at least so many blocks of threads a multiprocessor, of 256 threads at most. */
#define KERNEL_BESIDE(blocks) extern "C" __global__ void __launch_bounds__(256, blocks)
/* Kernels of one block of at most 1024 threads. */
#define KERNEL_OF_ONE extern "C" __global__ void __launch_bounds__(1024)
#define INLINE static __device__ __forceinline__
/* A function that is called, not put in place: it is large. */
#define CALLED static __device__ __noinline__
#define SHARED __shared__
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define LANES(i, count) for (u32 i = threadIdx.x; i < (count); i += blockDim.x)
#define LEADER if (threadIdx.x == 0)
#define BARRIER __syncthreads()
#define WARP 32u
#define FIRST_WARP if (threadIdx.x < WARP)
#define WARP_BARRIER __syncwarp()
#define FENCE __threadfence()
#define TICKET(counter) atomicAdd((counter), 1u)
#define LESS(counter) atomicAdd((counter), 0xffffffffu)
#define ROLLED _Pragma("unroll 1")
#define BY_FOUR _Pragma("unroll 4")

#else

#include <math.h>
extern u32 shim_block, shim_blocks, shim_threads;
#define KERNEL void
#define KERNEL_BESIDE(blocks) void
#define KERNEL_OF_ONE void
#define INLINE static inline
#define CALLED static
#define SHARED static
#define BLOCK shim_block
#define BLOCKS shim_blocks
#define WARP 32u
#define FIRST_WARP
#define ROLLED
#define BY_FOUR
#define FENCE

#ifdef SHIM_THREADS
extern __thread u32 shim_thread;
void shim_barrier(void);
#define TICKET(counter) __sync_fetch_and_add((counter), 1u)
#define LESS(counter) __sync_fetch_and_sub((counter), 1u)
#define LANES(i, count) for (u32 i = shim_thread; i < (count); i += shim_threads)
#define LEADER if (shim_thread == 0)
#define BARRIER shim_barrier()
#define WARP_BARRIER shim_barrier()
#else
#define LANES(i, count)                                                                                                \
    for (u32 lane_ = 0; lane_ < shim_threads; lane_++)                                                                 \
        for (u32 i = lane_; i < (count); i += shim_threads)
#define TICKET(counter) ((*(counter))++)
#define LESS(counter) ((*(counter))--)
#define LEADER
#define BARRIER
#define WARP_BARRIER
#endif

#endif

/* Four numbers that lie together, 32 bytes aligned. */
typedef struct {
    double x, y, z, w;
} v4;

typedef struct {
    double x, y, z;
} v3;

INLINE v4 load4(const double *p)
{
    v4 out;
#ifdef __CUDACC__
    double2 low = ((const double2 *)p)[0], high = ((const double2 *)p)[1];
    out.x = low.x;
    out.y = low.y;
    out.z = high.x;
    out.w = high.y;
#else
    out.x = p[0];
    out.y = p[1];
    out.z = p[2];
    out.w = p[3];
#endif
    return out;
}

INLINE void store4(double *p, v3 a, double w)
{
#ifdef __CUDACC__
    ((double2 *)p)[0] = make_double2(a.x, a.y);
    ((double2 *)p)[1] = make_double2(a.z, w);
#else
    p[0] = a.x;
    p[1] = a.y;
    p[2] = a.z;
    p[3] = w;
#endif
}

INLINE v3 vec(double x, double y, double z)
{
    v3 out;
    out.x = x;
    out.y = y;
    out.z = z;
    return out;
}

INLINE v3 xyz(v4 a)
{
    return vec(a.x, a.y, a.z);
}

INLINE v3 plus(v3 a, v3 b)
{
    return vec(a.x + b.x, a.y + b.y, a.z + b.z);
}

INLINE v3 minus(v3 a, v3 b)
{
    return vec(a.x - b.x, a.y - b.y, a.z - b.z);
}

INLINE v3 times(double s, v3 a)
{
    return vec(s * a.x, s * a.y, s * a.z);
}

INLINE double dot(v3 a, v3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

INLINE v3 cross(v3 a, v3 b)
{
    return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* The larger of two numbers; b where they cannot be compared. */
INLINE double larger(double a, double b)
{
    return b <= a ? a : b;
}

INLINE double absolute(double a)
{
    return a < 0.0 ? -a : a;
}

INLINE int is_finite(double a)
{
    return a - a == 0.0;
}
