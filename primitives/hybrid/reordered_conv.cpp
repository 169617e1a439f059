#include "primitives/hybrid/reordered_conv.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "primitives/hybrid/layers_in_turn.hpp"

namespace znni::hybrid {
namespace {

constexpr std::string_view shared_scratch = "scratch";

// A tensor of the convolution, in the format in which it is computed.
struct Inside {
  std::string name;  // name of the buffer
  Shape5 shape;
  Format format;
  bool is_output = false;

  [[nodiscard]] bool differs() const { return format != Format{}; }
  [[nodiscard]] std::int64_t bytes() const { return tensor_bytes(shape, format); }
  // Returns the reorder from planar to this format, or back for the output.
  [[nodiscard]] ReorderProblem reorder() const {
    return is_output ? ReorderProblem{shape, format, {}} : ReorderProblem{shape, {}, format};
  }
};

// Returns the inputs, then the output.
std::vector<Inside> tensors_inside(const ConvProblem& conv, const Estimate& inner) {
  std::vector<Inside> all;
  for (int i = 0; i < input_count(conv); ++i) {
    all.push_back({"reordered " + input_name(i), input_shape(conv, i), input_format(conv, i, inner.in, inner.out)});
  }
  all.push_back({"reordered " + std::string(output_name), output_shape(conv), inner.out, true});
  return all;
}

// Returns the estimate of a reorder from planar to the tensor's format or back; every primitive that reorders offers
// both.
Result<Estimate> reorder_estimate(const Inside& tensor, const Primitive& reorder, const DeviceSpec& spec) {
  const ReorderProblem problem = tensor.reorder();
  Result<std::vector<Estimate>> all = reorder.describe(problem, spec);
  if (!all) return all.error();
  const auto found = std::find_if(all->begin(), all->end(), [&](const Estimate& estimate) {
    return estimate.in == problem.from && estimate.out == problem.to;
  });
  if (found != all->end()) return std::move(*found);
  return Error{ErrorCode::unsupported,
               std::string(reorder.name) + " does not do what it offers: " + to_string(LayerProblem(problem))};
}

class ReorderedConv final : public PreparedLayer {
 public:
  ReorderedConv(std::vector<Inside> tensors, const Arena::Poison& poison)
      : tensors_(std::move(tensors)), layers_(poison) {}

  LayersInTurn& layers() { return layers_; }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    layers_.place(layers_.bytes() > 0 ? arena.grant(shared_scratch).data() : nullptr);
    std::array<TensorView, 2> inside;
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inside[i] = tensors_[i].differs() ? place(tensors_[i], arena) : inputs[i];
      if (!tensors_[i].differs()) continue;
      if (Result<void> done = layers_.run(next++, inputs.subspan(i, 1), inside[i]); !done) return done;
    }
    const Inside& output = tensors_.back();
    const TensorView written = output.differs() ? place(output, arena) : out;
    const std::span<const TensorView> read = std::span(inside).first(inputs.size());
    if (Result<void> done = layers_.run(next++, read, written); !done) return done;
    return output.differs() ? layers_.run(next, std::span(&written, 1), out) : Result<void>();
  }

 private:
  static TensorView place(const Inside& tensor, Arena& arena) {
    return dense_view(reinterpret_cast<float*>(arena.grant(tensor.name).data()), tensor.shape, tensor.format);
  }

  std::vector<Inside> tensors_;
  LayersInTurn layers_;  // reorders of inputs, the convolution, the reorder of the output
};

}  // namespace

Result<Estimate> describe_reordered(const ConvProblem& conv, const Estimate& inner, const Primitive& reorder,
                                    const DeviceSpec& spec) {
  Estimate all{inner.variant, {}, {}, inner.time, input_output_buffers(conv, {}, {}, 0, MemorySpace::device)};
  all.spread = inner.spread;
  std::int64_t scratch = scratch_bytes(inner);
  for (const Inside& tensor : tensors_inside(conv, inner)) {
    if (!tensor.differs()) continue;
    const Result<Estimate> own = reorder_estimate(tensor, reorder, spec);
    if (!own) return own.error();
    all.time += own->time;
    all.memory.push_back({tensor.name, MemorySpace::device, tensor.bytes(), Lifetime::stages(0, 0)});
    scratch = std::max(scratch, scratch_bytes(*own));
  }
  if (scratch > 0) {
    all.memory.push_back({std::string(shared_scratch), MemorySpace::device, scratch, Lifetime::stages(0, 0)});
  }
  std::copy_if(inner.memory.begin(), inner.memory.end(), std::back_inserter(all.memory),
               [](const Buffer& buffer) { return buffer.lifetime.persistent; });
  return all;
}

Result<std::unique_ptr<PreparedLayer>> prepare_reordered(const ConvProblem& conv, const Primitive& primitive,
                                                         const Estimate& inner, const Primitive& reorder,
                                                         const LayerWeights& weights, Arena& persistent,
                                                         Accelerator& accelerator, const Arena::Poison& poison) {
  const std::vector<Inside> tensors = tensors_inside(conv, inner);
  auto made = std::make_unique<ReorderedConv>(tensors, poison);
  const auto add = [&](const LayerProblem& problem, const Primitive& by, const Estimate& estimate,
                       const LayerWeights& own) -> Result<void> {
    Result<std::unique_ptr<PreparedLayer>> layer = by.prepare(problem, estimate, own, persistent, accelerator);
    if (!layer) return layer.error();
    made->layers().add(*std::move(layer), estimate);
    return {};
  };
  for (const Inside& tensor : tensors) {
    if (tensor.is_output) {
      if (Result<void> added = add(conv, primitive, inner, weights); !added) return added.error();
    }
    if (!tensor.differs()) continue;
    const Result<Estimate> own = reorder_estimate(tensor, reorder, accelerator.spec());
    if (!own) return own.error();
    if (Result<void> added = add(tensor.reorder(), reorder, *own, {}); !added) return added.error();
  }
  return std::unique_ptr<PreparedLayer>(std::move(made));
}

}  // namespace znni::hybrid
