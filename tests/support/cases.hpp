// Problem lists as text (tests/cases/*.txt): "name: conv 1x80x24x24x24 -> 80, k 3x3x3, relu", one per line, in the
// format of to_string(LayerProblem). '#' begins a comment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::test {

struct Case {
  std::string name;
  LayerProblem problem;
};

// Parses a convolution or pooling; the inverse of to_string(). The error quotes the line.
[[nodiscard]] Result<LayerProblem> parse_problem(std::string_view text);

[[nodiscard]] Result<std::vector<Case>> read_cases(const std::filesystem::path& file);

// Returns tests/cases of the source tree, or ZNNI_CASE_FOLDER if programs run elsewhere than they were built.
[[nodiscard]] std::filesystem::path case_folder();

}  // namespace znni::test
