#include "planner/costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/problem_family.hpp"

namespace znni {
namespace {

// How much longer a time is taken to be that nobody measured: a plan of measured times is not given up for a
// promise within the noise, and searching and measuring in turns comes to an end.
constexpr double caution = 1.05;

class ModelledCosts final : public CostSource {
 public:
  Cost cost(const LayerProblem&, const Primitive&, const Estimate& estimate) override {
    return {estimate.time, Basis::model};
  }
};

// One usable record and what follows from it.
struct Known {
  Variant variant;
  Format in;
  Format out;
  std::string problem;
  std::string family;
  Seconds seconds = 0;
  Seconds modelled = 0;
};

// How near a recorded layer is to the one asked for: of one size 1, of a tenth the time about 0.05.
double nearness(const Known& known, const Estimate& estimate) {
  const double distance = std::log(known.modelled / estimate.time);
  return 1 / (1 + 4 * distance * distance);
}

// Geometric mean of recorded over modelled, the nearest sizes counting most; 1 when there is none.
double mean_ratio(const std::vector<const Known*>& among, const Estimate& estimate) {
  double sum = 0;
  double weights = 0;
  for (const Known* known : among) {
    const double weight = nearness(*known, estimate);
    sum += weight * std::log(known->seconds / known->modelled);
    weights += weight;
  }
  return weights > 0 ? std::exp(sum / weights) : 1.0;
}

bool same_way(const Known& known, const Estimate& estimate) {
  return known.variant == estimate.variant && known.in == estimate.in && known.out == estimate.out;
}

class RecordedCosts final : public CostSource {
 public:
  RecordedCosts(const Timings& timings, const DeviceSpec& spec) {
    for (const TimingRecord& record : timings.records()) {
      const Seconds seconds = robust_mean(record.samples);
      if (record.device != spec.name || record.threads != spec.threads || seconds <= 0) continue;
      const Known known{record.variant, record.in,      record.out, record.problem, problem_family(record.problem),
                        seconds,        record.modelled};
      of_primitive_[{record.primitive, record.version}].push_back(known);
      if (known.modelled > 0) of_family_[known.family].push_back(known);
    }
  }

  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    if (of_primitive_.empty()) return {estimate.time, Basis::model};
    const std::string text = to_string(problem);
    const auto own = of_primitive_.find({std::string(primitive.name), primitive.version});
    const std::vector<Known>& records = own == of_primitive_.end() ? none_ : own->second;
    for (const Known& known : records) {
      if (known.problem == text && same_way(known, estimate)) return {known.seconds, Basis::recorded};
    }
    return {caution * estimate.time * correction(records, problem_family(text), estimate), Basis::model};
  }

 private:
  // The formula errs alike for like layers. What counts is the nearest there is: the same family computed the
  // same way; the same family by this primitive; this primitive; the same family by any other, so that a way
  // nobody tried does not win only because the others were seen on a busy machine.
  double correction(const std::vector<Known>& records, const std::string& family, const Estimate& estimate) const {
    if (estimate.time <= 0) return 1;
    std::vector<const Known*> any;
    std::vector<const Known*> like;
    std::vector<const Known*> alike;
    for (const Known& known : records) {
      if (known.modelled <= 0) continue;
      any.push_back(&known);
      if (known.family != family) continue;
      like.push_back(&known);
      if (same_way(known, estimate)) alike.push_back(&known);
    }
    if (!alike.empty()) return mean_ratio(alike, estimate);
    if (!like.empty()) return mean_ratio(like, estimate);
    if (!any.empty()) return mean_ratio(any, estimate);
    const auto others = of_family_.find(family);
    if (others == of_family_.end()) return 1;
    for (const Known& known : others->second) any.push_back(&known);
    return mean_ratio(any, estimate);
  }

  std::map<std::pair<std::string, int>, std::vector<Known>> of_primitive_;
  std::map<std::string, std::vector<Known>> of_family_;
  const std::vector<Known> none_;
};

}  // namespace

std::unique_ptr<CostSource> modelled_costs() { return std::make_unique<ModelledCosts>(); }

std::unique_ptr<CostSource> recorded_costs(const Timings& timings, const DeviceSpec& spec) {
  return std::make_unique<RecordedCosts>(timings, spec);
}

}  // namespace znni
