// The command line of `znni-bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::bench {

// Options of znni-bench net, which checks a plan's prediction.
struct NetOptions {
  std::string plan;                    // file
  std::string model;                   // FILE.onnx, FILE.prototxt or FILE.pbtxt
  std::optional<std::int64_t> memory;  // bytes; nullopt: the machine's default
  std::optional<int> threads;          // nullopt: those of the plan
  std::optional<double> limit;         // most predicted seconds per patch; nullopt: the planned patch
  int repetitions = 3;                 // number of warm runs
  bool json = false;
};

// Options of znni-bench layer, which runs primitives on one convolution.
struct LayerOptions {
  ConvProblem problem;
  std::vector<std::string> primitives = {"cpu.conv.fft_tiled", "cpu.conv.onednn"};
  std::optional<std::int64_t> memory;  // bytes; nullopt: the machine's default
  std::optional<int> threads;          // nullopt: the machine's default
  int repetitions = 5;
  bool json = false;
};

// Options of znni-bench layer --train, which runs a step of training of one convolution.
struct TrainOptions : LayerOptions {
  bool all = false;  // every primitive; else those that `primitives` names, and what the planner chooses
};

// Tells the program to end at once. `text` goes to stdout if exit_code is 0 (help), else, as one line, to stderr.
struct EarlyEnd {
  int exit_code = 0;
  std::string text;
};

// Parses `arguments`, which do not include the program's name.
[[nodiscard]] std::variant<NetOptions, LayerOptions, TrainOptions, EarlyEnd> parse_options(
    std::vector<std::string> arguments);

}  // namespace znni::bench
