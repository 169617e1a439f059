// Convolutions that are pooled at once: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/conv.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/pool.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// A convolution and the pooling of its output as one piece of work. No other layer reads the tensor between them, so a
// first layer needs no memory for it. `pool.in` is the convolution's output; a residual is not allowed.
struct ConvPoolProblem {
  ConvProblem conv;
  PoolProblem pool;

  constexpr auto operator<=>(const ConvPoolProblem&) const = default;
};

template <>
struct ProblemRules<ConvPoolProblem> : RulesOfOneInput<ConvPoolProblem> {
  using Conv = ProblemRules<ConvProblem>;
  using Pool = ProblemRules<PoolProblem>;

  static const ConvProblem* convolution(const ConvPoolProblem& both) { return &both.conv; }
  static Vec3 window(const ConvPoolProblem& both) { return both.conv.k; }
  static Shape5 input(const ConvPoolProblem& both, int) { return both.conv.in; }
  static Shape5 output(const ConvPoolProblem& both) { return Pool::output(both.pool); }
  static double flops(const ConvPoolProblem& both) { return Conv::flops(both.conv) + Pool::flops(both.pool); }

  static Result<void> check(const ConvPoolProblem& both) {
    if (Result<void> sound = check_shape(both.conv.in); !sound) return sound;
    if (both.conv.residual) return invalid_problem("a convolution that is pooled has no residual");
    if (Result<void> sound = Conv::check(both.conv); !sound) return sound;
    if (const Shape5 between = Conv::output(both.conv); both.pool.in != between) {
      return invalid_problem("the pooling reads " + to_string(both.pool.in) + ", the convolution before it writes " +
                             to_string(between));
    }
    return Pool::check(both.pool);
  }

  static std::string text(const ConvPoolProblem& both) {
    return Conv::text(both.conv) + std::string(then) + Pool::text(both.pool);
  }

  static std::optional<ConvPoolProblem> parse(TextPieces pieces) {
    const std::string_view text = pieces.rest();
    const std::size_t at = text.find(then);
    if (at == std::string_view::npos) return std::nullopt;
    const std::optional<ConvProblem> conv = Conv::parse(TextPieces(text.substr(0, at)));
    const std::optional<PoolProblem> pool = Pool::parse(TextPieces(text.substr(at + then.size())));
    if (!conv || !pool) return std::nullopt;
    return ConvPoolProblem{*conv, *pool};
  }

  static std::size_t hash(const ConvPoolProblem& p) { return mixed(Conv::hash(p.conv), Pool::hash(p.pool)); }

 private:
  static constexpr std::string_view then = ", then ";
};

}  // namespace znni
