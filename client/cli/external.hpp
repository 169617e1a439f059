// Words of `znni` that other programs answer: `znni run ...` runs `znni-run ...`, as git does it, and `znni check ...`
// runs `planner check ...`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace znni::client {

// A program, and what stands before the user's arguments.
struct External {
  std::filesystem::path program;
  std::vector<std::string> first = {};
};

// Returns the program `znni-WORD`: beside this program, else on the PATH. For "check" it is the planner: `planner`
// beside this program, else `znni-planner`, as packages call it. Returns nothing if there is none, or if `word` is not
// a word of a-z, 0-9 and '-' that begins with a letter.
[[nodiscard]] std::optional<External> find_external(std::string_view word);

// Replaces this process by the program, called with `arguments`. The environment's ZNNID names the znnid beside this
// program unless it is set, so that programs of the Python client find it. Returns the reason if that fails.
[[nodiscard]] std::string run_external(const External& external, std::vector<std::string> arguments);

// Returns `arguments` (without the program's name) with "help" as an option: {"help", "run"} becomes {"run", "--help"}.
[[nodiscard]] std::vector<std::string> with_help_spelled_out(std::vector<std::string> arguments);

// Returns the message for a word that is no command and has no program, with what to install.
[[nodiscard]] std::string unknown_word(std::string_view word);

}  // namespace znni::client
