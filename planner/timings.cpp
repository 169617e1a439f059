#include "planner/timings.hpp"

#include <algorithm>

namespace znni {
namespace {

bool same_key(const TimingRecord& a, const TimingRecord& b) {
  return a.primitive == b.primitive && a.version == b.version && a.variant == b.variant && a.in == b.in &&
         a.out == b.out && a.problem == b.problem && a.device == b.device && a.threads == b.threads;
}

}  // namespace

void Timings::insert(TimingRecord record) {
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&](const TimingRecord& other) { return same_key(other, record); });
  if (found == records_.end()) {
    records_.push_back(std::move(record));
  } else {
    *found = std::move(record);
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
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&](const TimingRecord& record) { return same_key(record, wanted); });
  return found == records_.end() ? nullptr : &*found;
}

Seconds robust_mean(std::vector<Seconds> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t count = (samples.size() + 1) / 2;
  Seconds sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += samples[i];
  return sum / static_cast<double>(count);
}

}  // namespace znni
