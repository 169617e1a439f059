// A convolution whose input and output lie in host memory, computed in sub-layers by a primitive of a GPU (ZNNi section
// VII.A). Three streams: while one part is computed, the next is uploaded and the one before downloaded, two buffers of
// each. Partial sums over parts of the input images stay on the GPU, and so do all kernels (the paper sends those of a
// sub-layer along with it).
#pragma once

#include <functional>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/hybrid/sublayers.hpp"

namespace znni::hybrid {

// Which primitive computes the parts, and how they travel.
struct DividedChoice {
  const Primitive* inner = nullptr;
  Variant variant;  // of the inner primitive
  Format in;        // that it reads, and writes
  Format out;
  Division division;
  // Tensors lie in plain host memory, and the accelerator's host threads copy parts to and from pinned buffers; else
  // they lie in pinned memory and parts are copied from and to where they are.
  bool staged = true;
  // Tensors in host memory, and parts as they travel, are planar, and this one reorders parts on the GPU; nullptr: all
  // is in the formats above.
  const Primitive* reorder = nullptr;

  [[nodiscard]] Format host_in() const { return reorder == nullptr ? in : Format{}; }
  [[nodiscard]] Format host_out() const { return reorder == nullptr ? out : Format{}; }
};

// Seconds of one sum, over its parts of f, and of moving one part.
struct PartSeconds {
  Seconds compute = 0;
  Seconds upload = 0;    // of input, for each upload
  Seconds residual = 0;  // upload for each sum
  Seconds download = 0;
  Seconds stage_in = 0;   // by the host, for each upload
  Seconds stage_out = 0;  // for each sum, its residual counted in
  Seconds duplex = 0;     // of all copies of the layer, at the rate that both directions share
};

// What all parts take together, and the layer: the longest of the four, and what it cannot overlap, the first part's
// way in and the last one's out (ZNNi gives the sum of the parts; here the three streams overlap).
struct DividedSeconds {
  Seconds compute = 0;
  Seconds upload = 0;
  Seconds download = 0;
  Seconds staging = 0;
  Seconds total = 0;
};
[[nodiscard]] DividedSeconds divided_seconds(const SubLayers& parts, const PartSeconds& part);

// Estimates of the first, the middle and the last sub-layer of a sum, as far as they differ.
struct InnerEstimates {
  std::vector<Estimate> of;         // by the inner primitive
  std::vector<Estimate> reordered;  // the same with the reorders around it; empty where there are none

  [[nodiscard]] const std::vector<Estimate>& parts() const { return reordered.empty() ? of : reordered; }
  // Which of them is of this number within its sum.
  [[nodiscard]] std::size_t index(const SubLayers& parts, std::int64_t sum_step) const {
    if (sum_step == 0) return 0;
    return sum_step == parts.terms - 1 ? of.size() - 1 : 1;
  }
};
// What the inner primitive says of a part, for callers that keep the answers: many choices have parts in common.
using DescribePart = std::function<const Result<std::vector<Estimate>>&(const ConvProblem& part)>;
[[nodiscard]] Result<InnerEstimates> inner_estimates(const SubLayers& parts, const DividedChoice& choice,
                                                     const DeviceSpec& spec, const DescribePart& describe = {});

// Time and memory over host, pinned and device. Its variant is the inner primitive's. `unsupported` for formats that
// cannot be cut as asked, and for sums over parts of f that would be rounded to bf16 each; what the inner primitive
// refuses of a part, with its reason.
[[nodiscard]] Result<Estimate> describe_divided(const ConvProblem& conv, const DividedChoice& choice,
                                                const DeviceSpec& spec);
// The same in two steps, for callers that want no more of slow ones than their time.
[[nodiscard]] Seconds divided_time(const SubLayers& parts, const InnerEstimates& inner, const DividedChoice& choice,
                                   const DeviceSpec& spec);
// Not more than that of any choice whose tensors are planar and whose parts are staged, where the parts of each sum
// take `compute` seconds or longer.
[[nodiscard]] Seconds least_divided_time(const SubLayers& parts, Seconds compute, const DeviceSpec& spec);
[[nodiscard]] Estimate divided_estimate(const SubLayers& parts, const InnerEstimates& inner,
                                        const DividedChoice& choice, const DeviceSpec& spec);

// Buffers of the estimate, for those who build the layer.
inline constexpr std::string_view kernel_parts = "kernel parts";  // host, persistent: gathered where f is divided
[[nodiscard]] std::string part_prefix(std::int64_t output, std::int64_t term);  // "part 2.0/": of inner persistent ones
// Slots of a kind of part: two, or one where there is one part alone.
[[nodiscard]] constexpr std::int64_t slots(std::int64_t parts) { return parts > 1 ? 2 : 1; }
// Slots of partial sums: a sum of two parts leaves one.
[[nodiscard]] constexpr std::int64_t partial_slots(const SubLayers& parts) {
  return parts.terms > 2 ? 2 : parts.terms - 1;
}
// Bytes from one slot to the next.
[[nodiscard]] std::int64_t slot_bytes(const Shape5& shape, Format format);
// One part's kernels.
[[nodiscard]] std::int64_t part_kernel_floats(const SubLayers& parts);

}  // namespace znni::hybrid
