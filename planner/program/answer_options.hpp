// Flags of `planner` for what it answers with beside one plan, and for which machines: --curve, --price, --train,
// --machine.
#pragma once

#include <string>
#include <vector>

#include "planner/program/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has named it
class App;
}

namespace znni {

// Holds what the command line says, before it is understood.
struct RawAnswers {
  std::vector<std::string> machines;
  std::string curve;
  bool price = false;
  std::string within;
  bool train = false;
  bool sparse = false;
  bool names_strategy = false;  // --strategy is given
};

// Adds the flags; `raw` must outlive the parsing.
void add_answer_flags(CLI::App& app, RawAnswers& raw);

// Sets machine, curve, priced, within, train and sparse of `options`, whose other fields are read already, and refuses
// flags that do not go with these. The error names the flag and what is right.
[[nodiscard]] Result<void> read_answers(const RawAnswers& raw, PlannerOptions& options);

}  // namespace znni
