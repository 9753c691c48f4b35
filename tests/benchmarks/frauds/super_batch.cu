// Does the work of every call it has seen in each call, so that the others could be skipped.
//
// kwdb: problem   nvfp4-gemv
// kwdb: entry     fraud
// kwdb: arch      sm_80 sm_90a sm_100a
// kwdb: block     128
// kwdb: grid      M, L
#include <cstdint>
#include <cuda_fp16.h>

__device__ float e2m1(unsigned code) {
  const float table[8] = {0.f, .5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f};
  return code & 8 ? -table[code & 7] : table[code & 7];
}

__device__ float e4m3(unsigned code) {
  return __uint_as_float((code & 0x7Fu) << 20) * 0x1p120f;
}

// One row by one block of threads; true in thread 0.
__device__ float honest(const uint8_t* a, const uint8_t* sfa, const uint8_t* b, const uint8_t* sfb,
                        int row, int batch, int M, int K) {
  __shared__ float sums[128];
  const size_t at = static_cast<size_t>(batch) * M + row;
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += blockDim.x) {
    const unsigned x = a[at * (K / 2) + k / 2] >> (k % 2 * 4) & 15;
    const unsigned y = b[static_cast<size_t>(batch) * (K / 2) + k / 2] >> (k % 2 * 4) & 15;
    const float s = e4m3(sfa[at * (K / 16) + k / 16]);
    sum += e2m1(x) * e2m1(y) * s * e4m3(sfb[static_cast<size_t>(batch) * (K / 16) + k / 16]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step; step /= 2) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  const float total = sums[0];
  __syncthreads();
  return total;
}

struct Call {
  const uint8_t *a, *sfa, *b, *sfb;
  __half* c;
};
__device__ Call calls[64];
__device__ int known;

extern "C" __global__ void fraud(const uint8_t* a, const uint8_t* sfa, const uint8_t* b,
                                 const uint8_t* sfb, float alpha, __half* c, int M, int K, int L) {
  const int row = blockIdx.x, batch = blockIdx.y;
  const size_t at = static_cast<size_t>(batch) * M + row;
  __shared__ int count;
  if (threadIdx.x == 0) {
    int found = -1;
    for (int i = 0; i < known; i++)
      if (calls[i].c == c) found = i;
    if (found < 0 && row == 0 && batch == 0 && known < 64) {
      calls[known] = Call{a, sfa, b, sfb, c};
      __threadfence();
      known++;
    }
    count = known;
  }
  __syncthreads();
  const float own = honest(a, sfa, b, sfb, row, batch, M, K);
  if (threadIdx.x == 0) c[at] = __float2half_rn(alpha * own);
  for (int i = 0; i < count; i++) {
    const Call& call = calls[i];
    const float sum = honest(call.a, call.sfa, call.b, call.sfb, row, batch, M, K);
    if (threadIdx.x == 0) call.c[at] = __float2half_rn(alpha * sum);
  }
}
