// The command line of znni-train.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace znni::train {

struct Options {
  std::string model;   // .onnx or .pbtxt
  std::string config;  // train.pbtxt
  std::string output;  // folder of the model: versions, checkpoint and log
  std::optional<std::int64_t> memory;
  std::optional<int> threads;
  bool restart = false;
  bool explain = false;
};

struct Command {
  Options options;
  std::optional<int> exit_code;  // if the program is to end at once, with `text`
  std::string text;
};

// Exit code if the command line is wrong.
inline constexpr int exit_wrong_use = 2;

// Parses the arguments behind the program's name.
[[nodiscard]] Command parse_options(std::span<const char* const> arguments, const std::string& version_text);

}  // namespace znni::train
