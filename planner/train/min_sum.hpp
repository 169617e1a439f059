// The least sum of terms that each depend on a few variables: one variable after the other is eliminated, the one first
// whose terms share the fewest others (bucket elimination: Dechter, Artificial Intelligence 113, 1999).
#pragma once

#include <optional>
#include <vector>

namespace znni {

// values[i] is the term for the variables' choices, the first variable's the most significant digit of i.
struct SumTerm {
  std::vector<int> variables;  // each once
  std::vector<double> values;  // choices ^ variables.size(); may be infinite
};

// Returns a choice in [0, choices) for each of `variables` variables whose sum is the least; of equals always the same.
// Nothing if terms hang together so much that a table would have more than `max_entries`.
[[nodiscard]] std::optional<std::vector<int>> min_sum(int variables, int choices, std::vector<SumTerm> terms,
                                                      std::size_t max_entries = std::size_t{1} << 16);

}  // namespace znni
