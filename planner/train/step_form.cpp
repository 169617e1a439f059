#include "planner/train/step_form.hpp"

#include <utility>

#include "planner/network/max_filters.hpp"
#include "planner/train/step_plan.hpp"
#include "planner/train/trainable.hpp"

namespace znni {

Network pooled_form(const Network& network) {
  Network pooled = network;
  pool_for_dilations(pooled);
  return check_trainable(pooled) ? pooled : network;
}

StepForm step_form(const Network& network, Vec3 patch, bool sparse) {
  Network pooled = pooled_form(network);
  if (pooled == network) return {std::move(pooled), ""};
  const Result<void> fits = sparse ? Result<void>() : check_step_patch(pooled, patch, sparse);
  if (fits) return {std::move(pooled), "max filters are computed as poolings with strides; the model keeps them"};
  return {network, "max filters are computed as they are, which takes longer than poolings with strides: " +
                       fits.error().message};
}

}  // namespace znni
