// The exhaustive search: pooling mode per pooling layer x legal input extents (anisotropic too) x S, or streams of some
// thickness and cross-section; x primitive, variant and format per node, under a memory limit (ZNNi section VI.A). A
// pure function: the same arguments give the same plan.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/plan/pins.hpp"
#include "planner/plan/plan.hpp"

namespace znni {

// patches: independent ones alone, nothing streamed; layerwise: of these, each layer as a whole, nothing depth-first,
// which is the space of the ZNNi paper; baseline: every pooling plain, the naive method.
enum class Strategy { cpu, patches, layerwise, baseline };
[[nodiscard]] std::string_view to_string(Strategy strategy);

// Progress of a search. It looks at several sets of candidates, one after the other.
struct SearchProgress {
  std::int64_t looked_at = 0;  // of the set in hand
  std::int64_t candidates = 0;
  double voxels_per_second = 0;  // of the best so far; 0: none fits
  bool smaller = false;          // the set is for one of the smaller rungs
  bool operator==(const SearchProgress&) const = default;
};

struct SearchOptions {
  std::int64_t memory_limit = 0;  // bytes of host RAM for the whole running plan
  Strategy strategy = Strategy::cpu;
  std::optional<Vec3> volume;  // extents the plan is for, with the network's frame: its border waste counts
  std::int64_t max_S = 4;
  std::int64_t max_extent = 1024;           // of a patch, per axis
  std::int64_t max_patches = 20000;         // about as many are looked at (planner/search/candidates.hpp)
  std::int64_t max_through_host_ram = 256;  // patches that are all looked at with layers through host RAM; of more some
  bool lifts_extent = false;                // max_extent is doubled as long as the best patch ends there (search())
  bool every_extent = false;                // all combinations of legal extents, not some of them where they are many
  Precision precision = Precision::fp32;    // no layer is computed coarser
  std::map<std::string, std::string> force;  // node name or number -> primitive
  Pins pins;                                 // plans as these say alone; theta is of plan_split()
  std::int64_t stem_slab = 8;                // planes of a stem's slab; thin enough for its tensors to be small, thick
                                             // enough for little to be computed twice where slabs meet; 0: no slabs
  bool ladder = true;                        // also plan the smaller rungs
  double logged_share = 0.8;                 // of the best rate: with a log, candidates above it are computed exactly
                                             // rather than cut, so that it can show them; the plan is the same
  int threads = 1;                           // that search; the plan is the same for any number
  std::function<void(const SearchProgress&)> progress;  // may be empty; told now and then, by the thread that called
  std::function<bool()> stop;  // asked by one of the search's threads at a time, between any two layers or
                               // combinations; true ends the search with the best so far
};

// A search's record of what it looked at, for --explain and tests. Filled only if asked for.
struct Refusal {
  int node = 0;
  std::string primitive;
  std::string reason;
};
struct Candidate {
  GeometryChoice choice;
  double voxels_per_second = 0;  // 0 when refused
  MemoryUse memory;
  std::string refused;  // why, or ""
};
struct SearchLog {
  std::vector<Candidate> candidates;  // every geometry considered, in order
  std::int64_t cut = 0;               // of them: those with too many combinations, of which the likely ones were kept
  std::vector<Refusal> refusals;      // for the chosen geometry: primitives that do not take part
  // For the chosen geometry: every estimate of every node with its cost, best first.
  struct Choice {
    int node = 0;
    std::string primitive;
    Variant variant;
    Format in;
    Format out;
    Cost cost;
    std::int64_t bytes = 0;  // peak of the layer alone
    bool chosen = false;
  };
  std::vector<Choice> choices;
  // Voxels per second of the best plans of a machine with several sockets; 0 if nothing fits.
  struct Sockets {
    double together = 0;  // all on the same patch
    double apart = 0;     // each on its own
    // False: a socket's rate is a formula while the machine's rests on records; `together` is then taken.
    bool known = true;
  };
  std::optional<Sockets> sockets;
};

// Checks network, limit, pins and volume. The error names what is wrong with them; a volume must not be below the field
// of view.
[[nodiscard]] Result<void> check_options(const Network& network, const SearchOptions& options);

// over_budget, naming the smallest budget that would do, when nothing fits. With options.lifts_extent the search is
// repeated with max_extent doubled, up to max_lifted_extent, while the next plan is faster. It goes on as long as the
// best patch ends there (bound_note()); also if that is longer than half of it with a tenth of the memory left; `log`
// is of the search whose plan is returned.
inline constexpr std::int64_t max_lifted_extent = 65536;
inline constexpr double worth_lifting = 1.01;  // less gain than that ends it
[[nodiscard]] Result<Plan> search(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                                  CostSource& costs, const SearchOptions& options, SearchLog* log = nullptr);

}  // namespace znni
