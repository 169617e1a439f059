// Chooses the format of each tensor of a network that one device runs, and the primitive of each layer, for the least
// sum of seconds. A layer may read and write formats as its primitives do; if a tensor is needed in another one, a
// reorder is a cost of its own, once per tensor. Input and output are planar.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/layers/fastest_ways.hpp"
#include "planner/network/network.hpp"

namespace znni {

// The problem of choosing formats.
struct FormatProblem {
  const Network& network;
  const Geometry& geometry;  // of the network
  DeviceKind kind;           // of the device
  std::vector<bool>
      left_out;  // per value: it does not exist, its neighbours are computed at once (planner/plan/pairs.hpp)
  Precision precision;
  // Returns the seconds, beside the layers, of keeping a value's planes of earlier steps in this format.
  std::function<Seconds(int value, Format format)> keeping;
};

// Bytes of the device that layers take: no schedule of them takes less, beside what their network reads and writes.
struct LayerBytes {
  std::int64_t most = 0;        // alive together while one of them runs
  std::int64_t persistent = 0;  // of all
};

struct FormatChoice {
  Seconds seconds = 0;
  LayerBytes bytes;
  std::vector<Step> steps;  // node -1 first where the input is reordered
};

class FormatSearch {
 public:
  // Keeps references to its arguments, which must outlive it.
  FormatSearch(const FormatProblem& problem, FastestWays& ways);

  // Returns a lower bound on the sum of every choice; a smaller one as soon as `enough` returns true for what is known,
  // first without asking a library. Fails with `unsupported` if no primitive computes a layer.
  [[nodiscard]] Result<Seconds> least(const std::function<bool(Seconds)>& enough);
  // Returns the fastest choice of formats. It is exact if at most six values are alive at once: one state per format of
  // each, node after node. Beyond that, it follows the fastest states alone, and the one that is planar throughout. Of
  // equals it returns the one whose formats come first.
  [[nodiscard]] Result<FormatChoice> best();

 private:
  // A layer, or two at once.
  struct Unit {
    int first = 0;
    int last = 0;
    LayerProblem problem;
    LayerProblem reordered;  // the same where a reorder makes the value out of what it writes
  };
  // nullptr: none. The input has no way, and may have no reorder.
  struct Option {
    const LayerWay* way = nullptr;
    const LayerWay* reorder = nullptr;
    Format out;
    Seconds seconds = 0;
  };
  using Formats = std::vector<Format>;  // per value; planar if no later node reads it
  struct Reached {
    Seconds seconds = 0;
    const Formats* before = nullptr;
    const Option* by = nullptr;
  };
  using States = std::map<Formats, Reached>;

  [[nodiscard]] Unit unit_of(int node) const;
  [[nodiscard]] Seconds min_of(const Unit& unit);
  [[nodiscard]] std::vector<std::size_t> max_operations_first() const;
  const std::vector<Option>& options_of(std::size_t unit);
  [[nodiscard]] std::vector<Option> input_options();
  void add_options(const LayerProblem& problem, const LayerWay& way, bool reordered, std::vector<Option>& options);
  [[nodiscard]] const LayerWay* reorder_of(const Shape5& shape, Format from, Format to);
  [[nodiscard]] bool reads(const Unit& unit, const Option& option, const Formats& formats) const;
  void extend(const Unit& unit, const States& from, const std::vector<Option>& options, States& to) const;
  void keep_fastest(States& states) const;
  [[nodiscard]] std::int64_t outside(const Unit& unit, const LayerWay& way) const;
  [[nodiscard]] FormatChoice trace(const std::vector<States>& states, const Formats* end) const;
  [[nodiscard]] Error lacking(const Unit& unit) const;

  const FormatProblem& problem_;
  FastestWays& ways_;
  std::vector<int> last_readers_;
  std::vector<Unit> units_;
  std::vector<std::vector<Option>> options_;  // per unit, once asked for
  std::vector<Option> input_options_;
};

}  // namespace znni
