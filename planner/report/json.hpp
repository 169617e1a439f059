// JSON that is printed: members stand in the order in which they are added.
#pragma once

#include <nlohmann/json.hpp>

#include "primitives/core/shape.hpp"

namespace znni {

using Json = nlohmann::ordered_json;

// Returns [z, y, x].
[[nodiscard]] inline Json json_of(Vec3 n) { return {n.z, n.y, n.x}; }

// Returns the array of one(item) of each item.
template <class Items, class Function>
[[nodiscard]] Json json_list(const Items& items, Function one) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(one(item));
  return array;
}

}  // namespace znni
