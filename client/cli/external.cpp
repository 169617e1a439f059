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

void name_own_daemon() {
  const std::filesystem::path daemon = own_folder() / "znnid";
  if (daemon.is_absolute() && is_program(daemon)) setenv("ZNNID", daemon.c_str(), 0);
}

}  // namespace

std::optional<std::filesystem::path> find_external(std::string_view word) {
  if (!is_word(word)) return std::nullopt;
  for (const std::filesystem::path& folder : searched_folders()) {
    std::filesystem::path program = folder / ("znni-" + std::string(word));
    if (is_program(program)) return program;
  }
  return std::nullopt;
}

std::string run_external(const std::filesystem::path& program, std::vector<std::string> arguments) {
  name_own_daemon();
  std::string name = program.string();
  std::vector<char*> pointers = {name.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return program.string() + ": cannot be run: " + std::strerror(errno);
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
  return "'" + std::string(word) + "' is not a command, and there is no program " + program +
         " beside znni or on the PATH (znni --help)";
}

}  // namespace znni::client
