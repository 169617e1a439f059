#include "planner/network/reading.hpp"

#include "planner/network/operations/all.hpp"

namespace znni {

Reading reading_of(const Operation& operation) {
  return by_rules(operation, [](const auto& rules, const auto& own) { return rules.reading(own); });
}

Vec3 step_of(const Reading& reading) { return reading.is_resized ? reading.stride : Vec3::cube(1); }

}  // namespace znni
