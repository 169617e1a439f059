#include "planner/search/candidate_verdict.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace znni {
namespace {

std::string rate_text(double voxels_per_second) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g voxels/s", voxels_per_second);
  return text.data();
}

}  // namespace

GeometryOptions tensors_of(const Geometry& geometry, std::int64_t kernels, const std::vector<std::size_t>& without) {
  GeometryOptions options;
  options.nodes.assign(geometry.problems.size(), nullptr);
  options.kernels = geometry.choice.axis == 0 ? 0 : kernels;
  options.min_persistent = options.kernels;
  for (std::size_t value = 0; value < geometry.values.size(); ++value) {
    if (std::find(without.begin(), without.end(), value) != without.end()) continue;
    const std::int64_t bytes = value_bytes(geometry, static_cast<int>(value), Format{});
    options.min_transient = std::max(options.min_transient, bytes);
    const std::int64_t kept = history_bytes(geometry, static_cast<int>(value), Format{});
    options.min_histories = add(options.min_histories, round_up(kept, buffer_alignment));
  }
  return options;
}

CandidateVerdict CandidateVerdict::slower(double voxels_per_second) {
  CandidateVerdict verdict(Kind::slower);
  verdict.rate = voxels_per_second;
  return verdict;
}

CandidateVerdict CandidateVerdict::of_bytes(const GeometryOptions& options, const ChoiceLimits& limits) {
  const std::int64_t transient = add(options.min_transient, options.min_histories);
  const std::int64_t sum = add(options.min_persistent, transient);
  const bool fits = transient <= limits.transient && options.min_persistent <= limits.persistent;
  if (fits && sum <= limits.total) return {};
  CandidateVerdict verdict(Kind::memory);
  verdict.bytes = sum;
  verdict.left = std::min(limits.total, add(limits.persistent, limits.transient));
  return verdict;
}

std::string CandidateVerdict::text() const {
  switch (kind) {
    case Kind::in: return "";
    case Kind::illegal:
    case Kind::undescribed: return why;
    case Kind::larger: return "larger than this rung";
    case Kind::memory:
      return "needs at least " + bytes_text(bytes) + " beside the weights, " + bytes_text(left) + " are left";
    case Kind::slower: return "slower: less than " + rate_text(rate);
    case Kind::no_combination: return "no combination of its layers both fits and is fast enough";
    case Kind::unpacked: return "does not pack";
    case Kind::stopped: return "not looked at: the search was stopped";
  }
  return "";
}

}  // namespace znni
