#include "planner/costs/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "planner/costs/problem_family.hpp"
#include "planner/costs/problem_hash.hpp"
#include "planner/costs/problem_text.hpp"
#include "planner/costs/refused_sizes.hpp"

namespace znni {
namespace {

class ModelledCosts final : public CostSource {
 public:
  Cost cost(const LayerProblem&, const Primitive&, const Estimate& estimate) override {
    return {estimate.time, Basis::model};
  }
  [[nodiscard]] bool has_times_of(const Primitive&) const override { return false; }
  [[nodiscard]] bool is_formula_of(const Primitive&) const override { return true; }
};

std::string versioned(std::string_view primitive, int version) {
  return std::string(primitive) + ":" + std::to_string(version);
}

std::string way_text(const Variant& variant, Format in, Format out) {
  return to_string(variant) + "|" + to_string(in) + "|" + to_string(out);
}

double window_voxels(const LayerProblem& problem) { return static_cast<double>(voxels(window_of(problem))); }

bool is_of(const TimingRecord& record, const DeviceSpec& spec) {
  return record.device == spec.name && record.threads == spec.threads && robust_mean(record.samples) > 0;
}

// The texts by which records name a problem.
struct ProblemTexts {
  std::string problem;
  std::string family;
  std::string kernel;
};

// Costs are asked for problem after problem, by several threads: what is said of one is said once.
class LastTexts {
 public:
  std::shared_ptr<const ProblemTexts> of(const LayerProblem& problem) {
    Slot& slot = slots_[ProblemHash()(problem) % slots_.size()];
    {
      const std::scoped_lock lock(slot.mutex);
      if (slot.problem == problem) return slot.texts;
    }
    const std::string text = to_string(problem);
    auto texts = std::make_shared<const ProblemTexts>(ProblemTexts{text, problem_family(text), problem_class(text)});
    const std::scoped_lock lock(slot.mutex);
    slot.problem = problem;
    slot.texts = texts;
    return texts;
  }

 private:
  struct Slot {
    std::mutex mutex;  // of both
    std::optional<LayerProblem> problem;
    std::shared_ptr<const ProblemTexts> texts;  // shared with who still reads what another problem has replaced
  };
  std::array<Slot, 32> slots_;
};

// Factor on the time of a way at sizes that it was recorded to refuse: it is chosen only if there is no other.
constexpr double of_refused = 1e6;

class RecordedCosts final : public CostSource {
 public:
  RecordedCosts(const Timings& timings, const DeviceSpec& spec) : calibration_(calibrate(timings, spec)) {
    for (const TimingRecord& record : timings.records()) {
      if (record.refused) add_refused(record, spec);
      if (!is_of(record, spec)) continue;
      const std::string key = versioned(record.primitive, record.version) + "|" +
                              way_text(record.variant, record.in, record.out) + "|" + record.problem;
      primitives_.insert(versioned(record.primitive, record.version));
      recorded_[key] = {robust_mean(record.samples), Basis::recorded, repeatability(record)};
    }
  }

  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    if (is_formula_of(primitive)) return {estimate.time, Basis::model};
    const std::shared_ptr<const ProblemTexts> texts = said_.of(problem);
    Observation question{versioned(primitive.name, primitive.version),
                         way_text(estimate.variant, estimate.in, estimate.out),
                         texts->family,
                         texts->kernel,
                         estimate.time,
                         0,
                         window_voxels(problem)};
    const auto found = recorded_.find(question.primitive + "|" + question.way + "|" + texts->problem);
    if (found != recorded_.end()) return found->second;
    const Correction correction = calibration_.correct(question);
    const Cost cost{correction.factor * estimate.time, Basis::model, correction.error};
    if (refused_.empty()) return cost;
    const std::string kind = question.primitive + "|" + question.way + "|" + question.family;
    if (!refused_.refuses(kind, tensors_bytes(problem, estimate.in, estimate.out))) return cost;
    return {of_refused * cost.seconds, Basis::recorded, 0};
  }
  [[nodiscard]] bool has_times_of(const Primitive& primitive) const override {
    return primitives_.contains(versioned(primitive.name, primitive.version));
  }
  // Records of one primitive correct the formulas of others, too.
  [[nodiscard]] bool is_formula_of(const Primitive&) const override { return recorded_.empty() && refused_.empty(); }

 private:
  void add_refused(const TimingRecord& record, const DeviceSpec& spec) {
    const Result<LayerProblem> problem = parse_problem(record.problem);
    if (!problem || record.device != spec.name || record.threads != spec.threads) return;
    const std::string primitive = versioned(record.primitive, record.version);
    primitives_.insert(primitive);
    refused_.add(
        primitive + "|" + way_text(record.variant, record.in, record.out) + "|" + problem_family(record.problem),
        tensors_bytes(*problem, record.in, record.out));
  }

  std::unordered_map<std::string, Cost> recorded_;
  RefusedSizes refused_;
  std::set<std::string> primitives_;  // that there are records of
  Calibration calibration_;
  LastTexts said_;
};

// Adds up two costs. `error`: of the sum in seconds, if the errors of both are known.
Cost sum_of_costs(const Cost& a, const Cost& b, Seconds error) {
  const Seconds seconds = a.seconds + b.seconds;
  const bool known = (a.error > 0 || a.seconds <= 0) && (b.error > 0 || b.seconds <= 0) && seconds > 0;
  return {seconds, std::min(a.basis, b.basis), known ? error / seconds : 0};
}

}  // namespace

Cost together(const Cost& a, const Cost& b) { return sum_of_costs(a, b, a.seconds * a.error + b.seconds * b.error); }

Cost beside(const Cost& a, const Cost& b) {
  return sum_of_costs(a, b, std::hypot(a.seconds * a.error, b.seconds * b.error));
}

std::unique_ptr<CostSource> modelled_costs() { return std::make_unique<ModelledCosts>(); }

std::unique_ptr<CostSource> recorded_costs(const Timings& timings, const DeviceSpec& spec) {
  return std::make_unique<RecordedCosts>(timings, spec);
}

Calibration calibrate(const Timings& timings, const DeviceSpec& spec) {
  std::vector<Observation> rows;
  for (const TimingRecord& record : timings.records()) {
    if (!is_of(record, spec) || record.modelled <= 0) continue;
    const Result<LayerProblem> problem = parse_problem(record.problem);
    rows.push_back({versioned(record.primitive, record.version), way_text(record.variant, record.in, record.out),
                    problem_family(record.problem), problem_class(record.problem), record.modelled,
                    robust_mean(record.samples), problem ? window_voxels(*problem) : 1, record.waited > busy_share});
  }
  return Calibration(std::move(rows));
}

}  // namespace znni
