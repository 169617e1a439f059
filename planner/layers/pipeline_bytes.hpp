// The bytes that a rung over several places takes, by memory space: exactly, and the least that any way to compute its
// layers takes.
#pragma once

#include <vector>

#include "planner/layers/divisions.hpp"
#include "planner/layers/format_search.hpp"
#include "planner/layers/segments.hpp"

namespace znni {

// The bytes of a segment that its pipeline's depend on.
struct SegmentBytes {
  Place place = Place::cpu;
  SpaceBytes own;                 // buffers in every space
  std::int64_t whole_input = 0;   // planar
  std::int64_t whole_tensor = 0;  // planar
};
[[nodiscard]] SegmentBytes segment_bytes(const SegmentDesign& segment);

// Returns the bytes that a rung takes when it is opened as a pipeline: memory of its segments, what crosses between
// them, slots. `output`: of the whole.
[[nodiscard]] SpaceBytes pipeline_bytes(const std::vector<SegmentBytes>& segments, const Shape5& output);
[[nodiscard]] SpaceBytes pipeline_bytes(const RungSegments& parts);

// Bytes of tensors alone, however layers are computed: pipeline_bytes() is never less. Nodes [0, theta) run on the CPU,
// [theta, until) through host RAM, the others on the GPU; theta is not the number of nodes.
class MinBytes {
 public:
  // Counts bytes of a geometry. `smallest`: of the formats that tensors on the GPU may have, the one of the fewest
  // bytes.
  explicit MinBytes(Geometry geometry, Format smallest = {});

  // Returns the host and pinned bytes, if the formats are planar.
  [[nodiscard]] SpaceBytes on_host(int theta, int until) const;
  // Returns bytes of the GPU's memory if nodes from `until` on run on it, `micro_batch` of the inputs at a time.
  // `absent`, per value: pairs leave it out, which the geometry knows of (with_pairs() of planner/plan/pairs.hpp); may
  // be empty. `layers`: what they take, where that is known.
  [[nodiscard]] std::int64_t on_device(int until, std::int64_t micro_batch, const std::vector<bool>& absent = {},
                                       const LayerBytes& layers = {}) const;
  // Returns the bytes that the readers of the values [first, last) keep between the steps of a stream.
  [[nodiscard]] std::int64_t kept(int first, int last) const;
  // Returns the bytes that the readers of one value keep of it in `format`.
  [[nodiscard]] std::int64_t history(int value, Format format) const;

 private:
  [[nodiscard]] int nodes() const { return static_cast<int>(geometry_.problems.size()); }
  [[nodiscard]] std::int64_t tensor(int value, std::int64_t micro_batch = 1, std::int64_t S = 1) const;

  Geometry geometry_;
  Format smallest_;
  std::vector<std::int64_t> kept_before_;  // per value: of all before it
};

}  // namespace znni
