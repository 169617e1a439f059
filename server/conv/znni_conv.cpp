// The C interface: checks pointers, turns errors into codes and messages, and lets no exception out.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "primitives/core/refusals.hpp"
#include "server/conv/convolution.hpp"

extern "C" {
#include "server/conv/znni_conv.h"
}

struct znni_conv {
  std::unique_ptr<znni::Convolution3d> own;
};

namespace znni {
namespace {

void write_text(std::string_view text, const znni_conv_message& room) {
  if (room.text == nullptr || room.bytes == 0) return;
  const std::size_t count = std::min(text.size(), room.bytes - 1);
  std::memcpy(room.text, text.data(), count);
  room.text[count] = '\0';
}

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported: return ZNNI_CONV_INVALID;
    case ErrorCode::over_budget: return ZNNI_CONV_OVER_BUDGET;
    default: return ZNNI_CONV_FAILED;
  }
}

// Calls `body`, and returns the code of what it returned or threw.
template <class Body>
int guarded(const znni_conv_message& message, const Body& body) {
  try {
    const Result<void> done = body();
    if (done) return ZNNI_CONV_OK;
    write_text(done.error().message, message);
    return code_of(done.error().code);
  } catch (const std::exception& error) {
    write_text(error.what(), message);
    return ZNNI_CONV_FAILED;
  }
}

ConvProblem problem_of(const znni_conv_shape& shape) {
  const auto vec3 = [](const std::int64_t(&axes)[3]) { return Vec3{axes[0], axes[1], axes[2]}; };
  ConvProblem problem;
  problem.in = {shape.batch, shape.in_channels, vec3(shape.input)};
  problem.f_out = shape.out_channels;
  problem.k = vec3(shape.kernel);
  return problem;
}

Result<void> create(const znni_conv_shape* shape, int threads, std::int64_t mem, znni_conv** made) {
  if (made == nullptr) return invalid_argument("made is NULL: give a place for the convolution");
  *made = nullptr;
  if (shape == nullptr) return invalid_argument("shape is NULL: give one");
  if (mem < 0) return invalid_argument("mem = " + std::to_string(mem) + " is negative: give bytes, or 0");
  const std::int64_t limit = mem == 0 ? default_workspace_limit() : mem;
  Result<std::unique_ptr<Convolution3d>> own = Convolution3d::make(problem_of(*shape), threads, limit);
  if (!own) return own.error();
  *made = new znni_conv{*std::move(own)};
  return {};
}

bool is_work(int work) { return work >= ZNNI_CONV_FORWARD && work <= ZNNI_CONV_WEIGHT_GRADIENT; }

const WorkPlan& plan_of(const znni_conv& conv, int work) { return conv.own->plan(static_cast<ConvWork>(work)); }

std::string calls_of(const WorkPlan& plan) {
  std::string text;
  for (const StepCall& call : plan.calls) {
    if (!text.empty()) text += ", ";
    text += call.layer != nullptr ? call.layer->name : call.gradient->name;
    if (!call.estimate.variant.empty()) text += " " + to_string(call.estimate.variant);
  }
  return text;
}

struct NamedPointer {
  std::string_view name;
  const void* pointer;
};

Result<void> check_pointers(const znni_conv* conv, std::initializer_list<NamedPointer> pointers) {
  if (conv == nullptr) return invalid_argument("conv is NULL: create one");
  for (const NamedPointer& each : pointers) {
    if (each.pointer == nullptr) return invalid_argument(std::string(each.name) + " is NULL: give its elements");
    if (reinterpret_cast<std::uintptr_t>(each.pointer) % alignof(float) != 0) {
      return invalid_argument(std::string(each.name) + " does not begin at a multiple of 4 bytes");
    }
  }
  return {};
}

std::span<std::byte> workspace_of(const WorkPlan& plan, void* workspace) {
  if (workspace == nullptr) return {};
  return {static_cast<std::byte*>(workspace), static_cast<std::size_t>(plan.packing.bytes)};
}

LayerWeights weights_of(const ConvProblem& problem, const float* weight, const float* bias) {
  const auto outputs = static_cast<std::size_t>(problem.f_out);
  LayerWeights weights;
  weights.kernels = {weight, outputs * static_cast<std::size_t>(terms_of(problem))};
  if (bias != nullptr) weights.bias = {bias, outputs};
  return weights;
}

}  // namespace
}  // namespace znni

extern "C" {

int znni_conv_interface(void) { return ZNNI_CONV_INTERFACE; }

int znni_conv_create(const znni_conv_shape* shape, int threads, int64_t mem, znni_conv** made,
                     znni_conv_message message) {
  return znni::guarded(message, [&] { return znni::create(shape, threads, mem, made); });
}

void znni_conv_destroy(znni_conv* conv) {
  if (conv != nullptr && conv->own->is_of_this_process()) delete conv;
}

int64_t znni_conv_workspace_bytes(const znni_conv* conv, int work) {
  return conv == nullptr || !znni::is_work(work) ? -1 : znni::plan_of(*conv, work).packing.bytes;
}

int znni_conv_describe(const znni_conv* conv, int work, znni_conv_message text) {
  if (conv == nullptr || !znni::is_work(work)) return ZNNI_CONV_INVALID;
  return znni::guarded(text, [&] {
    znni::write_text(znni::calls_of(znni::plan_of(*conv, work)), text);
    return znni::Result<void>();
  });
}

int znni_conv_forward(const znni_conv* conv, const float* input, const float* weight, const float* bias, float* output,
                      void* workspace, znni_conv_message message) {
  return znni::guarded(message, [&]() -> znni::Result<void> {
    const auto sound = znni::check_pointers(conv, {{"input", input}, {"weight", weight}, {"output", output}});
    if (!sound) return sound;
    const auto space = znni::workspace_of(znni::plan_of(*conv, ZNNI_CONV_FORWARD), workspace);
    const znni::LayerWeights weights = znni::weights_of(conv->own->problem(), weight, bias);
    return conv->own->run(znni::ConvWork::forward, weights, {{input}, output, {}, space});
  });
}

int znni_conv_input_gradient(const znni_conv* conv, const float* output_gradient, const float* weight,
                             float* input_gradient, void* workspace, znni_conv_message message) {
  return znni::guarded(message, [&]() -> znni::Result<void> {
    const auto sound = znni::check_pointers(
        conv, {{"output_gradient", output_gradient}, {"weight", weight}, {"input_gradient", input_gradient}});
    if (!sound) return sound;
    const auto space = znni::workspace_of(znni::plan_of(*conv, ZNNI_CONV_INPUT_GRADIENT), workspace);
    const znni::LayerWeights weights = znni::weights_of(conv->own->problem(), weight, nullptr);
    return conv->own->run(znni::ConvWork::input_gradient, weights, {{output_gradient}, input_gradient, {}, space});
  });
}

int znni_conv_weight_gradient(const znni_conv* conv, const float* output_gradient, const float* input,
                              float* weight_gradient, float* bias_gradient, void* workspace,
                              znni_conv_message message) {
  return znni::guarded(message, [&]() -> znni::Result<void> {
    const auto sound = znni::check_pointers(conv, {{"output_gradient", output_gradient},
                                                   {"input", input},
                                                   {"weight_gradient", weight_gradient},
                                                   {"bias_gradient", bias_gradient}});
    if (!sound) return sound;
    const auto space = znni::workspace_of(znni::plan_of(*conv, ZNNI_CONV_WEIGHT_GRADIENT), workspace);
    const std::span<float> bias(bias_gradient, static_cast<std::size_t>(conv->own->problem().f_out));
    return conv->own->run(znni::ConvWork::weight_gradient, {},
                          {{output_gradient, input}, weight_gradient, bias, space});
  });
}

}  // extern "C"
