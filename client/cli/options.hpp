// The command line of `znni`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/credentials.hpp"
#include "client/cli/padding.hpp"
#include "client/files/voxel_type.hpp"

namespace znni::client {

enum class Command { infer, status };

struct Options {
  Command command = Command::status;
  std::string server = "127.0.0.1:8001";
  CredentialFiles credentials;
  std::string model;
  std::string version;
  std::string input;
  std::string output;
  Padding padding = Padding::none;
  std::string bbox;
  VoxelType dtype = VoxelType::f32;
  std::optional<float> scale;  // if set, the client normalises the voxels and the model's own scale is off
  std::optional<float> offset;
  bool resume = false;
  bool overwrite = false;
  bool compress = false;
  bool dry_run = false;
  bool progress = true;
  double wait_seconds = 600;  // longest wait for a model that is loading, and for a daemon without room, if part of the
                              // output exists already; with `resume` also for one that is not there
  bool json = false;
};

// Tells main what to do: run with options, or print `text` and exit with `exit_code` (help, wrong use).
struct Parsed {
  std::optional<Options> options;
  std::string text;
  int exit_code = 0;
};
// `arguments`: without the program's name.
[[nodiscard]] Parsed parse_options(std::vector<std::string> arguments);

// Returns whether `word` is a command of parse_options(), rather than one that another program answers.
[[nodiscard]] bool is_own_command(std::string_view word);

}  // namespace znni::client
