// NVFP4 batched matrix-vector product for Blackwell data-centre GPUs; not yet run on one.
//
// c[l, m] = alpha * sum_k a[l, m, k] b[l, k], operands as described in benchmarks/gemv.py.
// Four warps share a row; a lane takes 32 bytes, which is 64 elements or 4 blocks, in one 256-bit
// load that stays out of L1 and leaves L2 first, since the matrix is read once. Pairs of E2M1 are
// turned into pairs of float16 by cvt.rn.f16x2.e2m1x2; half a block's products are multiples of
// 1/4 below 2^9, so their float16 sum is exact. Scales are applied in float32.
// Where the instructions do not exist, twins made of older ones stand in, so that the same code
// is proven on the GPUs at hand.
// Idea of the conversion, the wide loads and the cache hints: write-ups of the GPU MODE hackathon.
//
// kwdb: problem   nvfp4-gemv
// kwdb: entry     nvfp4_gemv_sm100a
// kwdb: arch      sm_100a sm_103a sm_90a
// kwdb: block     128
// kwdb: grid      M, L
// kwdb: requires  K % 64 == 0
// kwdb: requires  L <= 65535
// kwdb: registers 80
// kwdb: sass      sm_100a:F2FP.F16.E2M1 sm_103a:F2FP.F16.E2M1 sm_100a:.256 HFMA2
#include <cstdint>
#include <cuda_fp16.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define HAS_E2M1 1
#else
#define HAS_E2M1 0
#endif

struct Word {
  __half2 pairs[4];
};

__device__ __forceinline__ __half2 as_half2(unsigned bits) {
  return *reinterpret_cast<const __half2*>(&bits);
}

// Eight codes to eight float16 values.
__device__ __forceinline__ Word decode(unsigned codes) {
  Word word;
#if HAS_E2M1
  unsigned h0, h1, h2, h3;
  asm("{\n.reg .b8 b0, b1, b2, b3;\n"
      "mov.b32 {b0, b1, b2, b3}, %4;\n"
      "cvt.rn.f16x2.e2m1x2 %0, b0;\n"
      "cvt.rn.f16x2.e2m1x2 %1, b1;\n"
      "cvt.rn.f16x2.e2m1x2 %2, b2;\n"
      "cvt.rn.f16x2.e2m1x2 %3, b3;\n}"
      : "=r"(h0), "=r"(h1), "=r"(h2), "=r"(h3)
      : "r"(codes));
  word.pairs[0] = as_half2(h0), word.pairs[1] = as_half2(h1);
  word.pairs[2] = as_half2(h2), word.pairs[3] = as_half2(h3);
#else
  // Exponent and mantissa of E2M1 moved to those of float16 are the value times 2^-14.
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned byte = codes >> (8 * i) & 0xFFu, both = (byte & 0xFu) | (byte & 0xF0u) << 12;
    const unsigned bits = (both & 0x00080008u) << 12 | (both & 0x00070007u) << 9;
    word.pairs[i] = __hmul2(as_half2(bits), __float2half2_rn(16384.f));
  }
#endif
  return word;
}

struct Line {
  unsigned words[8];
};

// 32 bytes that are read once.
__device__ __forceinline__ Line stream(const uint8_t* p) {
  Line line;
#if HAS_E2M1
  unsigned long long q0, q1, q2, q3;
  asm("ld.global.nc.L1::no_allocate.L2::evict_first.v4.u64 {%0, %1, %2, %3}, [%4];"
      : "=l"(q0), "=l"(q1), "=l"(q2), "=l"(q3)
      : "l"(p));
  const unsigned long long all[4] = {q0, q1, q2, q3};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    line.words[2 * i] = static_cast<unsigned>(all[i]);
    line.words[2 * i + 1] = static_cast<unsigned>(all[i] >> 32);
  }
#else
  const uint4 x = __ldcs(reinterpret_cast<const uint4*>(p));
  const uint4 y = __ldcs(reinterpret_cast<const uint4*>(p) + 1);
  line = Line{{x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w}};
#endif
  return line;
}

__device__ __forceinline__ float2 e4m3x2(unsigned codes) {
  unsigned bits;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(bits) : "h"(static_cast<unsigned short>(codes)));
  return __half22float2(as_half2(bits));
}

// The product of two blocks of 16, exact.
__device__ __forceinline__ float block_dot(const unsigned* x, const unsigned* y) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const Word p = decode(x[i]), q = decode(y[i]);
    __half2 dot = __hmul2(p.pairs[0], q.pairs[0]);
#pragma unroll
    for (int j = 1; j < 4; j++) dot = __hfma2(p.pairs[j], q.pairs[j], dot);
    const float2 halves = __half22float2(dot);
    sum += halves.x + halves.y;
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(128)
    nvfp4_gemv_sm100a(const uint8_t* __restrict__ a, const uint8_t* __restrict__ sfa,
                      const uint8_t* __restrict__ b, const uint8_t* __restrict__ sfb, float alpha,
                      __half* __restrict__ c, int M, int K, int L) {
  __shared__ float parts[4];
  const size_t batch = blockIdx.y, at = batch * M + blockIdx.x;
  const uint8_t *x = a + at * (K / 2), *y = b + batch * (K / 2);
  const unsigned* sx = reinterpret_cast<const unsigned*>(sfa + at * (K / 16));
  const unsigned* sy = reinterpret_cast<const unsigned*>(sfb + batch * (K / 16));
  float sum = 0;
#pragma unroll 2
  for (int i = threadIdx.x; i < K / 64; i += 128) {
    const Line p = stream(x + i * 32);
    const uint4 q0 = __ldg(reinterpret_cast<const uint4*>(y + i * 32));
    const uint4 q1 = __ldg(reinterpret_cast<const uint4*>(y + i * 32) + 1);
    const unsigned q[8] = {q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z, q1.w};
    const unsigned s = __ldcs(sx + i), t = __ldg(sy + i);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float2 u = e4m3x2(s >> (16 * half)), v = e4m3x2(t >> (16 * half));
      sum = fmaf(block_dot(p.words + 4 * half, q + 4 * half), u.x * v.x, sum);
      sum = fmaf(block_dot(p.words + 4 * half + 2, q + 4 * half + 2), u.y * v.y, sum);
    }
  }
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  const float total = parts[0] + parts[1] + parts[2] + parts[3];
  if (threadIdx.x == 0) c[at] = __float2half_rn(alpha * total);
}
