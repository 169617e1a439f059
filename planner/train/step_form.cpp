#include "planner/train/step_form.hpp"

#include "planner/network/max_filters.hpp"
#include "planner/train/step_plan.hpp"
#include "planner/train/trainable.hpp"

namespace znni {

Network pooled_form(const Network& network) {
  Network pooled = network;
  pool_for_dilations(pooled);
  return check_trainable(pooled) ? pooled : network;
}

Network step_form(const Network& network, Vec3 patch, bool sparse) {
  Network pooled = pooled_form(network);
  return sparse || check_step_patch(pooled, patch, sparse) ? pooled : network;
}

}  // namespace znni
