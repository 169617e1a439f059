#include "server/train/samples/ahead_samples.hpp"

#include <system_error>

namespace znni {

Result<Sample> AheadSamples::sample(std::uint64_t step) {
  rest();
  const bool is_made = ahead_.valid() && step_ == step;
  Result<Sample> own = is_made ? ahead_.get() : source_.sample(step);
  make_ahead(step + 1);
  return own;
}

void AheadSamples::rest() const {
  if (ahead_.valid()) ahead_.wait();
}

void AheadSamples::make_ahead(std::uint64_t step) {
  ahead_ = {};
  if (step >= steps_) return;
  try {
    ahead_ = std::async(std::launch::async, [this, step] { return source_.sample(step); });
    step_ = step;
  } catch (const std::system_error&) {
    // No thread is granted.
  }
}

}  // namespace znni
