#include "planner/network/reading.hpp"

#include "planner/network/operations/all.hpp"

namespace znni {

Reading reading_of(const Operation& operation) {
  return by_rules(operation, [](const auto& rules, const auto& own) { return rules.reading(own); });
}

bool is_resized(const Reading& reading) {
  if (reading.resizing != Resizing::as_given) return reading.resizing == Resizing::always;
  return reading.stride != Vec3::cube(1) || reading.factor != Vec3::cube(1);
}

Vec3 step_of(const Reading& reading) { return reading.resizing == Resizing::never ? Vec3::cube(1) : reading.stride; }

}  // namespace znni
