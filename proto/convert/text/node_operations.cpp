#include "proto/convert/text/node_operations.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/text/node_fields.hpp"
#include "proto/convert/text/stack_stages.hpp"

namespace znni {
namespace {

// Each operation specialises it, so that one without does not compile, with
//   static constexpr std::array fields = {...};                        of Node, that are it
//   static Result<Operation> read(const text::Node&, int rank);        of a node that has one of these fields
//   static void write(text::Node&, const Operation's own&, int rank);  in one of them
//   static Result<Border> pads(const text::Node&, int rank);           around the first input
template <class Own>
struct NodeRules;

struct RulesWithoutPads {
  static Result<Border> pads(const text::Node&, int) { return Border{}; }
};

// Sets an epsilon that is not the usual one.
template <class Message>
void set_epsilon(Message& message, float epsilon) {
  if (epsilon != message.epsilon()) message.set_epsilon(epsilon);
}

template <>
struct NodeRules<Convolution> {
  static constexpr std::array fields = {text::Node::kConv};

  static Result<Operation> read(const text::Node& node, int rank) {
    const text::Convolution& conv = node.conv();
    if (!conv.has_f_out() || conv.k().empty()) return corrupt("conv needs f_out and k");
    const Result<Vec3> k = extent_or("k", conv.k(), rank, Vec3::cube(1));
    if (!k) return k.error();
    const Result<Vec3> dilation = extent_or("dilation", conv.dilation(), rank, Vec3::cube(1));
    if (!dilation) return dilation.error();
    const Result<Vec3> stride = extent_or("stride", conv.stride(), rank, Vec3::cube(1));
    if (!stride) return stride.error();
    const std::int64_t groups = conv.has_groups() ? conv.groups() : 1;
    return Operation(Convolution{conv.f_out(), *k, *dilation, fused_activation_of(conv), *stride, groups});
  }

  static void write(text::Node& node, const Convolution& conv, int rank) {
    text::Convolution& written = *node.mutable_conv();
    written.set_f_out(conv.f_out);
    set_extent(written.mutable_k(), conv.k, rank);
    if (conv.dilation != Vec3::cube(1)) set_extent(written.mutable_dilation(), conv.dilation, rank);
    if (conv.stride != Vec3::cube(1)) set_extent(written.mutable_stride(), conv.stride, rank);
    if (conv.groups != 1) written.set_groups(conv.groups);
    set_fused_activation(written, conv.activation);
  }

  static Result<Border> pads(const text::Node& node, int rank) { return pads_around(node.conv(), rank); }
};

template <>
struct NodeRules<Pooling> {
  static constexpr std::array fields = {text::Node::kMaxPool, text::Node::kAveragePool};

  static Result<Operation> read(const text::Node& node, int rank) {
    const text::Pooling& pool = message(node);
    if (pool.window().empty()) return corrupt("a pooling needs window");
    const Result<Vec3> window = extent_or("window", pool.window(), rank, Vec3::cube(1));
    if (!window) return window.error();
    const Result<Vec3> stride = extent_or("stride", pool.stride(), rank, *window);
    if (!stride) return stride.error();
    const Result<Vec3> dilation = extent_or("dilation", pool.dilation(), rank, Vec3::cube(1));
    if (!dilation) return dilation.error();
    if (node.has_max_pool() && pool.inside()) return corrupt("inside is of an average_pool");
    return Operation(Pooling{kind_of(node), *window, *stride, pool.strided(), *dilation});
  }

  static void write(text::Node& node, const Pooling& pool, int rank) {
    text::Pooling& written = pool.kind == PoolKind::max ? *node.mutable_max_pool() : *node.mutable_average_pool();
    set_extent(written.mutable_window(), pool.window, rank);
    set_extent(written.mutable_stride(), pool.stride, rank);
    if (pool.strided) written.set_strided(true);
    if (pool.dilation != Vec3::cube(1)) set_extent(written.mutable_dilation(), pool.dilation, rank);
    if (pool.kind == PoolKind::average_inside) written.set_inside(true);
  }

  static Result<Border> pads(const text::Node& node, int rank) { return pads_around(message(node), rank); }

 private:
  static PoolKind kind_of(const text::Node& node) {
    if (node.has_max_pool()) return PoolKind::max;
    return node.average_pool().inside() ? PoolKind::average_inside : PoolKind::average;
  }

  static const text::Pooling& message(const text::Node& node) {
    return node.has_max_pool() ? node.max_pool() : node.average_pool();
  }
};

template <>
struct NodeRules<Stack> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kStack};

  static Result<Operation> read(const text::Node& node, int rank) {
    Stack stack;
    for (const text::StackStage& stage : node.stack().stage()) {
      Result<StackStage> own = stage_of(stage, rank);
      if (!own) return own.error();
      stack.stages.push_back(*own);
    }
    return Operation(std::move(stack));
  }

  static void write(text::Node& node, const Stack& stack, int rank) {
    text::Stack& written = *node.mutable_stack();
    for (const StackStage& stage : stack.stages) set_stage(*written.add_stage(), stage, rank);
  }
};

template <>
struct NodeRules<Activate> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kActivate};

  static Result<Operation> read(const text::Node& node, int) {
    return Operation(Activate{activation_of(node.activate(), node.activate().kind())});
  }

  static void write(text::Node& node, const Activate& own, int) {
    const Activation activation = own.activation;
    node.mutable_activate()->set_kind(static_cast<text::Activation::Kind>(activation.kind));
    if (activation.alpha != default_alpha(activation.kind)) node.mutable_activate()->set_alpha(activation.alpha);
  }
};

template <>
struct NodeRules<AcrossChannels> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kSoftmax, text::Node::kLogSoftmax, text::Node::kArgMax,
                                        text::Node::kChannelNorm, text::Node::kUnitLength};

  static Result<Operation> read(const text::Node& node, int) {
    if (node.has_softmax()) return Operation(AcrossChannels{AcrossKind::softmax});
    if (node.has_log_softmax()) return Operation(AcrossChannels{AcrossKind::log_softmax});
    if (node.has_channel_norm()) return Operation(AcrossChannels{AcrossKind::norm, node.channel_norm().epsilon()});
    if (node.has_unit_length()) return Operation(AcrossChannels{AcrossKind::unit, node.unit_length().epsilon()});
    return Operation(AcrossChannels{node.arg_max().last() ? AcrossKind::arg_max_last : AcrossKind::arg_max});
  }

  static void write(text::Node& node, const AcrossChannels& across, int) {
    switch (across.kind) {
      case AcrossKind::softmax: node.mutable_softmax(); return;
      case AcrossKind::log_softmax: node.mutable_log_softmax(); return;
      case AcrossKind::arg_max: node.mutable_arg_max(); return;
      case AcrossKind::arg_max_last: node.mutable_arg_max()->set_last(true); return;
      case AcrossKind::norm: return set_epsilon(*node.mutable_channel_norm(), across.epsilon);
      case AcrossKind::unit: return set_epsilon(*node.mutable_unit_length(), across.epsilon);
    }
  }
};

template <>
struct NodeRules<ScaleShift> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kScaleShift};
  static Result<Operation> read(const text::Node&, int) { return Operation(ScaleShift{}); }
  static void write(text::Node& node, const ScaleShift&, int) { node.mutable_scale_shift(); }
};

template <>
struct NodeRules<PRelu> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kPrelu};
  static Result<Operation> read(const text::Node&, int) { return Operation(PRelu{}); }
  static void write(text::Node& node, const PRelu&, int) { node.mutable_prelu(); }
};

template <>
struct NodeRules<Norm> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kNorm};

  static Result<Operation> read(const text::Node& node, int) {
    const text::Norm& norm = node.norm();
    const NormKind kind = norm.response() ? NormKind::response : NormKind::deviation;
    return Operation(Norm{norm.groups(), norm.epsilon(), fused_activation_of(norm), kind});
  }

  static void write(text::Node& node, const Norm& norm, int) {
    text::Norm& written = *node.mutable_norm();
    written.set_groups(norm.groups);
    set_epsilon(written, norm.epsilon);
    set_fused_activation(written, norm.activation);
    if (norm.kind == NormKind::response) written.set_response(true);
  }
};

template <>
struct NodeRules<GlobalPool> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kGlobalAveragePool, text::Node::kGlobalMaxPool};

  static Result<Operation> read(const text::Node& node, int) {
    return Operation(GlobalPool{node.has_global_max_pool() ? PoolKind::max : PoolKind::average});
  }

  static void write(text::Node& node, const GlobalPool& pool, int) {
    pool.kind == PoolKind::max ? node.mutable_global_max_pool() : node.mutable_global_average_pool();
  }
};

template <>
struct NodeRules<Add> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kAdd};
  static Result<Operation> read(const text::Node& node, int) { return Operation(Add{fused_activation_of(node.add())}); }
  static void write(text::Node& node, const Add& sum, int) {
    set_fused_activation(*node.mutable_add(), sum.activation);
  }
};

template <>
struct NodeRules<Attention> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kAttention};

  static Result<Operation> read(const text::Node& node, int) {
    return Operation(Attention{node.attention().heads(), node.attention().scale()});
  }

  static void write(text::Node& node, const Attention& own, int) {
    text::Attention& written = *node.mutable_attention();
    written.set_heads(own.heads);
    if (own.scale != written.scale()) written.set_scale(own.scale);
  }
};

template <>
struct NodeRules<AddVolume> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kAddVolume};

  static Result<Operation> read(const text::Node& node, int rank) {
    if (node.add_volume().extent().empty()) return corrupt("add_volume needs extent");
    const Result<Vec3> extent = extent_or("extent", node.add_volume().extent(), rank, Vec3::cube(1));
    return extent ? Result<Operation>(AddVolume{*extent}) : extent.error();
  }

  static void write(text::Node& node, const AddVolume& own, int rank) {
    set_extent(node.mutable_add_volume()->mutable_extent(), own.extent, rank);
  }
};

template <>
struct NodeRules<Multiply> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kMultiply};
  static Result<Operation> read(const text::Node&, int) { return Operation(Multiply{}); }
  static void write(text::Node& node, const Multiply&, int) { node.mutable_multiply(); }
};

template <>
struct NodeRules<Divide> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kDivide};
  static Result<Operation> read(const text::Node&, int) { return Operation(Divide{}); }
  static void write(text::Node& node, const Divide&, int) { node.mutable_divide(); }
};

template <>
struct NodeRules<Concat> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kConcat};
  static Result<Operation> read(const text::Node&, int) { return Operation(Concat{}); }
  static void write(text::Node& node, const Concat&, int) { node.mutable_concat(); }
};

template <>
struct NodeRules<Crop> : RulesWithoutPads {
  static constexpr std::array fields = {text::Node::kCrop};

  static Result<Operation> read(const text::Node& node, int rank) {
    const Result<Border> ends = ends_of(node.crop(), rank);
    if (!ends) return ends.error();
    return Operation(Crop{ends->begin, ends->end});
  }

  static void write(text::Node& node, const Crop& crop, int rank) { set_ends(*node.mutable_crop(), crop, rank); }
};

template <>
struct NodeRules<Upsample> {
  static constexpr std::array fields = {text::Node::kUpsample};
  static_assert(static_cast<int>(UpsampleKind::nearest) == text::Upsample::nearest);
  static_assert(static_cast<int>(UpsampleKind::aligned) == text::Upsample::aligned);

  static Result<Operation> read(const text::Node& node, int rank) {
    const text::Upsample& up = node.upsample();
    if (up.factor().empty()) return corrupt("upsample needs factor");
    const Result<Vec3> factor = extent_or("factor", up.factor(), rank, Vec3::cube(1));
    if (!factor) return factor.error();
    return Operation(Upsample{*factor, static_cast<UpsampleKind>(up.kind())});
  }

  static void write(text::Node& node, const Upsample& up, int rank) {
    text::Upsample& written = *node.mutable_upsample();
    set_extent(written.mutable_factor(), up.factor, rank);
    if (up.kind != UpsampleKind::nearest) written.set_kind(static_cast<text::Upsample::Kind>(up.kind));
  }

  static Result<Border> pads(const text::Node& node, int rank) { return pads_around(node.upsample(), rank); }
};

// How a node that is one of the operations reads.
struct Row {
  bool (*is_of)(text::Node::OpCase field);
  Result<Operation> (*read)(const text::Node&, int rank);
  Result<Border> (*pads)(const text::Node&, int rank);
};

template <class Own>
constexpr Row row_of() {
  using Rules = NodeRules<Own>;
  return {[](text::Node::OpCase field) { return std::count(Rules::fields.begin(), Rules::fields.end(), field) > 0; },
          &Rules::read, &Rules::pads};
}

// Returns a row for every operation that a node may be.
template <class... Own>
constexpr auto rows_of(const std::variant<Own...>*) {
  return std::array{row_of<Own>()...};
}
constexpr auto rows = rows_of(static_cast<const Operation*>(nullptr));

// Returns the row of the node's operation; nullptr if the node has none.
const Row* find_row(const text::Node& node) {
  const auto* const row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.is_of(node.op_case()); });
  return row == rows.end() ? nullptr : row;
}

// Returns the names of all fields that are operations: "conv, max_pool".
std::string known_fields() {
  const google::protobuf::OneofDescriptor* fields = text::Node::descriptor()->FindOneofByName("op");
  std::string names;
  for (int i = 0; i < fields->field_count(); ++i) names += (i == 0 ? "" : ", ") + std::string(fields->field(i)->name());
  return names;
}

}  // namespace

Result<Operation> operation_of(const text::Node& node, int rank) {
  if (const Row* row = find_row(node)) return row->read(node, rank);
  return corrupt("has no operation; " + known_fields() + " are known");
}

Result<Border> pads_of(const text::Node& node, int rank) {
  const Row* row = find_row(node);
  return row == nullptr ? Result<Border>(Border{}) : row->pads(node, rank);
}

void set_operation(text::Node& node, const Operation& operation, int rank) {
  std::visit([&]<class Own>(const Own& own) { NodeRules<Own>::write(node, own, rank); }, operation);
}

}  // namespace znni
