// The best division of a convolution that runs through a GPU from host RAM, by model. It is divided into halves,
// quarters and so on of S, f_out and the slab, and into even parts of f. There are thousands, and a library takes long
// to say how it computes a sub-layer. So divisions are looked at in the order of their least time, and no further than
// to the fastest that fits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
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

// Returns the transient and persistent bytes of a plan of memory, packed.
[[nodiscard]] SpaceBytes bytes_of(const MemoryPlan& memory);
// Returns "host 1.00 GiB, pinned 2.00 MiB, device 3 B"
[[nodiscard]] std::string to_string(const SpaceBytes& bytes);

struct DividedOption {
  hybrid::DividedChoice choice;
  Estimate estimate;
  SpaceBytes use;  // the layer's own tensors, in host memory, aside
};

// Rules for computing sub-layers, and for how long they are looked at.
struct SubLayerRules {
  Precision precision = Precision::fp32;  // no coarser
  const Primitive* reorder = nullptr;     // sub-layers from planar to other formats and back; nullptr: all is planar
  // Asked before a sub-layer is described: true ends that for good, and what was described until then is all there is.
  std::function<bool()> stop = {};
};

class DivisionSearch {
 public:
  // Searches divisions of `conv`. Tensors are planar; one of `inner`, of the GPU, computes the sub-layers, in every
  // variant that it has for them and the rules allow. It goes from planar to planar or, reordered, has another format
  // throughout; it may refuse the whole.
  // What takes no less than `below` does not count. References must outlive it.
  DivisionSearch(const ConvProblem& conv, std::span<const Primitive* const> inner, const DeviceSpec& gpu,
                 const SubLayerRules& rules, Seconds below);

  // Returns a lower bound on the time of every division, whatever the memory. Describes no sub-layer by a primitive
  // that tells the least itself.
  [[nodiscard]] Seconds min_seconds();

  // Returns the fastest that takes less than `below` and whose sub-layers fit into the pinned and device memory. Of
  // equals it returns the first that needs no more than any other. Their order is that of primitives, of sub-layers
  // from large to small, and of variants. Fails with over_budget if what is fast enough does not fit, and names the
  // least device memory that it needs; fails with cancelled if that was not looked at; else `unsupported` with the last
  // reason.
  [[nodiscard]] Result<DividedOption> fastest(const SpaceBytes& memory, Seconds below);

 private:
  // A division by one primitive, or, once described, one way to compute its sub-layers. In the order of what it takes.
  struct Place {
    Seconds seconds = 0;  // at least; of a way exactly
    std::size_t source = 0;
    std::size_t division = 0;
    int way = -1;  // -1: not described yet
    auto operator<=>(const Place&) const = default;
  };
  struct Candidate {
    SpaceBytes use;                // at least
    bool weighed = false;          // that is exact
    hybrid::DividedChoice choice;  // of a way
  };
  using Candidates = std::map<Place, Candidate>;
  using Described = std::map<ConvProblem, Result<std::vector<Estimate>>>;
  struct Source {
    const Primitive* primitive = nullptr;
    bool takes_sublayers = false;  // known to
    Described known = {};          // many divisions have some in common
  };

  void add_source(const Primitive& primitive);
  [[nodiscard]] const Result<std::vector<Estimate>>& describe_sublayer(Source& source, const ConvProblem& sublayer);
  [[nodiscard]] bool takes_sublayers(Source& source);
  void keep_reason(Source& source, const ConvProblem& sublayer);
  // Replaces a division by its ways, and returns the next of all candidates.
  Candidates::iterator describe(Candidates::iterator at);
  [[nodiscard]] Result<void> add_way(const Place& place, const hybrid::DividedChoice& choice);
  [[nodiscard]] Result<hybrid::InnerEstimates> inner_estimates(const Place& place, const hybrid::DividedChoice& choice);
  [[nodiscard]] DividedOption option(const Place& place, const hybrid::DividedChoice& choice);
  void weigh(const Place& place, Candidate& candidate);
  [[nodiscard]] bool stopped();
  [[nodiscard]] Error none(const SpaceBytes& memory, Seconds below) const;

  const ConvProblem& conv_;
  const DeviceSpec& gpu_;
  SubLayerRules rules_;
  Seconds below_;
  std::vector<hybrid::SubLayers> divisions_;
  std::vector<Source> sources_;
  Candidates candidates_;
  bool stopped_ = false;
  Error reason_;
};

}  // namespace znni
