#include "tests/gpu_bench/promising.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>

namespace znni::gpu_bench {
namespace {

constexpr double hopeless = 5;  // times the modelled time of the best

using Kind = std::tuple<const Primitive*, std::int64_t, std::int64_t>;

Kind kind_of(const Candidate& one) {
  const Variant& variant = one.estimate.variant;
  return {one.primitive, setting(variant, "form", -1), setting(variant, "engine", -1)};
}

}  // namespace

std::vector<Candidate> most_promising(std::vector<Candidate> all, std::size_t most) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.estimate.time < b.estimate.time; });
  std::vector<Candidate> first;
  std::vector<Candidate> others;
  std::set<Kind> seen;
  for (Candidate& one : all) {
    const bool hopeful = one.estimate.time < hopeless * all.front().estimate.time;
    (hopeful && seen.insert(kind_of(one)).second ? first : others).push_back(one);
  }
  first.insert(first.end(), others.begin(), others.end());
  if (first.size() > most) first.resize(most);
  return first;
}

}  // namespace znni::gpu_bench
