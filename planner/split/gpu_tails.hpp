// The nodes behind a cut, on the GPU: their micro-batches, the primitive that computes each of them, or two at once,
// and the formats of their tensors.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/layers/fastest_ways.hpp"
#include "planner/layers/pipeline_bytes.hpp"
#include "planner/split/tail_families.hpp"

namespace znni {

// A way to compute the tail: `micro_batch` of the inputs at once, in pairs or not, and no coarser than a precision. In
// pairs a primitive computes a convolution and the pooling behind it at once: usually faster and in less memory, but
// not for sure. A coarser precision is never slower, but its reorders may take memory.
struct TailWay {
  std::int64_t micro_batch = 0;
  bool in_pairs = false;
  Precision precision = Precision::fp32;
  auto operator<=>(const TailWay&) const = default;
};

struct Tail {
  Seconds seconds = 0;  // of all passes, copies included
  std::vector<Step> steps;
  LayerBytes bytes;  // of the GPU
};

class GpuTails {
 public:
  // Searches the tails of one geometry. References must outlive it. A tail that takes no less than `below` does not
  // count, nor does a search that `stop` breaks off.
  GpuTails(const Network& network, const Geometry& geometry, const DeviceSpec& gpu, FastestWays& ways,
           TailFamilies& families, Precision coarsest, Seconds below, std::function<bool()> stop = {});

  // Returns the ways of a tail, strict ones first, and in pairs only if there are some. `until`: the first node behind
  // the cut.
  [[nodiscard]] std::vector<TailWay> ways(int until);
  // Returns the fewest bytes of the GPU's memory, however layers are computed, or if they take `layers` of it.
  [[nodiscard]] std::int64_t min_bytes(int until, const TailWay& way, const LayerBytes& layers = {});
  // Returns the fastest tail. The error says why there is none, or that it is slower.
  [[nodiscard]] const Result<Tail>& find(int until, const TailWay& way);

 private:
  using Absent = std::vector<bool>;  // per value: pairs leave it out
  [[nodiscard]] Result<Tail> make(int until, const TailWay& way);
  [[nodiscard]] Result<Geometry> part_geometry(int until, std::int64_t micro_batch);
  const Absent& absent_in_pairs(Precision precision);
  [[nodiscard]] Absent absent_from(int until, const TailWay& way);
  const MinBytes& min_of(int until, const TailWay& way);
  [[nodiscard]] const Shape5& value(int number) const { return geometry_.values[static_cast<std::size_t>(number)]; }

  const Network& network_;
  const Geometry& geometry_;
  const DeviceSpec& gpu_;
  FastestWays& fastest_;
  TailFamilies& families_;
  Precision coarsest_;
  Seconds below_;
  std::function<bool()> stop_;
  double passes_;
  std::array<Absent, precisions> absent_;              // empty until asked for
  std::map<std::pair<int, TailWay>, MinBytes> least_;  // of all micro-batches: of micro-batch 0
  std::map<std::pair<int, TailWay>, Result<Tail>> tails_;
};

}  // namespace znni
