// Which layers run where: the cuts of one geometry over CPU, host RAM and GPU, and the divisions and groups between
// them. Formats are planar, and geometries are the caller's to try.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "planner/fastest_ways.hpp"
#include "planner/pipeline_bytes.hpp"

namespace znni {

// Predicted seconds of one patch in a row of many: head and tail overlap, so the longer of the two counts.
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

// Which segments may stand before the GPU's own.
struct CutLimits {
  bool head = true;      // on the CPU
  bool host_ram = true;  // through the GPU from host RAM
};

// How the nodes behind a cut run on the GPU: so many of its inputs at once; convolutions and the poolings behind them
// at once where a primitive computes both: mostly faster, always in less memory, but not for sure.
struct TailWay {
  std::int64_t group = 0;
  bool in_pairs = false;
  auto operator<=>(const TailWay&) const = default;
};

// Nodes [0, theta) on the CPU, [theta, until) through host RAM, the others on the GPU.
struct Cut {
  int theta = 0;
  int until = 0;
  TailWay tail;
};

// Looks at one geometry after the other and remembers what layers take.
class SplitSearch {
 public:
  // References must outlive it.
  SplitSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
              const CutLimits& limits = {});

  // The fastest of all rungs of `geometry` that have at most one segment each on 'cpu', 'gpu_host_ram' and 'gpu', the
  // tail in groups of S or of a half, a quarter, ... of it, in pairs or not, that fit and take less than `below` for a
  // patch. Each node, or pair, takes its fastest planar primitive; parts of divided layers fit into all of the memory,
  // or a half, a quarter, ... budget.host bounds host and pinned bytes together. over_budget or unsupported when there
  // is none: the last reason.
  [[nodiscard]] Result<SplitChoice> best(const Geometry& geometry, const SpaceBytes& budget,
                                         Seconds below = std::numeric_limits<double>::infinity());

 private:
  class Look;  // at one geometry

  const Network& network_;
  const Catalogue& catalogue_;
  const PlaceSpecs& specs_;
  CutLimits limits_;
  FastestWays cpu_;
  FastestWays gpu_;
  std::vector<int> cuts_;         // nodes before which one value alone is alive, both ends among them
  std::map<int, Network> tails_;  // by the first node on the GPU
};

}  // namespace znni
