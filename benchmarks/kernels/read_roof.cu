// Reads a buffer from end to end and keeps nothing: the read bandwidth that kernels are held to.
// p: n vectors of 16 bytes; out: one word that is written for no real data.
// Four independent loads per thread and step keep enough bytes in flight.
//
// kwdb: problem   roof
// kwdb: entry     read_roof
// kwdb: arch      sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a sm_120a
// kwdb: block     512
// kwdb: grid      sms * 16
#include <cstdint>

extern "C" __global__ void __launch_bounds__(512)
    read_roof(const uint4* __restrict__ p, unsigned long long n, unsigned* out) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned seen = 0;
  for (; i + 3 * stride < n; i += 4 * stride) {
    const uint4 a = __ldcs(p + i), b = __ldcs(p + i + stride);
    const uint4 c = __ldcs(p + i + 2 * stride), d = __ldcs(p + i + 3 * stride);
    seen ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    seen ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < n; i += stride) {
    const uint4 a = __ldcs(p + i);
    seen ^= a.x ^ a.y ^ a.z ^ a.w;
  }
  if (seen == 0x9E3779B9u) *out = seen;
}
