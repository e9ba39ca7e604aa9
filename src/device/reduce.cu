/* SPDX-License-Identifier: Apache-2.0 */
/* device/reduce.cu: the one kernel form: all inputs are read once, combined in the order of the schedule, and
 * the result is written to all outputs. One kernel for each datatype; scripts/make-ptx.sh makes the text in
 * device/ptx/ of it, which the driver compiles for whatever device it meets.
 *
 * The bits are those of execute/kernels.h: float16 and bfloat16 are combined in float32 and rounded after each
 * combination, to nearest, ties to even; any NaN gives the type's one quiet NaN; integers wrap around.
 *
 * Threads go over the vector in units of 16 bytes. Where all addresses have the same offset from a multiple of
 * 16, a unit that lies within one piece is loaded and stored whole; the others go element by element.
 *
 * Cost: each input is read once and each output written once, (inputs + outputs) * bytes of memory traffic. */
#include "reduce_params.h"

enum { SUM, PROD, MAX, MIN }; /* as in banyan_op */

/* ---- One pair of elements. */

template <typename T> struct integer {
    typedef T bits;
    static __device__ T combine(T a, T b, uint32_t op)
    {
        switch (op) {
        case SUM:
            return (T)(a + b);
        case PROD:
            return (T)(a * b);
        case MAX:
            return a > b ? a : b;
        default:
            return a < b ? a : b;
        }
    }
    static __device__ T divide(T a, uint32_t divisor) { return (T)(a / (T)divisor); }
};

/* Sums and products of signed integers wrap around, which is defined for unsigned ones. */
template <typename T, typename U> struct signed_integer {
    typedef T bits;
    static __device__ T combine(T a, T b, uint32_t op)
    {
        return op <= PROD ? (T)integer<U>::combine((U)a, (U)b, op) : integer<T>::combine(a, b, op);
    }
    static __device__ T divide(T a, uint32_t divisor) { return (T)(a / (T)divisor); }
};

/* The order of the bits is the order of the numbers once negative ones are turned upside down. */
template <typename B, typename S> static __device__ S order_key(B bits)
{
    B negative = (B)0 - (B)(bits >> (8 * sizeof(B) - 1));

    return (S)(B)(bits ^ (B)(negative >> 1));
}

struct float32 {
    typedef uint32_t bits;
    static __device__ uint32_t plain(float value)
    {
        return value == value ? __float_as_uint(value) : 0x7fc00000u;
    }
    static __device__ uint32_t combine(uint32_t a, uint32_t b, uint32_t op)
    {
        float x = __uint_as_float(a), y = __uint_as_float(b);

        if (op == SUM)
            return plain(__fadd_rn(x, y));
        if (op == PROD)
            return plain(__fmul_rn(x, y));
        if (x != x || y != y)
            return 0x7fc00000u;
        return (order_key<uint32_t, int>(a) > order_key<uint32_t, int>(b)) == (op == MAX) ? a : b;
    }
    static __device__ uint32_t divide(uint32_t a, uint32_t divisor)
    {
        return plain(__fdiv_rn(__uint_as_float(a), (float)divisor));
    }
};

struct float64 {
    typedef unsigned long long bits;
    static __device__ bits plain(double value)
    {
        return value == value ? (bits)__double_as_longlong(value) : 0x7ff8000000000000ull;
    }
    static __device__ bits combine(bits a, bits b, uint32_t op)
    {
        double x = __longlong_as_double((long long)a), y = __longlong_as_double((long long)b);

        if (op == SUM)
            return plain(__dadd_rn(x, y));
        if (op == PROD)
            return plain(__dmul_rn(x, y));
        if (x != x || y != y)
            return 0x7ff8000000000000ull;
        return (order_key<bits, long long>(a) > order_key<bits, long long>(b)) == (op == MAX) ? a : b;
    }
    static __device__ bits divide(bits a, uint32_t divisor)
    {
        return plain(__ddiv_rn(__longlong_as_double((long long)a), (double)divisor));
    }
};

struct float16_format {
    enum { INFINITY_BITS = 0x7c00, NAN_BITS = 0x7e00 };
    static __device__ float widen(unsigned short half)
    {
        float value;

        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
        return value;
    }
    static __device__ unsigned short narrow(float value)
    {
        unsigned short half;

        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
        return value == value ? half : (unsigned short)NAN_BITS;
    }
};

struct bfloat16_format {
    enum { INFINITY_BITS = 0x7f80, NAN_BITS = 0x7fc0 };
    static __device__ float widen(unsigned short half) { return __uint_as_float((uint32_t)half << 16); }
    static __device__ unsigned short narrow(float value)
    {
        uint32_t bits = __float_as_uint(value);

        return value == value ? (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)
                              : (unsigned short)NAN_BITS;
    }
};

template <typename F> struct narrow_float {
    typedef unsigned short bits;
    static __device__ unsigned short combine(unsigned short a, unsigned short b, uint32_t op)
    {
        if (op == SUM)
            return F::narrow(__fadd_rn(F::widen(a), F::widen(b)));
        if (op == PROD)
            return F::narrow(__fmul_rn(F::widen(a), F::widen(b)));
        if ((a & 0x7fff) > F::INFINITY_BITS || (b & 0x7fff) > F::INFINITY_BITS)
            return F::NAN_BITS;
        return (order_key<unsigned short, short>(a) > order_key<unsigned short, short>(b)) == (op == MAX) ? a
                                                                                                       : b;
    }
    static __device__ unsigned short divide(unsigned short a, uint32_t divisor)
    {
        return F::narrow(__fdiv_rn(F::widen(a), (float)divisor));
    }
};

/* ---- 16 bytes of them, or one. */

template <typename E> struct sixteen_bytes {
    enum { COUNT = 16 / sizeof(typename E::bits) };
    typedef uint4 memory;
    union value {
        uint4 whole;
        typename E::bits parts[COUNT];
    };
};

template <typename E> struct one_element {
    enum { COUNT = 1 };
    typedef typename E::bits memory;
    union value {
        typename E::bits whole;
        typename E::bits parts[1];
    };
};

template <typename E, typename W> struct machine {
    typedef typename W::value value;
    typedef typename W::memory memory;

    value stack[BANYAN_DEVICE_STACK];

    __device__ void push(const value &v)
    {
#pragma unroll
        for (int i = BANYAN_DEVICE_STACK - 1; i > 0; i--)
            stack[i] = stack[i - 1];
        stack[0] = v;
    }

    template <uint32_t OP> __device__ void combine_as()
    {
#pragma unroll
        for (int i = 0; i < W::COUNT; i++)
            stack[0].parts[i] = E::combine(stack[1].parts[i], stack[0].parts[i], OP);
    }

    __device__ void combine(uint32_t op)
    {
        switch (op) { /* the same for all threads */
        case SUM:
            combine_as<SUM>();
            break;
        case PROD:
            combine_as<PROD>();
            break;
        case MAX:
            combine_as<MAX>();
            break;
        default:
            combine_as<MIN>();
        }
#pragma unroll
        for (int i = 1; i < BANYAN_DEVICE_STACK - 1; i++)
            stack[i] = stack[i + 1];
    }

    /* Loads are issued AT_ONCE before the first one is needed. */
    template <int AT_ONCE>
    __device__ void run(const banyan_device_reduction &r, const banyan_device_piece &piece, uint64_t byte)
    {
        uint64_t combines = piece.combines;

        for (uint32_t first = 0; first < r.rank_count; first += AT_ONCE) {
            value loaded[AT_ONCE];

#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i < r.rank_count)
                    loaded[i].whole = __ldcs((const memory *)(r.inputs[piece.order[first + i]] + byte));
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i < r.rank_count) {
                    push(loaded[i]);
                    for (uint32_t left = (uint32_t)combines & 15u; left; left--)
                        combine(r.op);
                    combines >>= 4;
                }
        }
        if (r.divisor > 1) {
#pragma unroll
            for (int i = 0; i < W::COUNT; i++)
                stack[0].parts[i] = E::divide(stack[0].parts[i], r.divisor);
        }
        for (uint32_t i = 0; i < r.rank_count; i++)
            __stcs((memory *)(r.outputs[i] + byte), stack[0].whole);
    }
};

/* ---- The whole vector. */

static __device__ bool is_aligned_alike(const banyan_device_reduction &r)
{
    uint64_t offset = r.inputs[0] & 15u;

    for (uint32_t i = 0; i < r.rank_count; i++)
        if ((r.inputs[i] & 15u) != offset || (r.outputs[i] & 15u) != offset)
            return false;
    return true;
}

/* What the host has written is read anew in every launch. A read of the host's memory takes a microsecond or two, and
 * reads of many blocks follow one another: there are few, and they are wide. */
static __device__ void fetch(uint4 *into, const uint4 *from, uint32_t units)
{
    for (uint32_t i = threadIdx.x; i < units; i += blockDim.x)
        into[i] = __ldcv(from + i);
    __syncthreads();
}

template <typename E, int AT_ONCE>
static __device__ void reduce(const banyan_device_reduction *from, uint32_t units)
{
    __shared__ __align__(16) banyan_device_reduction r;
    const uint64_t width = sizeof(typename E::bits), unit = 16 / width;
    uint64_t begin, end, lead, first, step = (uint64_t)gridDim.x * blockDim.x;
    uint32_t piece = 0;
    bool is_alike;

    fetch((uint4 *)&r, (const uint4 *)from, units);
    if (!r.piece_count)
        return;
    begin = r.pieces[0].begin;
    end = r.pieces[r.piece_count - 1].end;
    is_alike = is_aligned_alike(r);
    /* Units begin where inputs[0] is a multiple of 16; the first one may begin before the vector. */
    lead = ((r.inputs[0] + begin * width) & 15u) / width;
    first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t u = first; u * unit < end - begin + lead; u += step) {
        uint64_t from_element = u * unit < lead ? begin : begin + u * unit - lead;
        uint64_t to_element = begin + (u + 1) * unit - lead;

        to_element = to_element < end ? to_element : end;
        while (r.pieces[piece].end <= from_element)
            piece++;
        if (is_alike && to_element - from_element == unit && to_element <= r.pieces[piece].end) {
            machine<E, sixteen_bytes<E>> m;

            m.template run<AT_ONCE>(r, r.pieces[piece], from_element * width);
            continue;
        }
        for (uint64_t e = from_element; e < to_element; e++) {
            machine<E, one_element<E>> m;

            while (r.pieces[piece].end <= e)
                piece++;
            m.template run<1>(r, r.pieces[piece], e * width);
        }
    }
}

/* units: of 16 bytes, how much of the reduction is used. */
#define KERNEL(name, element)                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                        \
        banyan_reduce_##name##_2(const banyan_device_reduction *from, uint32_t units)                        \
    {                                                                                                        \
        reduce<element, 2>(from, units);                                                                     \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(256)                                                        \
        banyan_reduce_##name##_4(const banyan_device_reduction *from, uint32_t units)                        \
    {                                                                                                        \
        reduce<element, 4>(from, units);                                                                     \
    }                                                                                                        \
    /* Before a kernel of many blocks: brings the reduction to the device. */                                \
    extern "C" __global__ void __launch_bounds__(256)                                                        \
        banyan_reduce_##name##_fetch(uint4 *into, const uint4 *from, uint32_t units)                         \
    {                                                                                                        \
        fetch(into, from, units);                                                                            \
    }

/* scripts/make-ptx.sh asks for one datatype at a time, so that a program compiles what it needs alone. */
#if defined(ONLY_INT8)
typedef signed_integer<signed char, unsigned char> int8;
KERNEL(int8, int8)
#elif defined(ONLY_UINT8)
KERNEL(uint8, integer<unsigned char>)
#elif defined(ONLY_INT32)
typedef signed_integer<int, unsigned> int32;
KERNEL(int32, int32)
#elif defined(ONLY_UINT32)
KERNEL(uint32, integer<unsigned>)
#elif defined(ONLY_INT64)
typedef signed_integer<long long, unsigned long long> int64;
KERNEL(int64, int64)
#elif defined(ONLY_UINT64)
KERNEL(uint64, integer<unsigned long long>)
#elif defined(ONLY_FLOAT16)
KERNEL(float16, narrow_float<float16_format>)
#elif defined(ONLY_FLOAT32)
KERNEL(float32, float32)
#elif defined(ONLY_FLOAT64)
KERNEL(float64, float64)
#elif defined(ONLY_BFLOAT16)
KERNEL(bfloat16, narrow_float<bfloat16_format>)
#endif
