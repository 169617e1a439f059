#include "planner/costs/catalogue.hpp"

#include <algorithm>
#include <iterator>

namespace znni {
namespace {

constexpr std::string_view reorder_part = ".reorder";
constexpr std::string_view coarse_end = "_bf16";

// Returns true if `name` is `pattern`, or begins with it if `pattern` ends in '*'.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

// Returns true for "cpu.reorder", "cpu.reorder.blocked" and the like, without which a plan's formats could not meet.
bool is_reorder(const Primitive& primitive) {
  const std::size_t at = primitive.name.find(reorder_part);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + reorder_part.size();
  return end == primitive.name.size() || primitive.name[end] == '.';
}

// Returns the precision of all that a primitive computes. Those of a GPU choose it for each variant; those of a CPU
// tell it by their name.
Precision precision_of(const Primitive& primitive) {
  const bool is_coarse = primitive.device == DeviceKind::cpu && primitive.name.ends_with(coarse_end);
  return is_coarse ? Precision::bf16 : Precision::fp32;
}

std::string known_names(const std::vector<const Primitive*>& primitives) {
  std::string text;
  for (const Primitive* primitive : primitives) {
    if (!text.empty()) text += ", ";
    text += primitive->name;
  }
  return text;
}

Result<void> check_patterns(const char* what, const std::vector<std::string>& patterns,
                            const std::vector<const Primitive*>& primitives, Precision coarsest) {
  for (const std::string& pattern : patterns) {
    std::vector<const Primitive*> found;
    std::copy_if(primitives.begin(), primitives.end(), std::back_inserter(found),
                 [&](const Primitive* primitive) { return matches(pattern, primitive->name); });
    const auto allowed = [&](const Primitive* primitive) { return precision_of(*primitive) <= coarsest; };
    if (std::any_of(found.begin(), found.end(), allowed)) continue;
    if (!found.empty()) {
      return Error{ErrorCode::invalid_argument,
                   std::string(what) + " " + pattern + ": " + known_names(found) + " goes with --precision bf16"};
    }
    return Error{ErrorCode::invalid_argument, std::string(what) + " " + pattern +
                                                  ": no primitive of that name; there are " + known_names(primitives)};
  }
  return {};
}

}  // namespace

Result<Catalogue> Catalogue::make(std::span<const Backend* const> backends, const std::vector<std::string>& enable,
                                  const std::vector<std::string>& disable, Precision coarsest) {
  std::vector<const Primitive*> all;
  for (const Backend* backend : backends) {
    all.insert(all.end(), backend->primitives.begin(), backend->primitives.end());
  }
  std::sort(all.begin(), all.end(), [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i]->name != all[i - 1]->name) continue;
    return Error{ErrorCode::invalid_argument,
                 "two primitives are named " + std::string(all[i]->name) + "; one is right"};
  }
  if (Result<void> sound = check_patterns("--enable", enable, all, coarsest); !sound) return sound.error();
  if (Result<void> sound = check_patterns("--disable", disable, all, Precision::bf16); !sound) return sound.error();
  Catalogue catalogue;
  for (const Primitive* primitive : all) {
    const bool wanted = enable.empty() || matches_any(enable, primitive->name);
    const bool kept = is_reorder(*primitive) || (wanted && !matches_any(disable, primitive->name));
    if (kept) catalogue.primitives_.push_back(primitive);
  }
  return catalogue.within(coarsest);
}

Catalogue Catalogue::within(Precision coarsest) const {
  Catalogue kept;
  std::copy_if(primitives_.begin(), primitives_.end(), std::back_inserter(kept.primitives_),
               [&](const Primitive* primitive) { return precision_of(*primitive) <= coarsest; });
  return kept;
}

const Primitive* Catalogue::find(std::string_view name) const {
  const auto found = std::find_if(primitives_.begin(), primitives_.end(),
                                  [&](const Primitive* primitive) { return primitive->name == name; });
  return found == primitives_.end() ? nullptr : *found;
}

std::string Catalogue::fingerprint() const {
  std::string text;
  for (const Primitive* primitive : primitives_) {
    if (!text.empty()) text += ' ';
    text += primitive->name;
    text += ':' + std::to_string(primitive->version);
  }
  return text;
}

Result<Estimate> Catalogue::find_estimate(std::string_view name, const LayerProblem& problem, const DeviceSpec& spec,
                                          const Variant& variant, Format in, Format out) const {
  const std::string primitive_name(name);
  const Primitive* primitive = find(name);
  if (primitive == nullptr) {
    return Error{ErrorCode::unsupported,
                 "unknown primitive " + primitive_name + "; there are " + known_names(primitives_)};
  }
  Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
  if (!estimates) return estimates.error().within(primitive_name);
  for (Estimate& estimate : *estimates) {
    if (estimate.variant == variant && estimate.in == in && estimate.out == out) return std::move(estimate);
  }
  return Error{ErrorCode::unsupported, primitive_name + " does not compute " + znni::to_string(problem) +
                                           " with variant \"" + to_string(variant) + "\", " + to_string(in) + " -> " +
                                           to_string(out)};
}

}  // namespace znni
