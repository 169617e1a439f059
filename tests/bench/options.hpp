// The command line of `znni-bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::bench {

// znni-bench net: whether a plan's prediction is true.
struct NetOptions {
  std::string plan;                    // file
  std::string model;                   // FILE.onnx or FILE.pbtxt
  std::optional<std::int64_t> memory;  // bytes; nothing: the machine's default
  std::optional<int> threads;          // nothing: those of the plan
  std::optional<double> limit;         // seconds a patch may be predicted to take; nothing: the planned patch
  int repetitions = 3;                 // warm ones
  bool json = false;
};

// znni-bench layer: primitives on one convolution.
struct LayerOptions {
  ConvProblem problem;
  std::vector<std::string> primitives = {"cpu.conv.fft_tiled", "cpu.conv.onednn"};
  std::optional<std::int64_t> memory;  // bytes; nothing: the machine's default
  std::optional<int> threads;          // nothing: the machine's default
  int repetitions = 5;
  bool json = false;
};

// The program ends at once: `text` goes to stdout when exit_code is 0 (help), else to stderr; it is one line then.
struct EarlyEnd {
  int exit_code = 0;
  std::string text;
};

// `arguments` without the program's name.
[[nodiscard]] std::variant<NetOptions, LayerOptions, EarlyEnd> parse_options(std::vector<std::string> arguments);

}  // namespace znni::bench
