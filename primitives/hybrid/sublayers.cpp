#include "primitives/hybrid/sublayers.hpp"

#include <string>

#include "primitives/core/refusals.hpp"

namespace znni::hybrid {
namespace {

constexpr std::int64_t max_sublayers = std::int64_t{1} << 20;

// Returns the size of a sub-layer of `all`; 0 means all of it.
Result<std::int64_t> size_of(const char* name, std::int64_t sublayer, std::int64_t all) {
  if (sublayer >= 0 && sublayer <= all) return sublayer == 0 ? all : sublayer;
  return invalid_argument(std::string("division.") + name + " = " + std::to_string(sublayer) + " is not in [0, " +
                          std::to_string(all) + "]");
}

Result<Division> resolve(const Division& division, const ConvProblem& conv) {
  const Result<std::int64_t> S = size_of("S", division.S, conv.in.S);
  const Result<std::int64_t> f = size_of("f", division.f, conv.in.f);
  const Result<std::int64_t> f_out = size_of("f_out", division.f_out, conv.f_out);
  const Result<std::int64_t> slab = size_of("slab", division.slab, output_shape(conv).n.z);
  for (const Result<std::int64_t>* each : {&S, &f, &f_out, &slab}) {
    if (!*each) return each->error();
  }
  if (conv.in.f % *f == 0) return Division{*S, *f, *f_out, *slab};
  return invalid_argument("division.f = " + std::to_string(*f) + " does not divide the " + std::to_string(conv.in.f) +
                          " input channels");
}

}  // namespace

Result<SubLayers> divide(const ConvProblem& conv, const Division& division) {
  if (!is_plain(conv)) {
    return Error{ErrorCode::unsupported,
                 "convolutions without stride or groups can be divided, not: " + to_string(LayerProblem(conv))};
  }
  const Result<Division> sublayer = resolve(division, conv);
  if (!sublayer) return sublayer.error();
  const Shape5 out = output_shape(conv);
  SubLayers sublayers;
  sublayers.whole = conv;
  sublayers.sublayer = *sublayer;
  sublayers.in = {sublayer->S, sublayer->f, {sublayer->slab + conv.in.n.z - out.n.z, conv.in.n.y, conv.in.n.x}};
  sublayers.out = {sublayer->S, sublayer->f_out, {sublayer->slab, out.n.y, out.n.x}};
  sublayers.inputs = div_up(conv.in.S, sublayer->S);
  sublayers.slabs = div_up(out.n.z, sublayer->slab);
  sublayers.outputs = div_up(conv.f_out, sublayer->f_out);
  sublayers.terms = conv.in.f / sublayer->f;
  if (sublayers.count() <= max_sublayers) return sublayers;
  return invalid_argument("the division makes " + std::to_string(sublayers.count()) + " sub-layers; the limit is " +
                          std::to_string(max_sublayers));
}

SubLayer SubLayers::at(std::int64_t index) const {
  SubLayer sub;
  sub.sum_step = index % terms;
  const std::int64_t sum = index / terms;
  const std::int64_t output = sum % outputs;
  const std::int64_t slab = sum / outputs % slabs;
  const std::int64_t input = sum / outputs / slabs;
  sub.S = std::min(input * sublayer.S, whole.in.S - sublayer.S);
  sub.f = sub.sum_step * sublayer.f;
  sub.f_out = std::min(output * sublayer.f_out, whole.f_out - sublayer.f_out);
  sub.z = std::min(slab * sublayer.slab, output_shape(whole).n.z - sublayer.slab);
  sub.uploads = terms > 1 || output == 0;
  sub.opens_sum = sub.sum_step == 0;
  sub.closes_sum = sub.sum_step == terms - 1;
  return sub;
}

ConvProblem SubLayers::problem(std::int64_t sum_step) const {
  ConvProblem conv = whole;
  conv.in = in;
  conv.f_out = sublayer.f_out;
  if (sum_step > 0) conv.residual = true;
  if (sum_step < terms - 1) conv.activation = {};
  return conv;
}

}  // namespace znni::hybrid
