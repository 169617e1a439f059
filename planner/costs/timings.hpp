// Records of measurements: the whole problem in words, never a hash, with raw samples, so that files can be
// read, merged and ranked again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni {

struct RecordedBytes {
  MemorySpace space = MemorySpace::host;
  std::int64_t transient = 0;   // while it runs
  std::int64_t persistent = 0;  // as long as the plan is loaded
  bool operator==(const RecordedBytes&) const = default;
};

struct TimingRecord {
  std::string primitive;
  int version = 0;
  Variant variant;
  Format in;
  Format out;
  std::string problem;  // to_string(LayerProblem)
  std::string device;   // DeviceSpec::name
  int threads = 0;
  std::vector<Seconds> samples;  // in the order they were taken
  std::int64_t unix_seconds = 0;
  Seconds modelled = 0;  // what the formula said: keeps it honest
  double waited = 0;     // share of their time that the threads waited for a processor while this was measured
  // Bytes beside the tensors it reads and writes, per memory space; only of primitives that are known by records alone.
  std::vector<RecordedBytes> memory;
  bool refused = false;  // it computes neither this problem nor larger ones of its kind; there are no samples then
  bool operator==(const TimingRecord&) const = default;
};

// Above this share of waiting a machine was busy with other things.
inline constexpr double busy_share = 0.05;

// All records; at most one per key (a later one for the same key replaces the earlier).
class Timings {
 public:
  void insert(TimingRecord record);
  [[nodiscard]] const std::vector<TimingRecord>& records() const { return records_; }
  // Returns the record of exactly this; nullptr if there is none.
  [[nodiscard]] const TimingRecord* find(const Primitive& primitive, const Estimate& estimate,
                                         const LayerProblem& problem, const DeviceSpec& spec) const;

 private:
  std::vector<TimingRecord> records_;
  std::unordered_map<std::string, std::size_t> places_;  // in records_, by key
};

// Returns a robust mean of samples: that of those within the lower half (the median and below), because disturbances
// only add.
[[nodiscard]] Seconds robust_mean(std::vector<Seconds> samples);

// Returns the share of its time by which a repeated measurement of a record may differ. It is how far the middle
// sample lies above the robust mean, and what its threads waited; at least 2 %.
[[nodiscard]] double repeatability(const TimingRecord& record);

}  // namespace znni
