// The rules of a kind of problem: ProblemRules<ConvProblem>, in a file of its own. primitives/core/problem.hpp asks
// them for every problem, so that a kind without rules does not compile.
#pragma once

#include <optional>
#include <string>

#include "primitives/core/problems/text_pieces.hpp"
#include "primitives/core/shape.hpp"

namespace znni {

struct ConvProblem;

// Each kind specialises it with the functions of RulesOfOneInput and
//   static std::string text(const Problem&);             as to_string() says
//   static std::optional<Problem> parse(TextPieces);     what text() wrote; nothing if the text is of another kind
//   static std::size_t hash(const Problem&);
template <class Problem>
struct ProblemRules;

// The answers of a kind that reads one tensor and writes one of its shape with one operation per element. A kind that
// differs in one of them has that function itself.
template <class Problem>
struct RulesOfOneInput {
  // True if inputs behind the first come in the output's format, not in the first one's.
  static constexpr bool others_as_output = false;

  static const ConvProblem* convolution(const Problem&) { return nullptr; }
  static bool has_scale(const Problem&) { return false; }
  static Vec3 window(const Problem&) { return Vec3::cube(1); }
  static int input_count(const Problem&) { return 1; }
  static Shape5 input(const Problem& problem, int) { return problem.in; }
  static Shape5 output(const Problem& problem) { return problem.in; }
  static Result<void> check(const Problem& problem) { return check_shape(problem.in); }
  static double flops(const Problem& problem) {
    return static_cast<double>(elements(ProblemRules<Problem>::output(problem)));
  }
};

}  // namespace znni
