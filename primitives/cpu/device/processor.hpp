// What the processor says of itself: its name, the width of its vector registers, its clock. Values of one
// machine never change, so that plans made twice are equal.
#pragma once

#include <filesystem>
#include <string>

namespace znni::cpu {

struct Processor {
  std::string model;     // "AMD EPYC"
  int simd_floats = 4;   // float32 lanes: 16 (AVX-512), 8 (AVX2 and FMA), else 4 (NEON)
  double hertz = 3.6e9;  // highest clock the system reports; the default is a usual one
  // Of one core, a fused multiply-add counting two: two vectors a cycle, or one where 512 bits are done in two halves.
  double flops_per_cycle = 16;
};

// What differs between families of processors: one source for each.
struct VectorUnits {
  int floats = 4;
  double flops_per_cycle = 16;
};
[[nodiscard]] VectorUnits read_vector_units(const std::filesystem::path& root = "/");

// From the processor itself and from /proc/cpuinfo and /sys/devices/system/cpu below `root`.
[[nodiscard]] Processor read_processor(const std::filesystem::path& root = "/");

// "avx512", "avx2" or "simd4".
[[nodiscard]] std::string simd_name(int simd_floats);

}  // namespace znni::cpu
