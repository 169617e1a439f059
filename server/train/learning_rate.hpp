// How fast a training learns, step by step.
#pragma once

#include <cstdint>

#include "proto/convert/text/train_config.hpp"

namespace znni {

// Returns the learning rate of `step`, from 0 to below `steps`: peak (step + 1) / warm_up_steps while it warms up; then
// peak, or peak (1 + cos(pi (step - warm_up_steps) / (steps - warm_up_steps))) / 2, which is 0 at `steps`
// (Loshchilov and Hutter 2017, without restarts).
[[nodiscard]] double learning_rate(const LearningRate& rate, std::int64_t step, std::int64_t steps);

}  // namespace znni
