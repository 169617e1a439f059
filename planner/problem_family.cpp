#include "planner/problem_family.hpp"

#include <algorithm>
#include <cctype>

namespace znni {
namespace {

bool is_shape(std::string_view word) {
  const bool digits =
      std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == 'x'; });
  return digits && std::count(word.begin(), word.end(), 'x') == 4;
}

std::string_view images(std::string_view shape) {
  const std::size_t first = shape.find('x') + 1;
  return shape.substr(first, shape.find('x', first) - first);
}

}  // namespace

std::string problem_family(std::string_view problem) {
  std::string family;
  while (!problem.empty()) {
    const std::size_t end = std::min(problem.find_first_of(" ,"), problem.size());
    const std::string_view word = problem.substr(0, end);
    family += is_shape(word) ? images(word) : word;
    if (end < problem.size()) family += problem[end];
    problem.remove_prefix(std::min(end + 1, problem.size()));
  }
  return family;
}

}  // namespace znni
