// The best division of a convolution that runs through a GPU from host RAM, by model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/precision.hpp"
#include "primitives/hybrid/divided_conv.hpp"

namespace znni {

// Bytes by memory space: what there is, or what is taken.
struct SpaceBytes {
  std::int64_t host = 0;
  std::int64_t pinned = 0;
  std::int64_t device = 0;

  [[nodiscard]] bool covers(const SpaceBytes& use) const {
    return use.host <= host && use.pinned <= pinned && use.device <= device;
  }
  [[nodiscard]] SpaceBytes plus(const SpaceBytes& other) const;
  bool operator==(const SpaceBytes&) const = default;
};

// Transient and persistent bytes of a plan of memory, packed.
[[nodiscard]] SpaceBytes bytes_of(const MemoryPlan& memory);
// "host 1.00 GiB, pinned 2.00 MiB, device 3 B"
[[nodiscard]] std::string to_string(const SpaceBytes& bytes);

struct DividedOption {
  hybrid::DividedChoice choice;
  Estimate estimate;
  SpaceBytes use;  // the layer's own tensors, in host memory, aside
};

// Whether `inner` computes the whole or its smallest part. Others are not worth asking for every part between.
[[nodiscard]] bool takes_parts(const ConvProblem& conv, const Primitive& inner, const DeviceSpec& gpu);

// How parts may be computed.
struct PartRules {
  Precision precision = Precision::fp32;  // no coarser
  const Primitive* reorder = nullptr;     // parts from planar to other formats and back; nullptr: all is planar
};

// Adds the divisions into halves, quarters and so on of S, f_out and the slab and into even parts of f that take less
// than `below` and that no other of `good` betters in time, pinned and device memory at once; leaves out those that
// they better. Tensors are planar; parts are computed by `inner`, in every variant that it has for them and the rules
// allow, from planar to planar or, reordered, in another format throughout; it may refuse the whole. An error when
// there is none to add: the last reason.
[[nodiscard]] Result<void> add_good_divisions(const ConvProblem& conv, const Primitive& inner, const DeviceSpec& gpu,
                                              Seconds below, std::vector<DividedOption>& good,
                                              const PartRules& rules = {});

// Of equals those that were added first come first.
void put_fastest_first(std::vector<DividedOption>& good);

// The first of them whose pinned and device memory fit. over_budget when none does: names the least device memory that
// is needed.
[[nodiscard]] Result<DividedOption> best_division(const ConvProblem& conv, const std::vector<DividedOption>& good,
                                                  const SpaceBytes& budget);

}  // namespace znni
