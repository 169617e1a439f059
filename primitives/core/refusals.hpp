// Errors that refuse what was asked for, before anything is computed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "primitives/core/problem.hpp"
#include "primitives/core/result.hpp"

namespace znni {

// Returns an invalid_argument: what is said contradicts itself or what it is about.
[[nodiscard]] inline Error invalid_argument(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Returns an `unsupported`: it is sound, but not computed here.
[[nodiscard]] inline Error refused(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

// Returns an error like "cpu.pool.mpf computes max-pooling fragments, not: conv 1x80x...".
[[nodiscard]] Error refusal(std::string_view primitive, std::string_view computes, const LayerProblem& problem);

}  // namespace znni
