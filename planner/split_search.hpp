// Which layers run where: the cuts of one geometry over CPU, host RAM and GPU, and the divisions and groups between
// them, by model. Just enough to choose; formats are planar, and geometries are the caller's to try.
#pragma once

#include "planner/divisions.hpp"
#include "planner/segments.hpp"

namespace znni {

// Bytes a rung takes when it is opened as a pipeline: memory of its segments, what crosses between them, slots.
[[nodiscard]] SpaceBytes pipeline_bytes(const RungSegments& parts);

// Predicted seconds of one patch in a row of many: head and tail overlap, so the longer of the two counts.
struct SplitSeconds {
  Seconds cpu = 0;
  Seconds gpu = 0;  // host RAM included
  [[nodiscard]] Seconds patch() const { return cpu > gpu ? cpu : gpu; }
};
[[nodiscard]] SplitSeconds split_seconds(const RungSegments& parts, const PlaceSpecs& specs);

struct SplitChoice {
  Rung rung;
  SplitSeconds seconds;
  SpaceBytes bytes;
};

// Which segments may stand before the GPU's own.
struct CutLimits {
  bool head = true;      // on the CPU
  bool host_ram = true;  // through the GPU from host RAM
};

// The fastest of all rungs of `choice` that have at most one segment each on 'cpu', 'gpu_host_ram' and 'gpu', the tail
// in groups of S or of a half, a quarter, ... of it, and that fit. Each node takes its fastest planar primitive.
// over_budget or unsupported when there is none: the last reason.
[[nodiscard]] Result<SplitChoice> choose_split(const Network& network, const GeometryChoice& choice,
                                               const Catalogue& catalogue, const PlaceSpecs& specs,
                                               const SpaceBytes& budget, const CutLimits& limits = {});

}  // namespace znni
