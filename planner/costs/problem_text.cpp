#include "planner/costs/problem_text.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace znni {
namespace {

// Takes the text to pieces from the left. What cannot be taken leaves the rest as it is.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  template <class Number>
  std::optional<Number> number() {
    Number value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  // Numbers with an x between them.
  template <std::size_t count>
  std::optional<std::array<std::int64_t, count>> numbers() {
    std::array<std::int64_t, count> values{};
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0 && !take("x")) return std::nullopt;
      const std::optional<std::int64_t> value = number<std::int64_t>();
      if (!value) return std::nullopt;
      values[i] = *value;
    }
    return values;
  }

  std::optional<Vec3> extent() {
    const auto n = numbers<3>();
    return n ? std::optional<Vec3>({(*n)[0], (*n)[1], (*n)[2]}) : std::nullopt;
  }

  std::optional<Shape5> shape() {
    const auto n = numbers<5>();
    return n ? std::optional<Shape5>({(*n)[0], (*n)[1], {(*n)[2], (*n)[3], (*n)[4]}}) : std::nullopt;
  }

  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

using Parsed = std::optional<LayerProblem>;

// Reads an activation, if there is one; nothing if it was begun and not understood.
std::optional<Activation> activation(Pieces& pieces) {
  if (pieces.is_empty()) return Activation{};
  if (!pieces.take(", ")) return std::nullopt;
  // The last ones first, because gelu_tanh begins like gelu.
  for (int number = static_cast<int>(last_activation_kind); number > 0; --number) {
    const auto kind = static_cast<ActivationKind>(number);
    if (!pieces.take(to_string(kind))) continue;
    if (!pieces.take(" ")) return Activation{kind, 0.0F};
    const std::optional<float> alpha = pieces.number<float>();
    return alpha ? std::optional<Activation>({kind, *alpha}) : std::nullopt;
  }
  return std::nullopt;
}

Parsed convolution(Pieces pieces) {
  ConvProblem conv;
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(" -> ")) return std::nullopt;
  const std::optional<std::int64_t> f_out = pieces.number<std::int64_t>();
  if (!f_out || !pieces.take(", k ")) return std::nullopt;
  const std::optional<Vec3> k = pieces.extent();
  if (!k) return std::nullopt;
  for (const auto& [word, extent] : {std::pair{", dilation ", &conv.dilation}, std::pair{", stride ", &conv.stride}}) {
    if (!pieces.take(word)) continue;
    const std::optional<Vec3> found = pieces.extent();
    if (!found) return std::nullopt;
    *extent = *found;
  }
  if (pieces.take(", groups ")) {
    const std::optional<std::int64_t> groups = pieces.number<std::int64_t>();
    if (!groups) return std::nullopt;
    conv.groups = *groups;
  }
  conv.residual = pieces.take(", residual");
  const std::optional<Activation> fused = activation(pieces);
  if (!fused || !pieces.is_empty()) return std::nullopt;
  conv.in = *in;
  conv.f_out = *f_out;
  conv.k = *k;
  conv.activation = *fused;
  return conv;
}

Parsed pooling(Pieces pieces, PoolKind kind) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(", window ")) return std::nullopt;
  const std::optional<Vec3> window = pieces.extent();
  if (!window || !pieces.take(", stride ")) return std::nullopt;
  const std::optional<Vec3> stride = pieces.extent();
  if (!stride) return std::nullopt;
  PoolProblem pool{*in, *window, *stride, kind, PoolMode::plain, Vec3::cube(1), Vec3::cube(1)};
  if (pieces.take(", plain")) return pieces.is_empty() ? Parsed(pool) : std::nullopt;
  if (!pieces.take(", fragments of ")) return std::nullopt;
  const std::optional<Vec3> fragments = pieces.extent();
  if (!fragments) return std::nullopt;
  pool.mode = PoolMode::fragments;
  pool.fragments = *fragments;
  if (pieces.take(" in groups ")) {
    const std::optional<Vec3> groups = pieces.extent();
    if (!groups) return std::nullopt;
    pool.groups = *groups;
  }
  return pieces.is_empty() ? Parsed(pool) : std::nullopt;
}

Parsed addition(Pieces pieces) {
  const std::optional<int> inputs = pieces.number<int>();
  if (!inputs || !pieces.take(" of ")) return std::nullopt;
  const std::optional<Shape5> in = pieces.shape();
  if (!in) return std::nullopt;
  const std::optional<Activation> fused = activation(pieces);
  if (!fused || !pieces.is_empty()) return std::nullopt;
  return AddProblem{*in, *inputs, *fused};
}

Parsed multiplication(Pieces pieces) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(" by ")) return std::nullopt;
  const std::optional<std::int64_t> f_other = pieces.number<std::int64_t>();
  if (!f_other || !pieces.take(" channels") || !pieces.is_empty()) return std::nullopt;
  return MultiplyProblem{*in, *f_other};
}

Parsed normalisation(Pieces pieces) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(", groups ")) return std::nullopt;
  const std::optional<std::int64_t> groups = pieces.number<std::int64_t>();
  if (!groups) return std::nullopt;
  const std::optional<Activation> fused = activation(pieces);
  if (!fused || !pieces.is_empty()) return std::nullopt;
  NormProblem norm{*in, *groups};
  norm.activation = *fused;
  return norm;
}

Parsed global_pooling(Pieces pieces, PoolKind kind) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.is_empty()) return std::nullopt;
  return GlobalPoolProblem{*in, kind};
}

Parsed across_channels(Pieces pieces, AcrossKind kind) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.is_empty()) return std::nullopt;
  return AcrossChannelsProblem{*in, kind};
}

Parsed concatenation(Pieces pieces) {
  ConcatProblem concat;
  do {
    const std::optional<Shape5> in = pieces.shape();
    if (!in) return std::nullopt;
    concat.in.push_back(*in);
  } while (pieces.take(" + "));
  return pieces.is_empty() ? Parsed(concat) : std::nullopt;
}

std::optional<Format> format(Pieces& pieces) {
  for (const ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::u16, ElementType::u8}) {
    for (const Layout layout : {Layout::planar, Layout::blocked16, Layout::blocked8, Layout::channels_last}) {
      const Format one{type, layout};
      if (pieces.take(to_string(one))) return one;
    }
  }
  return std::nullopt;
}

Parsed reorder(Pieces pieces) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(" from ")) return std::nullopt;
  const std::optional<Format> from = format(pieces);
  if (!from || !pieces.take(" to ")) return std::nullopt;
  const std::optional<Format> to = format(pieces);
  if (!to || !pieces.is_empty()) return std::nullopt;
  return ReorderProblem{*in, *from, *to};
}

Parsed crop(Pieces pieces) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(", begin ")) return std::nullopt;
  const std::optional<Vec3> begin = pieces.extent();
  if (!begin || !pieces.take(", end ")) return std::nullopt;
  const std::optional<Vec3> end = pieces.extent();
  if (!end || !pieces.is_empty()) return std::nullopt;
  return CropProblem{*in, *begin, *end};
}

Parsed upsampling(Pieces pieces, UpsampleKind kind) {
  const std::optional<Shape5> in = pieces.shape();
  if (!in || !pieces.take(", factor ")) return std::nullopt;
  const std::optional<Vec3> factor = pieces.extent();
  if (!factor || !pieces.is_empty()) return std::nullopt;
  return UpsampleProblem{*in, *factor, kind};
}

Parsed parse_one(std::string_view text) {
  Pieces pieces(text);
  if (pieces.take("conv ")) return convolution(pieces);
  if (pieces.take("max pool ")) return pooling(pieces, PoolKind::max);
  if (pieces.take("average pool ")) return pooling(pieces, PoolKind::average);
  if (pieces.take("add ")) return addition(pieces);
  if (pieces.take("multiply ")) return multiplication(pieces);
  if (pieces.take("norm ")) return normalisation(pieces);
  if (pieces.take("global max ")) return global_pooling(pieces, PoolKind::max);
  if (pieces.take("global mean ")) return global_pooling(pieces, PoolKind::average);
  if (pieces.take("concat ")) return concatenation(pieces);
  if (pieces.take("reorder ")) return reorder(pieces);
  if (pieces.take("crop ")) return crop(pieces);
  if (pieces.take("upsample nearest ")) return upsampling(pieces, UpsampleKind::nearest);
  if (pieces.take("upsample linear ")) return upsampling(pieces, UpsampleKind::linear);
  if (pieces.take("upsample aligned ")) return upsampling(pieces, UpsampleKind::aligned);
  if (pieces.take("upsample shuffle ")) return upsampling(pieces, UpsampleKind::shuffle);
  // "arg max last" before "arg max", which it begins with.
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::arg_max_last,
                                AcrossKind::arg_max, AcrossKind::norm}) {
    if (pieces.take(std::string(to_string(kind)) + " ")) return across_channels(pieces, kind);
  }
  const bool affine = pieces.take("scale and shift ");
  if (!affine && !pieces.take("activation ")) return std::nullopt;
  const std::optional<Shape5> in = pieces.shape();
  if (!in) return std::nullopt;
  if (affine) return pieces.is_empty() ? Parsed(ScaleShiftProblem{*in}) : std::nullopt;
  const std::optional<Activation> kind = activation(pieces);
  return kind && pieces.is_empty() ? Parsed(ActivationProblem{*in, *kind}) : std::nullopt;
}

// One, or "conv ..., then max pool ...".
Parsed parse(std::string_view text) {
  constexpr std::string_view then = ", then ";
  const std::size_t at = text.find(then);
  if (at == std::string_view::npos) return parse_one(text);
  const Parsed first = parse_one(text.substr(0, at));
  const Parsed second = parse_one(text.substr(at + then.size()));
  const auto* const conv = first ? std::get_if<ConvProblem>(&*first) : nullptr;
  const auto* const pool = second ? std::get_if<PoolProblem>(&*second) : nullptr;
  if (conv == nullptr || pool == nullptr) return std::nullopt;
  return ConvPoolProblem{*conv, *pool};
}

}  // namespace

Result<LayerProblem> parse_problem(std::string_view text) {
  std::optional<LayerProblem> problem = parse(text);
  const std::string quoted = "problem '" + std::string(text) + "'";
  if (!problem) {
    return Error{ErrorCode::invalid_argument,
                 quoted + " is not understood; it should read like 'conv 1x80x48x48x48 -> 80, k 5x5x5, relu'"};
  }
  if (const Result<void> sound = check(*problem); !sound) return sound.error().within(quoted);
  if (const std::string right = to_string(*problem); right != text) {
    return Error{ErrorCode::invalid_argument, quoted + " should read '" + right + "'"};
  }
  return *std::move(problem);
}

}  // namespace znni
