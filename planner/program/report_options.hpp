// Flags of `planner` for the page about a plan: --report, --report-curve, --measured.
#pragma once

#include <string>
#include <vector>

#include "planner/program/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has named it
class App;
}

namespace znni {

// Holds what the command line says, before it is understood.
struct RawReport {
  std::string page;
  std::string curve;
  std::vector<std::string> measured;
};

// Adds the flags; `raw` must outlive the parsing.
void add_report_flags(CLI::App& app, RawReport& raw);

// Sets report, report_curve and measured of `options`, and refuses flags without a page that they are of.
[[nodiscard]] Result<void> read_report(const RawReport& raw, PlannerOptions& options);

}  // namespace znni
