#include "proto/convert/text/plan_words.hpp"

#include <algorithm>
#include <array>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

// By the planner's order.
constexpr std::array bases = {text::Plan::model, text::Plan::smoothed, text::Plan::recorded, text::Plan::measured};

}  // namespace

Result<Format> parse_format(std::string_view field, const std::string& text) {
  constexpr std::array types = {ElementType::f32, ElementType::f16, ElementType::u16, ElementType::u8,
                                ElementType::bf16};
  constexpr std::array layouts = {Layout::planar, Layout::blocked16, Layout::blocked8, Layout::channels_last};
  std::string known;
  for (const ElementType type : types) {
    for (const Layout layout : layouts) {
      const Format format{type, layout};
      if (to_string(format) == text) return format;
      known += (known.empty() ? "" : ", ") + to_string(format);
    }
  }
  return corrupt(std::string(field) + " is " + in_quotes(text) + "; known are: " + known);
}

Variant variant_of(const google::protobuf::RepeatedPtrField<text::Setting>& settings) {
  Variant variant;
  for (const text::Setting& setting : settings) variant.push_back({setting.name(), setting.value()});
  return variant;
}

Basis basis_of(text::Plan::Basis basis) {
  return static_cast<Basis>(std::find(bases.begin(), bases.end(), basis) - bases.begin());
}

text::Plan::Basis message_of(Basis basis) { return bases[static_cast<std::size_t>(basis)]; }

void set_variant(google::protobuf::RepeatedPtrField<text::Setting>* settings, const Variant& variant) {
  for (const Setting& setting : variant) {
    text::Setting* written = settings->Add();
    written->set_name(setting.name);
    written->set_value(setting.value);
  }
}

}  // namespace znni
