// The ways to compute one layer, boiled down to the numbers that combining nodes needs: time, persistent bytes
// and the bytes alive in the worst stage. Every problem is described and costed once.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"

namespace znni {

// A call's use of one of its inputs: `same_as` is the first input that is the same tensor, its own index if there is
// none; `dies` is true if no later call reads the tensor. `unread`: voxels of the tensor along each axis that the call
// does not read.
struct InputUse {
  int same_as = 0;
  bool dies = true;
  Vec3 unread = {};
  auto operator<=>(const InputUse&) const = default;
};

// An estimate of a primitive. `peak` counts whole buffers of buffer_alignment bytes, as pack() does.
struct LayerOption {
  const Primitive* primitive = nullptr;
  int estimate = 0;  // index into what describe() returned
  Format in;
  Format out;
  Cost cost;
  std::int64_t persistent = 0;
  std::int64_t peak = 0;            // inputs and output included; nothing else that is alive
  std::int64_t reordered_peak = 0;  // the same where the output has nothing around it, since a reorder follows
  bool joined = false;              // nothing to do: the call behind it computes a pair (planner/plan/pairs.hpp)
};
using LayerOptions = std::vector<LayerOption>;

// Returns the declared memory with inputs and output as large as their tensors. Along each axis the output's tensor has
// `around` voxels more than the call writes.
[[nodiscard]] MemoryPlan with_whole_tensors(const LayerProblem& problem, const Estimate& estimate,
                                            const std::vector<InputUse>& uses, Vec3 around);

// Returns the bytes alive in the worst stage of a call with this declared memory. An input that dies is alive up to its
// last declared stage, one that lives on in every stage; the output from its first declared stage on. This is what the
// call adds to peak(Schedule::memory) at its stages.
[[nodiscard]] std::int64_t call_peak(const MemoryPlan& memory, const std::vector<InputUse>& uses);

// Remembers the options of every problem it was asked for. References stay valid as long as the table. Several threads
// may ask at once, and then so do primitives and costs.
class OptionTable {
 public:
  OptionTable(const Catalogue& catalogue, const DeviceSpec& spec, CostSource& costs);

  // Returns the options in order of primitive names and estimates; of those with equal formats only the ones that no
  // other beats in time, persistent bytes and peak together. `only`: the one primitive that may take part; nullptr for
  // all. `around`: voxels of the output's tensor along each axis that the call does not write.
  const LayerOptions& get(const LayerProblem& problem, const std::vector<InputUse>& uses,
                          const Primitive* only = nullptr, Vec3 around = {});

  // Returns a lower bound on the time of every way to compute the problem; infinite if there is none. Describes by no
  // primitive that outlines what it offers, or whose formula has a bound. Arguments are those of get().
  [[nodiscard]] Seconds min_seconds(const LayerProblem& problem, const std::vector<InputUse>& uses,
                                    const Primitive* only = nullptr, Vec3 around = {});

  // Returns, for messages, why primitives refuse `problem`: "cpu.conv.direct: reason", joined.
  [[nodiscard]] std::string refusals(const LayerProblem& problem, const Primitive* only) const;

  [[nodiscard]] const DeviceSpec& spec() const { return spec_; }

 private:
  struct Key {
    LayerProblem problem;
    std::vector<InputUse> uses;
    const Primitive* only = nullptr;
    Vec3 around;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // First what is found at once, then all.
  struct Entry {
    std::once_flag quick;
    Seconds least = 0;
    bool waits = false;  // some primitive has ways that `options` lack
    std::once_flag whole;
    LayerOptions options;
  };
  // A part of the table, so that threads seldom wait for each other.
  struct Shard {
    std::mutex mutex;  // of the map, not of what its entries hold
    std::unordered_map<Key, Entry, Hash> entries;
  };
  Entry& entry_of(const Key& key);
  void collect_quick(const Key& key, Entry& entry) const;
  void collect_rest(const Key& key, Entry& entry) const;
  [[nodiscard]] bool takes_part(const Primitive& primitive, const Key& key) const;
  [[nodiscard]] bool has_bound(const Primitive& primitive) const;
  void describe(const Key& key, const Primitive& primitive, LayerOptions& options) const;

  std::vector<const Primitive*> primitives_;  // by name
  const DeviceSpec& spec_;
  CostSource& costs_;
  std::array<Shard, 64> shards_;
};

}  // namespace znni
