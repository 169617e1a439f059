#include "proto/convert/text/stack_stages.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/text/node_fields.hpp"

namespace znni {
namespace {

Result<StackStage> pool_of(const text::Pooling& pool, PoolKind kind, int rank) {
  const bool others = !pool.stride().empty() || !pool.dilation().empty() || pool.inside() || pool.strided();
  if (pool.window().empty() || others) return corrupt("a pooling of a stack needs window, and has pads besides alone");
  const Result<Vec3> window = extent_or("window", pool.window(), rank, Vec3::cube(1));
  if (!window) return window.error();
  const Result<Border> pads = pads_around(pool, rank);
  if (!pads) return pads.error();
  return StackStage{StackOperation::pool, kind, *window, pads->begin, pads->end, {}};
}

}  // namespace

Result<StackStage> stage_of(const text::StackStage& stage, int rank) {
  if (stage.has_max_pool()) return pool_of(stage.max_pool(), PoolKind::max, rank);
  if (stage.has_average_pool()) return pool_of(stage.average_pool(), PoolKind::average, rank);
  StackStage other;
  other.operation = stage.has_activate() ? StackOperation::activation : StackOperation::scale_shift;
  if (stage.has_activate()) other.activation = activation_of(stage.activate(), stage.activate().kind());
  if (stage.has_activate() || stage.has_scale_shift()) return other;
  return corrupt("a stage of a stack has no operation");
}

void set_stage(text::StackStage& written, const StackStage& stage, int rank) {
  if (stage.operation == StackOperation::scale_shift) {
    written.mutable_scale_shift();
    return;
  }
  if (stage.operation == StackOperation::activation) {
    const Activation activation = stage.activation;
    written.mutable_activate()->set_kind(static_cast<text::Activation::Kind>(activation.kind));
    if (activation.alpha != default_alpha(activation.kind)) written.mutable_activate()->set_alpha(activation.alpha);
    return;
  }
  text::Pooling& pool = stage.kind == PoolKind::max ? *written.mutable_max_pool() : *written.mutable_average_pool();
  set_extent(pool.mutable_window(), stage.window, rank);
  if (stage.before != Vec3{}) set_extent(pool.mutable_pad_begin(), stage.before, rank);
  if (stage.behind != Vec3{}) set_extent(pool.mutable_pad_end(), stage.behind, rank);
}

}  // namespace znni
