// What of a network's file is read, and how much memory that may take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

struct NetworkReading {
  std::int64_t max_weight_bytes = saturated;  // of all weights, as float32
  std::vector<std::string> outputs;           // of the file, those to compute, in this order; none: all
  std::string numbers = {};                   // file of the numbers of a .prototxt; "": the one beside it
};

}  // namespace znni
