#include "planner/layers/layer_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "planner/costs/problem_hash.hpp"

namespace znni {
namespace {

// Returns the number of the layer's input that `buffer` is, or -1. Reads input_name() without making one, because every
// buffer of every way is asked.
int input_index(const Buffer& buffer, std::size_t inputs) {
  constexpr std::string_view prefix = "input ";
  const std::string_view name = buffer.name;
  std::size_t number = 0;
  if (!name.starts_with(prefix)) return -1;
  const char* const end = name.data() + name.size();
  const auto [read, failed] = std::from_chars(name.data() + prefix.size(), end, number);
  const bool is_number = failed == std::errc() && read == end && number < inputs;
  return is_number ? static_cast<int>(number) : -1;
}

// Returns the last stage in which each distinct input is alive; -1 for an alias of another.
std::vector<int> last_stages(const MemoryPlan& memory, const std::vector<InputUse>& uses, int last_stage) {
  std::vector<int> last(uses.size(), -1);
  for (const Buffer& buffer : memory) {
    const int input = input_index(buffer, uses.size());
    if (input < 0) continue;
    const InputUse& use = uses[static_cast<std::size_t>(input)];
    int& end = last[static_cast<std::size_t>(use.same_as)];
    end = std::max(end, use.dies ? buffer.lifetime.last : last_stage);
  }
  return last;
}

bool beats(const LayerOption& a, const LayerOption& b) {
  return a.in == b.in && a.out == b.out && a.cost.seconds <= b.cost.seconds && a.persistent <= b.persistent &&
         a.peak <= b.peak && a.reordered_peak <= b.reordered_peak;
}

// Keeps the order; of equals the first stays.
LayerOptions without_beaten(const LayerOptions& options) {
  LayerOptions kept;
  for (std::size_t i = 0; i < options.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < options.size() && !beaten; ++j) {
      if (j == i || !beats(options[j], options[i])) continue;
      beaten = j < i || !beats(options[i], options[j]);
    }
    if (!beaten) kept.push_back(options[i]);
  }
  return kept;
}

std::int64_t peak_with(const LayerProblem& problem, const Estimate& estimate, const std::vector<InputUse>& uses,
                       Vec3 around) {
  const bool is_plain = around == Vec3{} &&
                        std::all_of(uses.begin(), uses.end(), [](const InputUse& use) { return use.unread == Vec3{}; });
  if (is_plain) return call_peak(estimate.memory, uses);
  return call_peak(with_whole_tensors(problem, estimate, uses, around), uses);
}

std::int64_t bytes_with(Shape5 shape, Vec3 more, Format format) {
  shape.n = shape.n + more;
  return tensor_bytes(shape, format);
}

std::size_t mixed_extents(std::size_t hash, Vec3 n) {
  for (int axis = 0; axis < 3; ++axis) hash = mixed(hash, static_cast<std::size_t>(n[axis]));
  return hash;
}

}  // namespace

MemoryPlan with_whole_tensors(const LayerProblem& problem, const Estimate& estimate, const std::vector<InputUse>& uses,
                              Vec3 around) {
  MemoryPlan memory = estimate.memory;
  for (Buffer& buffer : memory) {
    const int input = input_index(buffer, uses.size());
    if (input >= 0) {
      const Format format = input_format(problem, input, estimate.in, estimate.out);
      buffer.bytes = bytes_with(input_shape(problem, input), uses[static_cast<std::size_t>(input)].unread, format);
    }
    if (buffer.name == output_name) buffer.bytes = bytes_with(output_shape(problem), around, estimate.out);
  }
  return memory;
}

std::int64_t call_peak(const MemoryPlan& memory, const std::vector<InputUse>& uses) {
  const int stages = stage_count(memory);
  const std::vector<int> last = last_stages(memory, uses, stages - 1);
  std::vector<std::int64_t> alive(static_cast<std::size_t>(stages), 0);
  for (const Buffer& buffer : memory) {
    if (buffer.lifetime.persistent || buffer.space != MemorySpace::host) continue;
    const int input = input_index(buffer, uses.size());
    if (input >= 0 && uses[static_cast<std::size_t>(input)].same_as != input) continue;
    const int from = input >= 0 ? 0 : buffer.lifetime.first;
    int to = input >= 0 ? last[static_cast<std::size_t>(input)] : buffer.lifetime.last;
    if (buffer.name == output_name) to = stages - 1;
    for (int stage = from; stage <= to; ++stage) {
      std::int64_t& sum = alive[static_cast<std::size_t>(stage)];
      sum = add(sum, round_up(buffer.bytes, buffer_alignment));
    }
  }
  return *std::max_element(alive.begin(), alive.end());
}

OptionTable::OptionTable(const Catalogue& catalogue, const DeviceSpec& spec, CostSource& costs)
    : primitives_(catalogue.primitives().begin(), catalogue.primitives().end()), spec_(spec), costs_(costs) {
  std::sort(primitives_.begin(), primitives_.end(),
            [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
}

std::size_t OptionTable::Hash::operator()(const Key& key) const {
  std::size_t hash = mixed(ProblemHash()(key.problem), std::hash<const Primitive*>()(key.only));
  for (const InputUse& use : key.uses) {
    hash = mixed(hash, static_cast<std::size_t>(use.same_as) * 2 + (use.dies ? 1 : 0));
    hash = mixed_extents(hash, use.unread);
  }
  return mixed_extents(hash, key.around);
}

const LayerOptions& OptionTable::get(const LayerProblem& problem, const std::vector<InputUse>& uses,
                                     const Primitive* only, Vec3 around) {
  const Key key{problem, uses, only, around};
  Entry& entry = entry_of(key);
  std::call_once(entry.whole, [&] { collect_rest(key, entry); });
  return entry.options;
}

Seconds OptionTable::min_seconds(const LayerProblem& problem, const std::vector<InputUse>& uses, const Primitive* only,
                                 Vec3 around) {
  return entry_of({problem, uses, only, around}).least;
}

// Returns the entry of a key with the options that are found at once. A thread that asks for the same meanwhile waits.
OptionTable::Entry& OptionTable::entry_of(const Key& key) {
  const std::size_t hash = Hash()(key);
  Shard& shard = shards_[(hash >> 48U) % shards_.size()];
  Entry* entry = nullptr;
  {
    const std::scoped_lock lock(shard.mutex);
    entry = &shard.entries.try_emplace(key).first->second;
  }
  std::call_once(entry->quick, [&] { collect_quick(key, *entry); });
  return *entry;
}

bool OptionTable::takes_part(const Primitive& primitive, const Key& key) const {
  return primitive.device == spec_.kind && (key.only == nullptr || &primitive == key.only);
}

// Returns whether the primitive bounds the costs of its ways without describing them.
bool OptionTable::has_bound(const Primitive& primitive) const {
  return primitive.min_time != nullptr && costs_.is_formula_of(primitive);
}

void OptionTable::collect_quick(const Key& key, Entry& entry) const {
  entry.least = std::numeric_limits<Seconds>::infinity();
  LayerOptions options;
  for (const Primitive* primitive : primitives_) {
    if (!takes_part(*primitive, key)) continue;
    if (has_bound(*primitive)) {
      const Seconds least = primitive->min_time(key.problem, spec_);
      entry.least = std::min(entry.least, least);
      entry.waits = entry.waits || std::isfinite(least);
      continue;
    }
    if (primitive->outline == nullptr) {
      describe(key, *primitive, options);
      continue;
    }
    for (const Estimate& estimate : primitive->outline(key.problem, spec_)) {
      entry.least = std::min(entry.least, costs_.cost(key.problem, *primitive, estimate).seconds);
      entry.waits = true;
    }
  }
  for (const LayerOption& option : options) entry.least = std::min(entry.least, option.cost.seconds);
  entry.options = without_beaten(options);
}

// Adds the options that wait, which take long to describe. Options that are beaten without them are beaten with them.
void OptionTable::collect_rest(const Key& key, Entry& entry) const {
  if (!entry.waits) return;
  LayerOptions options = std::move(entry.options);
  const auto quick = std::ssize(options);
  for (const Primitive* primitive : primitives_) {
    const bool waits = has_bound(*primitive) || primitive->outline != nullptr;
    if (waits && takes_part(*primitive, key)) describe(key, *primitive, options);
  }
  std::inplace_merge(options.begin(), options.begin() + quick, options.end(),
                     [](const LayerOption& a, const LayerOption& b) { return a.primitive->name < b.primitive->name; });
  entry.options = without_beaten(options);
}

void OptionTable::describe(const Key& key, const Primitive& primitive, LayerOptions& options) const {
  const LayerProblem& problem = key.problem;
  // A step names the reorder of its output without a variant.
  const bool plain_only = std::holds_alternative<ReorderProblem>(problem);
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec_);
  if (!estimates) return;
  for (std::size_t i = 0; i < estimates->size(); ++i) {
    const Estimate& estimate = (*estimates)[i];
    if (plain_only && !estimate.variant.empty()) continue;
    const std::int64_t reordered = peak_with(problem, estimate, key.uses, {});
    const std::int64_t peak = key.around == Vec3{} ? reordered : peak_with(problem, estimate, key.uses, key.around);
    options.push_back({&primitive, static_cast<int>(i), estimate.in, estimate.out,
                       costs_.cost(problem, primitive, estimate), persistent_bytes(estimate.memory), peak, reordered});
  }
}

std::string OptionTable::refusals(const LayerProblem& problem, const Primitive* only) const {
  std::string text;
  for (const Primitive* primitive : primitives_) {
    if (primitive->device != spec_.kind || (only != nullptr && primitive != only)) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec_);
    if (estimates) continue;
    if (!text.empty()) text += "; ";
    const std::string& reason = estimates.error().message;
    if (!reason.starts_with(primitive->name)) text.append(primitive->name).append(": ");
    text += reason;
  }
  return text;
}

}  // namespace znni
