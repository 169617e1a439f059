// The command line of `planner`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/base/sizes.hpp"
#include "planner/measure/draw.hpp"
#include "planner/search/search.hpp"
#include "planner/split/split_plan.hpp"

namespace znni {

enum class Command { plan, check, show, diff, measure, draw, primitives };
// The source of times; each falls back on the one before it.
enum class Patience { model, recorded, measure };

// Bounds of a search; nothing: as SearchOptions has it.
struct SearchBounds {
  std::optional<std::int64_t> max_extent;  // of a patch, per axis
  std::optional<std::int64_t> max_S;
  std::optional<std::int64_t> max_patches;       // looked at, about
  std::optional<std::int64_t> host_ram_patches;  // all looked at with layers through host RAM
  bool every_extent = false;
  bool operator==(const SearchBounds&) const = default;
};

// Names a machine's file and what an hour of it costs.
struct PricedMachine {
  std::string file;
  double dollars_per_hour = 0;
  bool operator==(const PricedMachine&) const = default;
};

struct PlannerOptions {
  Command command = Command::plan;
  std::vector<std::string> files;      // of show and diff: plans; of check: a network
  std::string model;                   // file to plan
  std::vector<std::string> outputs;    // of the file, those to compute; none: all
  std::string weights;                 // file of the numbers of a .prototxt; "": the one beside it
  std::string model_repository;        // or directory of models to plan
  std::string plan_dir;                // "": plans/ of the state directory (planner/base/repository.hpp)
  std::optional<std::int64_t> memory;  // bytes; nothing: the machine's default
  std::optional<int> threads;
  std::optional<Vec3> volume;
  Patience patience = Patience::recorded;
  Seconds time_limit = 600;
  std::string timings;  // "": timings.pbtxt of the state directory
  std::vector<std::string> plugins;
  std::string machine;                // file of another machine's timings; "": this machine
  std::optional<MemoryRange> curve;   // of memory limits: their best rates are printed in place of a plan
  std::vector<PricedMachine> priced;  // machines of a price list, printed in place of a plan; none: of no list
  std::optional<Seconds> within;      // of a price list: the time that the volume may take
  bool any_strategy = false;          // of a price list: the fastest of those that a machine allows
  bool train = false;                 // a step of training is planned in place of a run
  bool sparse = false;                // of that step: poolings keep the first of their offsets
  std::vector<std::string> enable;
  std::vector<std::string> disable;
  std::map<std::string, std::string> force;
  Pins pins;
  SearchBounds bounds;
  Strategy strategy = Strategy::cpu;
  std::optional<SplitStrategy> split;      // instead: over CPU and GPU
  Precision precision = Precision::fp32;   // the coarsest that a plan may use
  std::optional<std::int64_t> gpu_memory;  // bytes; nothing: the machine's
  std::optional<std::int64_t> pinned_memory;
  DrawOptions draw;            // of the command draw, whose output is a directory
  std::size_t neighbours = 0;  // of the chosen plan, drawn beside
  // Of check: the file that gets the network without its padding; "": none, it is only told what becomes of it;
  // nothing: nor that.
  std::optional<std::string> valid_output;
  std::string output;
  std::string report;                       // file of the page; "": none
  std::optional<MemoryRange> report_curve;  // of memory limits, drawn on the page; nothing: no curves
  std::vector<std::string> measured;        // files of what was measured, drawn on the page
  bool explain = false;
  bool json = false;
  bool k8s_resources = false;
  std::string command_line;  // as it could be typed again
};

// The program ends at once: `text` goes to stdout when exit_code is 0 (help, version), else to stderr; it is one
// line then.
struct EarlyEnd {
  int exit_code = 0;
  std::string text;
};

// Parses `arguments`, which are without the program's name. `version`: what --version prints. Wrong use ends with exit
// code 2.
[[nodiscard]] std::variant<PlannerOptions, EarlyEnd> parse_options(std::vector<std::string> arguments,
                                                                   const std::string& version);

// Returns 2 for what the user can mend, 3 if nothing fits, 130 if interrupted, 1 for the rest.
[[nodiscard]] int exit_code(ErrorCode code);

}  // namespace znni
