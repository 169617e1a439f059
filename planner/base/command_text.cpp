#include "planner/base/command_text.hpp"

#include <algorithm>
#include <cctype>

namespace znni {
namespace {

bool is_safe_in_shell(char c) {
  constexpr std::string_view others = "_-./,:=+@%";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
}

std::string quoted(const std::string& argument) {
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_safe_in_shell)) return argument;
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string command_text(std::string_view program, const std::vector<std::string>& arguments) {
  std::string text(program);
  for (const std::string& argument : arguments) text += " " + quoted(argument);
  return text;
}

}  // namespace znni
