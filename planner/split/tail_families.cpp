#include "planner/split/tail_families.hpp"

#include "planner/layers/segments.hpp"

namespace znni {

TailFamilies::Tail& TailFamilies::tail_from(int until) {
  const auto known = tails_.find(until);
  if (known != tails_.end()) return known->second;
  const int last = static_cast<int>(network_.nodes.size()) - 1;
  return tails_.emplace(until, Tail{part_of(network_, until, last), {}}).first->second;
}

const Network& TailFamilies::network_from(int until) { return tail_from(until).network; }

const Result<GeometryFamily>& TailFamilies::family_from(int until, const GeometryChoice& like) {
  Tail& tail = tail_from(until);
  const auto known = tail.families.find(like);
  if (known != tail.families.end()) return known->second;
  return tail.families.emplace(like, GeometryFamily::make_part(tail.network, like)).first->second;
}

}  // namespace znni
