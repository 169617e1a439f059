#include "server/train/learning_rate.hpp"

#include <cmath>
#include <numbers>

namespace znni {

double learning_rate(const LearningRate& rate, std::int64_t step, std::int64_t steps) {
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  if (step < rate.warm_up_steps) return rate.peak * share(step + 1, rate.warm_up_steps);
  if (!rate.cosine) return rate.peak;
  const double done = share(step - rate.warm_up_steps, steps - rate.warm_up_steps);
  return rate.peak * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace znni
