#include "planner/costs/timings.hpp"

#include <algorithm>

namespace znni {
namespace {

constexpr double min_repeatability = 0.02;

// Returns all that tells a record from others.
std::string key(const TimingRecord& record) {
  return record.primitive + "|" + std::to_string(record.version) + "|" + to_string(record.variant) + "|" +
         to_string(record.in) + "|" + to_string(record.out) + "|" + record.problem + "|" + record.device + "|" +
         std::to_string(record.threads);
}

}  // namespace

void Timings::insert(TimingRecord record) {
  const auto [place, is_new] = places_.try_emplace(key(record), records_.size());
  if (is_new) {
    records_.push_back(std::move(record));
  } else {
    records_[place->second] = std::move(record);
  }
}

const TimingRecord* Timings::find(const Primitive& primitive, const Estimate& estimate, const LayerProblem& problem,
                                  const DeviceSpec& spec) const {
  TimingRecord wanted;
  wanted.primitive = primitive.name;
  wanted.version = primitive.version;
  wanted.variant = estimate.variant;
  wanted.in = estimate.in;
  wanted.out = estimate.out;
  wanted.problem = to_string(problem);
  wanted.device = spec.name;
  wanted.threads = spec.threads;
  const auto found = places_.find(key(wanted));
  return found == places_.end() ? nullptr : &records_[found->second];
}

Seconds robust_mean(std::vector<Seconds> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t count = (samples.size() + 1) / 2;
  Seconds sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += samples[i];
  return sum / static_cast<double>(count);
}

double repeatability(const TimingRecord& record) {
  const Seconds mean = robust_mean(record.samples);
  if (mean <= 0) return 0;
  std::vector<Seconds> samples = record.samples;
  std::sort(samples.begin(), samples.end());
  const double spread = samples[samples.size() / 2] / mean - 1;
  return std::max({min_repeatability, spread, record.waited});
}

}  // namespace znni
