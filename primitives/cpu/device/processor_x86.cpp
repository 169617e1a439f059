#include <cstdlib>
#include <fstream>
#include <string>

#include "primitives/cpu/device/processor.hpp"

namespace znni::cpu {
namespace {

namespace fs = std::filesystem;

// Returns the family of a processor of AMD: 25 is Zen 4, 26 is Zen 5. Returns 0 for others.
int amd_family(const fs::path& root) {
  std::ifstream stream(root / "proc/cpuinfo");
  bool amd = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("vendor_id")) amd = line.ends_with("AuthenticAMD");
    if (line.starts_with("cpu family")) return amd ? std::atoi(line.c_str() + line.find(':') + 1) : 0;
  }
  return 0;
}

// Returns true if the processor has all extensions that code built for x86-64-v4 may use.
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

int read_simd_floats() {
  if (has_avx512()) return 16;
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 ? 8 : 4;
}

// Returns the rate of AVX512_BF16 as a multiple of that of float32; 0 without it. One instruction multiplies twice as
// many numbers. Zen 5 starts as many of them as in float32. Processors of Intel start half as many; so do all others
// here, until one is measured.
double bf16_rate(int family) {
  if (!has_avx512() || __builtin_cpu_supports("avx512bf16") == 0) return 0.0;
  return family >= 26 ? 2.0 : 1.0;
}

}  // namespace

VectorUnits read_vector_units(const fs::path& root) {
  const int floats = read_simd_floats();
  const int family = amd_family(root);
  const bool halved = floats == 16 && family == 25;  // Zen 4 executes AVX-512 in two halves
  const double flops = (halved ? 2.0 : 4.0) * floats;
  return {floats, flops, flops * bf16_rate(family)};
}

}  // namespace znni::cpu
