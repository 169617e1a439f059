#include "planner/costs/problem_text.hpp"

#include <optional>
#include <type_traits>
#include <utility>

namespace znni {
namespace {

// Returns the first kind of problem whose rules read the text.
template <std::size_t... kinds>
std::optional<LayerProblem> parse(std::string_view text, std::index_sequence<kinds...>) {
  std::optional<LayerProblem> found;
  const auto reads = [&]<class Problem>(std::type_identity<Problem>) {
    std::optional<Problem> problem = ProblemRules<Problem>::parse(TextPieces(text));
    if (!problem) return false;
    found = *std::move(problem);
    return true;
  };
  static_cast<void>((reads(std::type_identity<std::variant_alternative_t<kinds, LayerProblem>>()) || ...));
  return found;
}

std::optional<LayerProblem> parse(std::string_view text) {
  return parse(text, std::make_index_sequence<std::variant_size_v<LayerProblem>>());
}

}  // namespace

Result<LayerProblem> parse_problem(std::string_view text) {
  std::optional<LayerProblem> problem = parse(text);
  const std::string quoted = "problem '" + std::string(text) + "'";
  if (!problem) {
    return Error{ErrorCode::invalid_argument,
                 quoted + " is not understood; it should read like 'conv 1x80x48x48x48 -> 80, k 5x5x5, relu'"};
  }
  if (const Result<void> sound = check(*problem); !sound) return sound.error().within(quoted);
  if (const std::string right = to_string(*problem); right != text) {
    return Error{ErrorCode::invalid_argument, quoted + " should read '" + right + "'"};
  }
  return *std::move(problem);
}

}  // namespace znni
