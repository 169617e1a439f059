#include "client/cli/external.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace znni::client {
namespace {

// Programs that come with the Python client.
constexpr std::array<std::string_view, 3> of_python = {"job", "run", "view"};

// A command of the planner's that is a word of ours.
constexpr std::string_view of_planner = "check";

bool is_word(std::string_view word) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) { return is_small(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !word.empty() && is_small(word.front()) && std::ranges::all_of(word, is_allowed);
}

bool is_program(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

// Returns the folder of this program; empty if the system does not tell.
std::filesystem::path own_folder() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
}

std::vector<std::filesystem::path> searched_folders() {
  std::vector<std::filesystem::path> folders;
  if (const std::filesystem::path own = own_folder(); !own.empty()) folders.push_back(own);
  const char* path = std::getenv("PATH");
  std::istringstream entries(path ? path : "");
  for (std::string entry; std::getline(entries, entry, ':');) folders.emplace_back(entry.empty() ? "." : entry);
  return folders;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  for (const std::filesystem::path& folder : searched_folders()) {
    std::filesystem::path program = folder / name;
    if (is_program(program)) return program;
  }
  return std::nullopt;
}

// Returns the planner's command. A `planner` that is not beside this program may be GNOME's.
std::optional<External> find_planner() {
  const std::filesystem::path own = own_folder() / "planner";
  const std::optional<std::filesystem::path> program =
      own.is_absolute() && is_program(own) ? own : find_program("znni-planner");
  return program ? std::optional(External{*program, {std::string(of_planner)}}) : std::nullopt;
}

void name_own_daemon() {
  const std::filesystem::path daemon = own_folder() / "znnid";
  if (daemon.is_absolute() && is_program(daemon)) setenv("ZNNID", daemon.c_str(), 0);
}

}  // namespace

std::optional<External> find_external(std::string_view word) {
  if (!is_word(word)) return std::nullopt;
  if (word == of_planner) return find_planner();
  const std::optional<std::filesystem::path> program = find_program("znni-" + std::string(word));
  return program ? std::optional(External{*program}) : std::nullopt;
}

std::string run_external(const External& external, std::vector<std::string> arguments) {
  name_own_daemon();
  arguments.insert(arguments.begin(), external.first.begin(), external.first.end());
  arguments.insert(arguments.begin(), external.program.string());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(external.program.c_str(), pointers.data());
  return external.program.string() + ": cannot be run: " + std::strerror(errno);
}

std::vector<std::string> with_help_spelled_out(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.resize(std::min<std::size_t>(arguments.size(), 1));
  arguments.emplace_back("--help");
  return arguments;
}

std::string unknown_word(std::string_view word) {
  const std::string program = "znni-" + std::string(word);
  if (std::ranges::find(of_python, word) != of_python.end()) {
    return program + " is neither beside znni nor on the PATH: it comes with the Python client (docs/python.md)";
  }
  if (word == of_planner) {
    return "the planner, which answers 'check', is neither beside znni nor, as znni-planner, on the PATH: install it "
           "as docs/install.md says";
  }
  return "'" + std::string(word) + "' is not a command, and there is no program " + program +
         " beside znni or on the PATH (znni --help)";
}

}  // namespace znni::client
