// What the reports of a layer and of a step of training begin with.
#pragma once

#include <string>

#include "primitives/core/primitive.hpp"
#include "tests/bench/rates/machine_rates.hpp"

namespace znni::bench {

struct ReportHead {
  ConvProblem problem;
  std::string device;  // DeviceSpec::name
  int threads = 1;
  MachineRates machine;
};

// Returns lines with the layer, the machine and its measured rates.
[[nodiscard]] std::string head_text(const ReportHead& head);

[[nodiscard]] std::string giga(double number, int digits);
[[nodiscard]] std::string milliseconds(Seconds seconds);
[[nodiscard]] std::string scientific(double number);  // "2.5e-06"

}  // namespace znni::bench
