// The processor's description of itself: its name, the width of its vector registers, its clock. The values of one
// machine never change, so plans made twice are equal.
#pragma once

#include <filesystem>
#include <string>

namespace znni::cpu {

struct Processor {
  std::string model;     // "AMD EPYC"
  int simd_floats = 4;   // float32 lanes: 16 (AVX-512), 8 (AVX2 and FMA), else 4 (NEON)
  double hertz = 3.6e9;  // highest clock the system reports; the default is a usual one
  // Operations per cycle of one core; a fused multiply-add counts two. A core does two vectors a cycle, or one if it
  // splits 512 bits into halves.
  double flops_per_cycle = 16;
  double bf16_flops_per_cycle = 0;  // of AVX512_BF16: products of bf16, sums in float32; 0: it lacks that
};

// Values that differ between families of processors; each family has one source file.
struct VectorUnits {
  int floats = 4;
  double flops_per_cycle = 16;
  double bf16_flops_per_cycle = 0;
};
[[nodiscard]] VectorUnits read_vector_units(const std::filesystem::path& root = "/");

// Reads the processor itself, and /proc/cpuinfo and /sys/devices/system/cpu below `root`.
[[nodiscard]] Processor read_processor(const std::filesystem::path& root = "/");

// Returns "avx512", "avx2" or "simd4".
[[nodiscard]] std::string simd_name(int simd_floats);

}  // namespace znni::cpu
