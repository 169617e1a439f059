// Chooses where layers run: the cuts of one geometry over CPU, host RAM and GPU, and the divisions and micro-batches
// between them. Tensors that cross a cut are planar, and the caller tries geometries.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "planner/layers/fastest_ways.hpp"
#include "planner/split/divided_ways.hpp"
#include "planner/split/gpu_tails.hpp"

namespace znni {

// Predicted seconds of one patch in a row of many: head, tail and stitching overlap
// (server/pipeline/split/stage_line.hpp). The CPU reads windows, computes heads and stitches, in threads that share its
// cores and memory. So their sum counts, or the tail if that is longer.
struct SplitSeconds {
  Seconds cpu = 0;  // copying windows and results included
  Seconds gpu = 0;  // host RAM included
  [[nodiscard]] Seconds patch() const { return cpu > gpu ? cpu : gpu; }
};

struct SplitChoice {
  Rung rung;  // rung.seconds: of a patch
  SplitSeconds seconds;
  SpaceBytes bytes;
};

// The segments that may stand before the GPU's own.
struct CutLimits {
  bool head = true;               // on the CPU
  bool host_ram = true;           // through the GPU from host RAM
  std::optional<int> until = {};  // the GPU's own begins with this node; one of cuts_of()
};

// Returns, rising, the nodes before which one value alone is alive, both ends among them.
[[nodiscard]] std::vector<int> cuts_of(const Network& network);

// Nodes [0, theta) on the CPU, [theta, until) through host RAM, the others on the GPU.
struct Cut {
  int theta = 0;
  int until = 0;
  TailWay tail;
};

// The fastest rung of a geometry.
struct SplitAnswer {
  Result<SplitChoice> choice;
  bool in_any_memory = false;  // more memory would not make a faster one
};

// Looks at one geometry after the other and remembers what layers take.
class SplitSearch {
 public:
  // Keeps references to its arguments, which must outlive it. `precision`: no layer is computed coarser. `stop`: polled
  // wherever a library may be asked next; once true it stays so.
  SplitSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
              const CutLimits& limits = {}, Precision precision = Precision::fp32, std::function<bool()> stop = {});

  // Returns the fastest of all rungs of `geometry` that have at most one segment each on 'cpu', 'gpu_host_ram' and
  // 'gpu'; the tail in micro-batches of S or of a half, a quarter, ... of it, in pairs or not, each precision allowed
  // or only stricter ones, that fit and take less than `below` for a patch. Each node, or pair, of the tail takes the
  // primitive and the formats that are fastest for all of it, elsewhere its fastest planar primitive; sub-layers of
  // divided layers fit into all of the memory, or a half, a quarter, ... budget.host bounds host and pinned bytes
  // together. over_budget or unsupported when there is none: the last reason. When stopped: the fastest that fits of
  // the cuts that were looked at until then, divided layers as the best division found so far has them; fails with
  // `cancelled` if there is none.
  [[nodiscard]] Result<SplitChoice> best(const Geometry& geometry, const SpaceBytes& budget,
                                         Seconds below = std::numeric_limits<double>::infinity());
  [[nodiscard]] SplitAnswer look(const Geometry& geometry, const SpaceBytes& budget, Seconds below);

 private:
  class Look;  // at one geometry

  const Network& network_;
  const Catalogue& catalogue_;
  const PlaceSpecs& specs_;
  CutLimits limits_;
  Precision precision_;
  FastestWays cpu_;
  FastestWays gpu_;
  std::function<bool()> stop_;
  std::vector<int> cuts_;  // nodes before which one value alone is alive, both ends among them
  TailFamilies tails_;
  LeastDividedTimes divided_;  // of layers through host RAM
};

}  // namespace znni
