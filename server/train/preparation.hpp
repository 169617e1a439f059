// What a training runs: samples, the step and validations, within the memory that is left of --mem.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/train/step_plan.hpp"
#include "server/train/inputs.hpp"
#include "server/train/samples/sampler.hpp"
#include "server/train/validation/validator.hpp"

namespace znni::train {

struct Prepared {
  std::unique_ptr<VolumeSamples> samples;
  StepPlan plan;
  std::int64_t validation_volumes = 0;   // bytes
  std::unique_ptr<Validator> validator;  // nullptr if there are no volumes for it
};

// Opens the volumes, plans the step, and prepares validations, which have the memory of the step in its place. Volumes
// are kept in memory if they take no more than a quarter of what is left, unless the step is faster without that. So
// more memory never predicts a slower step. Fails with over_budget if too little is left.
[[nodiscard]] Result<Prepared> prepare(const Inputs& inputs);

// Returns how a step is computed, call by call, and what takes memory.
[[nodiscard]] std::vector<std::string> describe(const Inputs& inputs, const Prepared& prepared);

}  // namespace znni::train
