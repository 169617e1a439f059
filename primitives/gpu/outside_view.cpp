#include "primitives/gpu/outside_view.hpp"

#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

OutsideAxis axis_of(const InsideAxis& axis) { return {axis.first, axis.last, axis.seen_first, axis.seen_last}; }

}  // namespace

OutsideArg outside_arg(const OutsideFill& fill) {
  OutsideArg arg;
  arg.rows = rows_of(fill.view, 1);
  arg.planar = fill.view.format.layout == Layout::planar;
  arg.steps = row_steps_of(fill.view, 1);
  arg.rule = static_cast<Outside>(fill.rule);
  arg.z = axis_of(fill.axes[0]);
  arg.y = axis_of(fill.axes[1]);
  arg.x = axis_of(fill.axes[2]);
  arg.kept = fill.rule == OutsideRule::reflected ? fill.kept : 0;
  arg.value = fill.value;
  return arg;
}

}  // namespace znni::cuda
