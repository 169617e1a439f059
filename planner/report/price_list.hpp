// `planner --price`: what machines give for money, for people and, with --json, for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/plan.hpp"

namespace znni {

// Describes the fastest plan of one machine.
struct PricedPlan {
  std::string file;
  std::string machine;  // its name
  double dollars_per_hour = 0;
  std::string strategy;
  Prediction predicted;      // in the list's volume
  std::int64_t memory = 0;   // bytes of host RAM that the plan takes
  std::string refused = {};  // why there is no plan; "" where there is one
};

struct PriceList {
  std::string network;
  std::optional<Vec3> volume;     // of the input; nothing: an endless one
  double output_voxels = 0;       // of the volume
  std::optional<Seconds> within;  // the time that the volume may take
  std::vector<PricedPlan> plans;
};

[[nodiscard]] double voxels_per_dollar(const PricedPlan& plan);
// Return the time and the price of the list's volume. Both require a volume, and a plan.
[[nodiscard]] Seconds seconds_of_volume(const PriceList& list, const PricedPlan& plan);
[[nodiscard]] double dollars_of_volume(const PriceList& list, const PricedPlan& plan);

// Finds the machine on which the volume costs least, among those that end within the time, if one is given; without a
// volume the one with the most voxels per dollar. The first of equals wins. Returns nothing where no machine does.
[[nodiscard]] std::optional<std::size_t> cheapest(const PriceList& list);

// Makes a row for each machine, and names the cheapest below.
[[nodiscard]] std::string price_table(const PriceList& list);

// Makes one object: model, volume (null: an endless one), within_seconds, machines (file, machine, dollars_per_hour,
// strategy, voxels_per_second, endless_voxels_per_second, basis, error, bytes, voxels_per_dollar, hours, dollars,
// refused), cheapest (index into these). What is not known, or was not asked for, is null. Two blanks of indent, a
// line's end at the end.
[[nodiscard]] std::string price_json(const PriceList& list);

}  // namespace znni
