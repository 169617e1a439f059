#include "server/rpc/calls/layer_text.hpp"

#include <array>
#include <cstdio>

namespace znni::rpc {

std::string layer_text(const ModelInfo& model, const StageSeconds& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.layers.size(); ++i) {
    const bool is_named = i == 0 || (model.layers && i <= model.layers->size());
    if (stages.layers[i] <= 0 || !is_named) continue;
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), " %.4g", stages.layers[i]);
    text += (text.empty() ? "" : " ") + (i == 0 ? std::string("input") : (*model.layers)[i - 1]) + seconds.data();
  }
  return text;
}

}  // namespace znni::rpc
