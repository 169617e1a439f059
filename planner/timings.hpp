// Records of measurements: the whole problem in words, never a hash, with raw samples, so that files can be
// read, merged and ranked again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni {

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
  bool operator==(const TimingRecord&) const = default;
};

// All records; at most one per key (a later one for the same key replaces the earlier).
class Timings {
 public:
  void insert(TimingRecord record);
  [[nodiscard]] const std::vector<TimingRecord>& records() const { return records_; }
  // nullptr when nothing was recorded for exactly this.
  [[nodiscard]] const TimingRecord* find(const Primitive& primitive, const Estimate& estimate,
                                         const LayerProblem& problem, const DeviceSpec& spec) const;

 private:
  std::vector<TimingRecord> records_;
};

// Robust mean of samples: of those within the lower half (the median and below), since disturbances only add.
[[nodiscard]] Seconds robust_mean(std::vector<Seconds> samples);

}  // namespace znni
