#include "planner/stop_question.hpp"

namespace znni {

bool StopQuestion::operator()() const {
  if (!stop_ || stopped_) return stopped_;
  const std::unique_lock lock(asking_, std::try_to_lock);
  if (lock && stop_()) stopped_ = true;
  return stopped_;
}

}  // namespace znni
