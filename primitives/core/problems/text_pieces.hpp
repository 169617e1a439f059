// Texts of problems, taken to pieces from the left.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "primitives/core/activation.hpp"
#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Takes pieces off the front of a text. A piece that cannot be taken leaves the rest as it is.
class TextPieces {
 public:
  explicit TextPieces(std::string_view text) : rest_(text) {}

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

  std::optional<Vec3> extent() {
    const auto n = numbers<3>();
    return n ? std::optional<Vec3>({(*n)[0], (*n)[1], (*n)[2]}) : std::nullopt;
  }

  std::optional<Shape5> shape() {
    const auto n = numbers<5>();
    return n ? std::optional<Shape5>({(*n)[0], (*n)[1], {(*n)[2], (*n)[3], (*n)[4]}}) : std::nullopt;
  }

  // Returns an activation, none if the text has ended; nothing if it was begun and not understood.
  std::optional<Activation> activation() {
    if (is_empty()) return Activation{};
    if (!take(", ")) return std::nullopt;
    // The last ones first, because gelu_tanh begins like gelu.
    for (int number = static_cast<int>(last_activation_kind); number > 0; --number) {
      const auto kind = static_cast<ActivationKind>(number);
      if (take(to_string(kind))) return with_alpha(kind);
    }
    return std::nullopt;
  }

  std::optional<Format> format() {
    for (const ElementType type :
         {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::u16, ElementType::u8}) {
      for (const Layout layout : {Layout::planar, Layout::blocked16, Layout::blocked8, Layout::channels_last}) {
        const Format one{type, layout};
        if (take(to_string(one))) return one;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  // Takes numbers with an x between them.
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

  std::optional<Activation> with_alpha(ActivationKind kind) {
    if (!take(" ")) return Activation{kind, 0.0F};
    const std::optional<float> alpha = number<float>();
    return alpha ? std::optional<Activation>({kind, *alpha}) : std::nullopt;
  }

  std::string_view rest_;
};

// Returns ", relu" or the like, with its alpha where it takes one; empty for none.
[[nodiscard]] std::string activation_text(Activation activation);

}  // namespace znni
