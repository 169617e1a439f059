#include "planner/costs/problem_family.hpp"

#include <algorithm>
#include <cctype>

namespace znni {
namespace {

bool is_shape(std::string_view word) {
  const bool digits =
      std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == 'x'; });
  return digits && std::count(word.begin(), word.end(), 'x') == 4;
}

std::string_view channels_and_batch(std::string_view shape) {
  const std::size_t first = shape.find('x') + 1;
  return shape.substr(first, shape.find('x', first) - first);
}

constexpr std::string_view fragments_part = "fragments of ";

// Returns the text from `word` up to the next comma; "" if it does not occur.
std::string_view part_from(std::string_view problem, std::string_view word) {
  const std::size_t begin = problem.find(word);
  if (begin == std::string_view::npos) return {};
  return problem.substr(begin, problem.find(',', begin + 1) - begin);
}

// Returns the class of a problem that is one layer's.
std::string class_of_one(std::string_view problem) {
  const std::size_t shape = problem.find_first_of("0123456789");
  std::string name(problem.substr(0, shape == std::string_view::npos ? problem.size() : shape));
  for (const std::string_view word : {"k ", "window "}) {
    const std::string_view part = part_from(problem, std::string(", ").append(word));
    if (!part.empty()) return name.append(part.substr(2));
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

}  // namespace

std::string problem_family(std::string_view problem) {
  std::string family;
  while (!problem.empty()) {
    if (problem.starts_with(fragments_part)) {
      family += "fragments";
      problem.remove_prefix(std::min(problem.find(' ', fragments_part.size()), problem.size()));
      continue;
    }
    const std::size_t end = std::min(problem.find_first_of(" ,"), problem.size());
    const std::string_view word = problem.substr(0, end);
    family += is_shape(word) ? channels_and_batch(word) : word;
    if (end < problem.size()) family += problem[end];
    problem.remove_prefix(std::min(end + 1, problem.size()));
  }
  return family;
}

std::string problem_class(std::string_view problem) {
  constexpr std::string_view then = ", then ";
  const std::size_t at = problem.find(then);
  if (at == std::string_view::npos) return class_of_one(problem);
  return class_of_one(problem.substr(0, at)).append(then).append(class_of_one(problem.substr(at + then.size())));
}

}  // namespace znni
