// NVFP4 batched matrix-vector product for Hopper.
//
// c[l, m] = alpha * sum_k a[l, m, k] b[l, k], operands as described in benchmarks/gemv.py.
//
// Hopper has no FP4 unit and runs FP8 in mma.sync by converting to float16, but its integer tensor
// cores are native. Twice an E2M1 value is one of 0 1 2 3 4 6 8 12, so a product of two blocks is
// a quarter of an integer dot product, exact in int32:
//   * a byte permute looks up four magnitudes at once; where a code is negative it gives 0, and
//     with the signs flipped it gives the negative elements only. Both halves go through
//     mma.m16n8k32 (u8 times s8) into accumulators of their own and are subtracted afterwards.
//   * rows of the MMA are 16 rows of A. A lane loads 16 bytes, two whole blocks of its row, so
//     column n of the 8 is block n of 128 elements: the vector's operand is zero but in the lanes
//     that own the block. Each accumulator then holds one block's product, and the E4M3 scales
//     are applied in float32.
//   * accumulators start at the bits of 1.5 * 2^23, so that they are floats without conversion.
//   * x >> 16 is a dp2a with (0, 1), which the multiplier runs; byte permutes fill the other pipe.
// One block of threads per multiprocessor, for as many rows of one batch. A warp copies 16 rows by
// 512 elements ahead with cp.async (32-byte aligned rows: a row that splits a sector in shared
// memory costs a tenth of the bandwidth), while the vector is decoded once per block of threads.
// Where a tile has 8 rows or fewer, the other half of the MMA is left at zero.
//
// kwdb: problem   nvfp4-gemv
// kwdb: entry     nvfp4_gemv_sm90a
// kwdb: arch      sm_90a
// kwdb: block     640
// kwdb: grid      min(M, max(max(sms // L, 1), ceil(M, 256))), L
// kwdb: shared    112768 + ceil(K, 512) * (1568 + 4 * ceil(M, grid_x))
// kwdb: requires  K % 256 == 0
// kwdb: requires  K <= 16384
// kwdb: requires  L <= 65535
// kwdb: registers 102
// kwdb: sass      IMMA.16832.U8.S8 LDGSTS.E.BYPASS.128 PRMT IDP.2A
#include <cstdint>
#include <cuda_fp16.h>

namespace {

constexpr int kWarps = 20, kChunk = 512, kRows = 16;
constexpr int kPitch = kChunk / 2 + 64, kScalePitch = kChunk / 16;  // bytes of a row, padded
constexpr int kStage = kRows * (kPitch + kScalePitch);
constexpr int kBias = 0x4B400000;  // bits of 12582912.f
constexpr float kBiasValue = 12582912.f;

// The compiler may not know the value: constants that it knows are loaded again at each use.
__device__ __forceinline__ unsigned opaque(unsigned value) {
  unsigned copy;
  asm volatile("mov.b32 %0, %1;" : "=r"(copy) : "r"(value));
  return copy;
}

struct Tables {
  unsigned low, high, top;
};

__device__ __forceinline__ unsigned look_up(unsigned codes, const Tables& t) {
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(t.low), "r"(t.high), "r"(codes));
  return bytes;
}

__device__ __forceinline__ unsigned upper_half(unsigned word, const Tables& t) {
  unsigned half;
  asm("dp2a.lo.u32.u32 %0, %1, %2, 0;" : "=r"(half) : "r"(word), "r"(t.top));
  return half;
}

// Eight codes as two words of positive magnitudes and two of negative ones, each times 2.
struct Decoded {
  unsigned plus[2], minus[2];
};

__device__ __forceinline__ Decoded decode(unsigned codes, const Tables& t) {
  const unsigned flipped = codes ^ 0x88888888u;
  return {{look_up(codes, t), look_up(upper_half(codes, t), t)},
          {look_up(flipped, t), look_up(upper_half(flipped, t), t)}};
}

__device__ __forceinline__ float2 e4m3x2(unsigned short codes) {
  unsigned bits;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(bits) : "h"(codes));
  return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}

__device__ __forceinline__ void first_mma(int (&d)[4], const unsigned (&a)[4], unsigned b0,
                                          unsigned b1, int start) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(start));
}

__device__ __forceinline__ void mma(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void copy16(unsigned to, const uint8_t* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// A warp's unit of work: 16 rows by 512 elements; units are dealt to the warps in turn.
struct Unit {
  int tile, chunk;
  __device__ __forceinline__ void advance(int chunks) {
    tile += kWarps / chunks;
    chunk += kWarps % chunks;
    if (chunk >= chunks) chunk -= chunks, tile++;
  }
};

// Decodes the vector: 32 bytes per block of 16 elements, interleaved with zeros so that one 16-byte
// load is two B operands, and per pair of blocks (s0, s1, -bias s0, -bias s1).
__device__ __forceinline__ void decode_vector(const uint8_t* codes, const uint8_t* scales,
                                              uint4* vector, float* factors, int K, int padded,
                                              const Tables& t) {
  for (int i = threadIdx.x; i < padded / 16; i += kWarps * 32) {
    uint2 x = make_uint2(0, 0);
    float s = 0;
    if (i * 16 < K) {
      x = reinterpret_cast<const uint2*>(codes)[i];
      s = 0.25f * e4m3x2(scales[i]).x;
    }
    const Decoded u = decode(x.x, t), v = decode(x.y, t);
    const unsigned w0 = __vsub4(u.plus[0], u.minus[0]), w1 = __vsub4(u.plus[1], u.minus[1]);
    const unsigned w2 = __vsub4(v.plus[0], v.minus[0]), w3 = __vsub4(v.plus[1], v.minus[1]);
    const bool odd = i & 1;
    vector[2 * i] = odd ? make_uint4(0, w0, 0, w1) : make_uint4(w0, 0, w1, 0);
    vector[2 * i + 1] = odd ? make_uint4(0, w2, 0, w3) : make_uint4(w2, 0, w3, 0);
    float* f = factors + i / 2 * 4 + i % 2;
    f[0] = s, f[2] = -kBiasValue * s;
  }
}

// 16 rows by 128 elements: rows r and r + 8 of this lane, blocks 2q and 2q + 1 of the 8.
template <bool kBoth>
__device__ __forceinline__ void multiply(const uint8_t* a, const uint8_t* scales, const uint4* b,
                                         float4 factor, int bias, const Tables& t,
                                         float (&sum)[2]) {
  const uint4 x4 = *reinterpret_cast<const uint4*>(a);
  uint4 y4 = make_uint4(0, 0, 0, 0);
  if (kBoth) y4 = *reinterpret_cast<const uint4*>(a + 8 * kPitch);
  const unsigned x[4] = {x4.x, x4.y, x4.z, x4.w}, y[4] = {y4.x, y4.y, y4.z, y4.w};
  int plus[4], minus[4];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint4 v = b[h];
    const Decoded xa = decode(x[h], t), xb = decode(x[2 + h], t);
    const Decoded ya = kBoth ? decode(y[h], t) : Decoded{};
    const Decoded yb = kBoth ? decode(y[2 + h], t) : Decoded{};
    const unsigned p0[4] = {xa.plus[0], ya.plus[0], xb.plus[0], yb.plus[0]};
    const unsigned p1[4] = {xa.plus[1], ya.plus[1], xb.plus[1], yb.plus[1]};
    const unsigned m0[4] = {xa.minus[0], ya.minus[0], xb.minus[0], yb.minus[0]};
    const unsigned m1[4] = {xa.minus[1], ya.minus[1], xb.minus[1], yb.minus[1]};
    if (h == 0) {
      first_mma(plus, p0, v.x, v.y, bias);
      first_mma(minus, m0, v.x, v.y, 0);
    } else {
      mma(plus, p0, v.x, v.y);
      mma(minus, m0, v.x, v.y);
    }
    mma(plus, p1, v.z, v.w);
    mma(minus, m1, v.z, v.w);
  }
#pragma unroll
  for (int i = 0; i < (kBoth ? 2 : 1); i++) {
    const auto* codes = reinterpret_cast<const unsigned short*>(scales + i * 8 * kScalePitch);
    const float2 s = e4m3x2(*codes);
    const float left = __int_as_float(plus[2 * i] - minus[2 * i]);
    const float right = __int_as_float(plus[2 * i + 1] - minus[2 * i + 1]);
    sum[i] = fmaf(fmaf(left, factor.x, factor.z), s.x, sum[i]);
    sum[i] = fmaf(fmaf(right, factor.y, factor.w), s.y, sum[i]);
  }
}

// 16 rows by up to 512 elements; `step` is the distance of groups of 8 blocks in the vector, 0 for
// lanes that own none.
template <bool kBoth>
__device__ __forceinline__ void multiply_unit(const uint8_t* a, const uint8_t* scales,
                                              const uint8_t* b, int step, const float4* factor,
                                              int left, int bias, const Tables& t,
                                              float (&sum)[2]) {
#pragma unroll 1
  for (int k = 0; k < left; k += 256, a += 128, scales += 16, factor += 8, b += 2 * step) {
    const auto* b0 = reinterpret_cast<const uint4*>(b);
    const auto* b1 = reinterpret_cast<const uint4*>(b + step);
    multiply<kBoth>(a, scales, b0, factor[0], bias, t, sum);
    multiply<kBoth>(a + 64, scales + 8, b1, factor[4], bias, t, sum);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps * 32, 1)
    nvfp4_gemv_sm90a(const uint8_t* __restrict__ a, const uint8_t* __restrict__ sfa,
                     const uint8_t* __restrict__ b, const uint8_t* __restrict__ sfb, float alpha,
                     __half* __restrict__ c, int M, int K, int L) {
  extern __shared__ __align__(128) uint8_t shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
  const int row0 = static_cast<long long>(M) * blockIdx.x / gridDim.x;
  const int row1 = static_cast<long long>(M) * (blockIdx.x + 1) / gridDim.x, rows = row1 - row0;
  const int chunks = (K + kChunk - 1) / kChunk, padded = chunks * kChunk;
  const int tiles = (rows + kRows - 1) / kRows;

  uint8_t* stage = shared + warp * kStage;
  uint8_t* zeros = shared + kWarps * kStage;
  uint8_t* vector = zeros + 128;
  float* factors = reinterpret_cast<float*>(vector + padded * 2);
  uint8_t* codes = reinterpret_cast<uint8_t*>(factors + padded / 8);
  uint8_t* scales = codes + padded / 2;
  float* partial = reinterpret_cast<float*>(scales + padded / 16);  // [chunk][row]

  const uint8_t* vector_codes = b + static_cast<size_t>(blockIdx.y) * (K / 2);
  const uint8_t* vector_scales = sfb + static_cast<size_t>(blockIdx.y) * (K / 16);
  for (int i = threadIdx.x; i < K / 32; i += kWarps * 32)
    copy16(shared_address(codes + i * 16), vector_codes + i * 16);
  for (int i = threadIdx.x; i < K / 256; i += kWarps * 32)
    copy16(shared_address(scales + i * 16), vector_scales + i * 16);
  commit();

  // Copying: 16 lanes take a row of codes, 2 lanes one of scales.
  const size_t first = static_cast<size_t>(blockIdx.y) * M + row0;
  const int copy_row = lane / 16, copy_column = lane % 16;
  const int scale_row = lane / 2, scale_column = lane % 2;
  const uint8_t* from = a + (first + copy_row) * (K / 2) + copy_column * 16;
  const uint8_t* scales_from = sfa + (first + scale_row) * (K / 16) + scale_column * 16;
  const unsigned to = shared_address(stage) + copy_row * kPitch + copy_column * 16;
  const unsigned scales_to =
      shared_address(stage) + kRows * kPitch + scale_row * kScalePitch + scale_column * 16;
  const auto copy_unit = [&](const Unit& unit) {
    if (unit.tile < tiles) {
      const size_t row = unit.tile * kRows;
      const uint8_t* p = from + row * (K / 2) + unit.chunk * (kChunk / 2);
      const uint8_t* s = scales_from + row * (K / 16) + unit.chunk * (kChunk / 16);
      const int rows_left = rows - unit.tile * kRows, left = K - unit.chunk * kChunk;
      if (rows_left >= kRows && left >= kChunk) {
#pragma unroll
        for (int i = 0; i < kRows / 2; i++, p += K) copy16(to + i * 2 * kPitch, p);
        copy16(scales_to, s);
      } else {
#pragma unroll 1
        for (int i = 0; i < kRows / 2; i++, p += K)
          if (i * 2 + copy_row < rows_left && copy_column * 32 < left)
            copy16(to + i * 2 * kPitch, p);
        if (scale_row < rows_left && scale_column * 256 < left) copy16(scales_to, s);
      }
    }
    commit();
  };

  Unit next{warp / chunks, warp % chunks}, unit = next;
  copy_unit(next);
  next.advance(chunks);
  wait<1>();
  __syncthreads();
  const Tables tables{opaque(0x03020100u), opaque(0x0C080604u), opaque(0x0100u)};
  const int bias = static_cast<int>(opaque(kBias));
  if (threadIdx.x < 32) reinterpret_cast<unsigned*>(zeros)[threadIdx.x] = 0;
  decode_vector(codes, scales, reinterpret_cast<uint4*>(vector), factors, K, padded, tables);
  __syncthreads();

  const bool owns = r / 2 == q;  // block r of 8 lies in the bytes that lanes q of a row load
  const int step = owns ? 256 : 0;
  while (unit.tile < tiles) {
    wait<0>();
    __syncwarp();
    const uint8_t* x = stage + r * kPitch + q * 16;
    const uint8_t* s = stage + kRows * kPitch + r * kScalePitch + q * 2;
    const uint8_t* v = owns ? vector + (unit.chunk * (kChunk / 16) + r) * 32 : zeros;
    const auto* f = reinterpret_cast<const float4*>(factors) + unit.chunk * (kChunk / 32) + q;
    const int left = min(kChunk, K - unit.chunk * kChunk);
    float sum[2] = {0, 0};
    if (rows - unit.tile * kRows > 8)
      multiply_unit<true>(x, s, v, step, f, left, bias, tables, sum);
    else
      multiply_unit<false>(x, s, v, step, f, left, bias, tables, sum);
    __syncwarp();
    copy_unit(next);
    next.advance(chunks);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      sum[i] += __shfl_xor_sync(~0u, sum[i], 1);
      sum[i] += __shfl_xor_sync(~0u, sum[i], 2);
      const int row = unit.tile * kRows + i * 8 + r;
      if (q == 0 && row < rows) partial[unit.chunk * rows + row] = sum[i];
    }
    unit.advance(chunks);
  }
  __syncthreads();
  for (int row = threadIdx.x; row < rows; row += kWarps * 32) {
    float sum = 0;
#pragma unroll 8
    for (int chunk = 0; chunk < chunks; chunk++) sum += partial[chunk * rows + row];
    c[first + row] = __float2half_rn(alpha * sum);
  }
}
