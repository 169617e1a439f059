#include "proto/convert/caffe/caffe_windows.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

// A setting in its three forms.
struct Setting {
  std::string name;
  CaffeExtents values;  // none, one, or one for each axis
  std::optional<std::int64_t> h;
  std::optional<std::int64_t> w;
  std::optional<std::int64_t> otherwise;
  std::int64_t least = 1;
};

Result<CaffeExtents> along_axes(const Setting& setting, int rank) {
  CaffeExtents values = setting.values;
  if (setting.h || setting.w) {
    if (rank != 2 || !values.empty()) {
      return corrupt(setting.name + "_h and " + setting.name + "_w are of two spatial axes, and stand alone");
    }
    values = {setting.h.value_or(setting.otherwise.value_or(0)), setting.w.value_or(setting.otherwise.value_or(0))};
  }
  if (values.empty() && setting.otherwise) values = {*setting.otherwise};
  if (values.size() == 1) values.resize(static_cast<std::size_t>(rank), values.front());
  if (values.size() != static_cast<std::size_t>(rank)) {
    return corrupt("has " + std::to_string(values.size()) + " values of " + setting.name + "; 1 or " +
                   std::to_string(rank) + " are right");
  }
  for (const std::int64_t value : values) {
    if (value < setting.least) return corrupt(setting.name + " is " + std::to_string(value));
  }
  return values;
}

std::optional<std::int64_t> value_if(bool is_given, std::uint32_t value) {
  return is_given ? std::optional<std::int64_t>(value) : std::nullopt;
}

template <class Field>
CaffeExtents values_of(const Field& field) {
  return {field.begin(), field.end()};
}

template <class Parameters>
Result<CaffeWindows> any_windows_of(const Parameters& of, int rank) {
  const Setting kernel{"kernel_size",
                       values_of(of.kernel_size()),
                       value_if(of.has_kernel_h(), of.kernel_h()),
                       value_if(of.has_kernel_w(), of.kernel_w()),
                       std::nullopt,
                       1};
  const Setting stride{"stride",
                       values_of(of.stride()),
                       value_if(of.has_stride_h(), of.stride_h()),
                       value_if(of.has_stride_w(), of.stride_w()),
                       1,
                       1};
  const Setting pad{
      "pad", values_of(of.pad()), value_if(of.has_pad_h(), of.pad_h()), value_if(of.has_pad_w(), of.pad_w()), 0, 0};
  const Setting dilation{"dilation", values_of(of.dilation()), std::nullopt, std::nullopt, 1, 1};
  CaffeWindows windows;
  for (const auto& [setting, into] : {std::pair{&kernel, &windows.kernel}, std::pair{&stride, &windows.stride},
                                      std::pair{&pad, &windows.pad}, std::pair{&dilation, &windows.dilation}}) {
    Result<CaffeExtents> values = along_axes(*setting, rank);
    if (!values) return values.error();
    *into = *std::move(values);
  }
  return windows;
}

// Returns the voxels that a window spans.
std::int64_t span(const CaffeWindows& windows, std::size_t axis) {
  return add(mul(windows.dilation[axis], windows.kernel[axis] - 1), 1);
}

// Returns the voxels behind the first window.
std::int64_t behind_first(const CaffeWindows& windows, const CaffeExtents& in, std::size_t axis) {
  return add(in[axis], 2 * windows.pad[axis]) - span(windows, axis);
}

// Returns the extents; none if one is not positive.
CaffeExtents known(CaffeExtents extents) {
  const bool all = std::all_of(extents.begin(), extents.end(), [](std::int64_t extent) { return extent > 0; });
  return all ? extents : CaffeExtents();
}

}  // namespace

std::string extents_text(const CaffeExtents& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "none" : text;
}

Result<void> check_extents(const CaffeExtents& extents) {
  constexpr std::int64_t max_extent = std::numeric_limits<std::int32_t>::max();
  const bool all = std::all_of(extents.begin(), extents.end(),
                               [](std::int64_t extent) { return extent >= 1 && extent <= max_extent; });
  if (all) return {};
  return corrupt("its extents are " + extents_text(extents) + "; each from 1 to " + std::to_string(max_extent) +
                 " is right");
}

Result<CaffeWindows> windows_of(const caffe::ConvolutionParameter& parameters, int rank) {
  return any_windows_of(parameters, rank);
}

Result<CaffeWindows> windows_of(const caffe::PoolingParameter& parameters, int rank) {
  return any_windows_of(parameters, rank);
}

CaffeExtents extents_after(const CaffeWindows& windows, const CaffeExtents& in, bool ceil) {
  CaffeExtents out;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const std::int64_t behind = behind_first(windows, in, axis);
    const std::int64_t stride = windows.stride[axis];
    out.push_back(behind < 0 ? 0 : add(behind, ceil ? stride - 1 : 0) / stride + 1);
  }
  return known(std::move(out));
}

CaffeExtents extents_before(const CaffeWindows& windows, const CaffeExtents& in) {
  CaffeExtents out;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    out.push_back(add(mul(windows.stride[axis], in[axis] - 1), span(windows, axis)) - 2 * windows.pad[axis]);
  }
  return known(std::move(out));
}

bool has_rest(const CaffeWindows& windows, const CaffeExtents& in) {
  for (std::size_t axis = 0; axis < windows.stride.size(); ++axis) {
    if (windows.stride[axis] == 1) continue;
    if (in.empty() || behind_first(windows, in, axis) % windows.stride[axis] != 0) return true;
  }
  return false;
}

}  // namespace znni
