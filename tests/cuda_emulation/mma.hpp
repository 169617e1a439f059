// A matrix unit of an emulated GPU: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, written after PTX ISA, "Matrix
// Fragments for mma.m16n8k8", and no code of the project. PTX leaves roundings open; here they are the worst that are
// known of real units (Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021): of the nine numbers that are
// added up, all bits below the last one of the largest are cut off.
#pragma once

#include <array>

namespace znni::cuda_emulation {

inline constexpr int lanes_of_warp = 32;

// Registers of a lane: four of A, two of B, four of C, which D replaces.
struct MmaRegisters {
  const float* a = nullptr;
  const float* b = nullptr;
  float* d = nullptr;
};

// Computes D = A B + C. Factors that have more bits than TF32 make NaNs: PTX does not say what becomes of them.
void mma_m16n8k8(const std::array<MmaRegisters, lanes_of_warp>& warp);

}  // namespace znni::cuda_emulation
