#include "planner/base/stop_question.hpp"

namespace znni {

bool StopQuestion::operator()() const {
  if (!stop_ || stopped_) return stopped_;
  const std::unique_lock lock(asking_, std::try_to_lock);
  // Another thread may have heard "true" since the first look.
  if (lock && !stopped_ && stop_()) stopped_ = true;
  return stopped_;
}

}  // namespace znni
