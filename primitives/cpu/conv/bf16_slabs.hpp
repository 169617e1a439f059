// Cuts a convolution into slabs that one worker rounds to bf16, computes and copies out, all within its cache.
#pragma once

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {

// Equal slabs of the output, as wide as it along x. The last one along an axis overlaps the one before.
struct Bf16Slabs {
  ConvProblem slab;  // of one slab: a single input, cut to what the slab reads
  Vec3 pieces;       // numbers of slabs along the axes

  [[nodiscard]] std::int64_t rounded_bytes() const;  // of a slab's input, in bf16
  [[nodiscard]] std::int64_t output_bytes() const;   // of its output, in float32
};

// Returns the slabs with the least modelled time.
[[nodiscard]] Bf16Slabs choose_slabs(const ConvProblem& problem, const DeviceSpec& spec);

// Returns the modelled time of the whole layer.
[[nodiscard]] Seconds seconds_in(const Bf16Slabs& slabs, const ConvProblem& problem, const DeviceSpec& spec);

}  // namespace znni::cpu
