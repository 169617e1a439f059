#include "planner/search/search_family.hpp"

#include "planner/plan/pairs.hpp"

namespace znni {

SearchFamily::SearchFamily(const Network& network, const GeometryChoice& like)
    : network_(network), geometries_(GeometryFamily::make(network, like)), begins_pair_(network.nodes.size()) {
  if (geometries_) use_ = network_use(network, geometries_->common());
}

const NetworkUse& SearchFamily::use_in_pairs(const std::vector<bool>& absent) const {
  const std::scoped_lock lock(mutex_);
  const auto [found, is_new] = uses_in_pairs_.try_emplace(absent);
  if (is_new) {
    const Geometry common = with_pairs(network_, geometries_->common(), absent);
    found->second = network_use(searched_in_pairs(network_, absent), common, absent);
  }
  return found->second;
}

}  // namespace znni
