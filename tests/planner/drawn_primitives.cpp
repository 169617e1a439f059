#include "tests/planner/drawn_primitives.hpp"

namespace znni::drawn {

double draw(const std::string& text, std::int64_t salt) {
  std::uint64_t hash = 1469598103934665603ULL + static_cast<std::uint64_t>(salt) * 0x9e3779b97f4a7c15ULL;
  for (const char c : text)
    hash = (hash ^ static_cast<std::uint64_t>(static_cast<unsigned char>(c))) * 1099511628211ULL;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ULL;
  hash ^= hash >> 32;
  return static_cast<double>(hash >> 11) / 9007199254740992.0;
}

Estimate make_estimate(const LayerProblem& problem, Format in, Format out, std::int64_t salt) {
  const std::string text = to_string(problem);
  Estimate estimate;
  estimate.variant = {{"salt", salt}};
  estimate.in = in;
  estimate.out = out;
  const auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), out));
  estimate.time = direct_flops(problem) * 1e-9 * (0.5 + draw(text, 10 * salt)) + 1e-6;
  const int input_end = draw(text, 10 * salt + 1) < 0.5 ? 0 : 1;
  const int output_begin = draw(text, 10 * salt + 2) < 0.5 ? 1 : 2;
  for (int i = 0; i < input_count(problem); ++i) {
    const std::int64_t input = tensor_bytes(input_shape(problem, i), input_format(problem, i, in, out));
    estimate.memory.push_back({input_name(i), MemorySpace::host, input, Lifetime::stages(0, i == 0 ? input_end : 2)});
  }
  estimate.memory.push_back({std::string(output_name), MemorySpace::host, tensor_bytes(output_shape(problem), out),
                             Lifetime::stages(output_begin, 2)});
  for (int stage = 0; stage < 3; ++stage) {
    const auto scratch = static_cast<std::int64_t>(2 * bytes * draw(text, 10 * salt + 3 + stage));
    estimate.memory.push_back(
        {"scratch " + std::to_string(stage), MemorySpace::host, scratch / 4 * 4, Lifetime::stages(stage, stage)});
  }
  const auto kept = static_cast<std::int64_t>(bytes * draw(text, 10 * salt + 7));
  estimate.memory.push_back({"kept", MemorySpace::host, kept / 4 * 4, Lifetime::plan()});
  return estimate;
}

Result<std::unique_ptr<PreparedLayer>> never_prepared(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                                      Device&) {
  return Error{ErrorCode::unsupported, "a fake only describes"};
}

Result<std::vector<Estimate>> describe_conv(const LayerProblem& problem, const DeviceSpec&) {
  if (!std::holds_alternative<ConvProblem>(problem)) return Error{ErrorCode::unsupported, "not a convolution"};
  return std::vector<Estimate>{make_estimate(problem, planar, planar, 1), make_estimate(problem, blocked, blocked, 2)};
}

Result<std::vector<Estimate>> describe_other_conv(const LayerProblem& problem, const DeviceSpec&) {
  const auto* own = std::get_if<ConvProblem>(&problem);
  if (own == nullptr) return Error{ErrorCode::unsupported, "not a convolution"};
  if (voxels(own->k) == 1) return Error{ErrorCode::unsupported, "k = 1x1x1 is not worth a transform"};
  std::vector<Estimate> both = {make_estimate(problem, planar, planar, 3), make_estimate(problem, planar, blocked, 4)};
  for (Estimate& estimate : both) estimate.spread = spread_of_whole(*own);
  return both;
}

Result<std::vector<Estimate>> describe_rest(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ConvProblem>(problem) || std::holds_alternative<ReorderProblem>(problem)) {
    return Error{ErrorCode::unsupported, "not an element-wise or pooling layer"};
  }
  return std::vector<Estimate>{make_estimate(problem, planar, planar, 5), make_estimate(problem, blocked, blocked, 6)};
}

Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec&) {
  const auto* own = std::get_if<ReorderProblem>(&problem);
  if (own == nullptr) return Error{ErrorCode::unsupported, "not a reorder"};
  Estimate estimate = make_estimate(problem, own->from, own->to, 7);
  estimate.variant.clear();
  std::erase_if(estimate.memory, [](const Buffer& buffer) { return buffer.lifetime.persistent; });
  return std::vector<Estimate>{estimate};
}

}  // namespace znni::drawn
