#include "planner/costs/recorded_primitives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/costs/likely_rows.hpp"
#include "planner/costs/problem_family.hpp"
#include "planner/costs/problem_kinds.hpp"
#include "planner/costs/problem_text.hpp"
#include "planner/costs/refused_sizes.hpp"
#include "planner/costs/row_curve.hpp"
#include "planner/costs/shape_curves.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// An interpolation is never taken to be nearer than this.
constexpr double min_error = 0.02;
constexpr std::size_t enough_errors = 4;
double error_of(const std::vector<double>& errors) {
  return errors.size() < enough_errors ? 0 : std::max(min_error, ninth_decile(errors));
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// A primitive's settings and formats.
struct WayKey {
  Variant variant;
  Format in;
  Format out;
  auto operator<=>(const WayKey&) const = default;
};

// A record, with what it tells of its noise.
struct RecordedRow {
  ShapedRow shaped;
  std::string kernel;  // problem_class() of the problem
  RowNoise noise;
};

// The rows of one way.
struct WayRows {
  std::map<std::string, std::vector<RecordedRow>> of_family;
  std::map<std::string, std::map<std::string, std::vector<SizedRow>>> of_class;  // class -> family
  std::map<std::string, ShapeCurves> families;
  std::map<std::string, RowCurve> classes;
  RefusedSizes refused;  // by family
};

// A time that is nearer to the recorded one is that one.
constexpr double min_move = 0.001;

std::vector<ShapedRow> shaped_rows(const std::vector<RecordedRow>& rows) {
  std::vector<ShapedRow> shaped;
  for (const RecordedRow& row : rows) shaped.push_back(row.shaped);
  return shaped;
}

// Gives the rows of a way their likely times. Curves are those of ShapeCurves.
void smooth(std::map<std::string, std::vector<RecordedRow>>& families) {
  std::map<std::tuple<std::string, Proportions, std::int64_t>, std::vector<RecordedRow*>> sorted;
  for (auto& [family, rows] : families) {
    for (RecordedRow& row : rows) {
      const Shape5& input = row.shaped.input;
      sorted[{family, proportions(input.n), input.S}].push_back(&row);
    }
  }
  std::vector<NoisyCurve> curves;
  for (const auto& [key, rows] : sorted) {
    curves.emplace_back();
    for (const RecordedRow* each : rows) {
      const SizedRow& row = each->shaped.row;
      curves.back().push_back(
          {row.work, row.seconds, each->noise, each->kernel + "|" + to_string(each->shaped.input.n)});
    }
  }
  const std::vector<std::vector<Seconds>> likely = likely_seconds(curves);
  auto own = likely.begin();
  for (const auto& [key, rows] : sorted) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SizedRow& row = rows[i]->shaped.row;
      row.smoothed = std::abs(std::log((*own)[i] / row.seconds)) > min_move;
      if (row.smoothed) row.seconds = (*own)[i];
    }
    ++own;
  }
}

std::vector<SizedRow> all_rows(const std::map<std::string, std::vector<SizedRow>>& families,
                               const std::string& without = "") {
  std::vector<SizedRow> all;
  for (const auto& [family, rows] : families) {
    if (family != without) all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace

class RowTable {
 public:
  RowTable(std::string name, int version, DeviceKind device, std::size_t slot);
  ~RowTable();
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  void add(const LayerProblem& problem, const TimingRecord& record) {
    WayRows& rows = ways_[{record.variant, record.in, record.out}];
    const std::string family = problem_family(record.problem);
    if (record.refused) return rows.refused.add(family, tensors_bytes(problem, record.in, record.out));
    const SizedRow row{direct_flops(problem), tensors_bytes(problem, record.in, record.out),
                       robust_mean(record.samples), record.memory};
    rows.of_family[family].push_back({{input_shape(problem, 0), row}, problem_class(record.problem), noise_of(record)});
  }

  // Smooths the rows, builds their curves and finds the errors. To be called after the last add().
  void finish() {
    std::vector<double> inside;
    std::vector<double> outside;
    std::vector<double> strange;
    for (auto& [way, rows] : ways_) {
      for (const auto& [family, own] : rows.of_family) {
        const ShapeCurves recorded(shaped_rows(own));
        append(inside, recorded.errors_inside());
        append(outside, recorded.errors_outside());
      }
      smooth(rows.of_family);
      for (const auto& [family, own] : rows.of_family) {
        rows.families.emplace(family, ShapeCurves(shaped_rows(own)));
        for (const RecordedRow& row : own) rows.of_class[row.kernel][family].push_back(row.shaped.row);
      }
      for (const auto& [kernel, families] : rows.of_class) {
        rows.classes.emplace(kernel, RowCurve(all_rows(families)));
        append(strange, errors_of_strangers(families));
      }
    }
    inside_ = error_of(inside);
    // The error beyond the rows is at least that between them.
    outside_ = std::max(inside_, error_of(outside));
    strange_ = std::max(outside_, error_of(strange));
  }

  struct Answer {
    CurvePoint point;
    Cost cost;
  };
  // Returns the answer to a problem; nothing if no row is like it, or if records say that it is too large.
  [[nodiscard]] std::optional<Answer> answer(const LayerProblem& problem, const WayKey& way) const {
    const auto rows = ways_.find(way);
    if (rows == ways_.end()) return std::nullopt;
    return kinds_.with_kind_of(problem, [&](const Kind& kind) { return answer(problem, way, rows->second, kind); });
  }

  // Returns the least time of all ways; infinite where there is none. In place of describe() it makes no estimates.
  [[nodiscard]] Seconds min_time(const LayerProblem& problem) const {
    Seconds least = std::numeric_limits<Seconds>::infinity();
    for (const auto& [way, rows] : ways_) {
      if (const std::optional<Answer> known = answer(problem, way)) least = std::min(least, known->point.seconds);
    }
    return least;
  }
  [[nodiscard]] Result<std::vector<Estimate>> describe(const LayerProblem& problem) const {
    if (const auto* c = convolution_of(problem); c != nullptr && c->local) return refused(name_ + " may mix voxels");
    std::vector<Estimate> estimates;
    for (const auto& [way, rows] : ways_) {
      if (const std::optional<Answer> known = answer(problem, way)) estimates.push_back(estimate(problem, way, *known));
    }
    if (!estimates.empty()) return estimates;
    return kinds_.with_kind_of(problem, [&](const Kind& kind) { return refusal(problem, kind); });
  }

  [[nodiscard]] const Primitive& primitive() const { return primitive_; }

 private:
  using Kind = ProblemKinds::Kind;

  [[nodiscard]] std::optional<Answer> answer(const LayerProblem& problem, const WayKey& way, const WayRows& rows,
                                             const Kind& kind) const {
    const double bytes = tensors_bytes(problem, way.in, way.out);
    if (rows.refused.refuses(kind.family, bytes)) return std::nullopt;
    const auto family = rows.families.find(kind.family);
    if (family != rows.families.end()) {
      const CurvePoint point = family->second.at(input_shape(problem, 0), direct_flops(problem), bytes);
      const Basis recorded = point.smoothed ? Basis::smoothed : Basis::recorded;
      const Basis basis = point.inside ? recorded : Basis::model;
      return Answer{point, {point.seconds, basis, point.inside ? inside_ : outside_}};
    }
    const auto kernel = rows.classes.find(kind.kernel);
    if (kernel == rows.classes.end()) return std::nullopt;
    const CurvePoint point = kernel->second.at(direct_flops(problem), bytes);
    return Answer{point, {point.seconds, Basis::model, strange_}};
  }

  [[nodiscard]] Error refusal(const LayerProblem& problem, const Kind& kind) const {
    const bool is_too_large = std::any_of(ways_.begin(), ways_.end(), [&](const auto& way) {
      return way.second.refused.refuses(kind.family, tensors_bytes(problem, way.first.in, way.first.out));
    });
    return {ErrorCode::unsupported, is_too_large ? "recorded to refuse layers of this size"
                                                 : "no record of " + kind.family + ", nor of another " + kind.kernel};
  }

  // Returns the errors of every family's rows, predicted by the class without the family.
  static std::vector<double> errors_of_strangers(const std::map<std::string, std::vector<SizedRow>>& families) {
    std::vector<double> errors;
    if (families.size() < 2) return errors;
    for (const auto& [family, rows] : families) {
      const RowCurve others(all_rows(families, family));
      for (const SizedRow& row : rows) {
        const Seconds predicted = others.at(row.work, row.bytes).seconds;
        errors.push_back(std::max(predicted / row.seconds, row.seconds / predicted) - 1);
      }
    }
    return errors;
  }

  [[nodiscard]] Estimate estimate(const LayerProblem& problem, const WayKey& way, const Answer& known) const {
    Estimate made{way.variant, way.in, way.out, known.point.seconds, input_output_buffers(problem, way.in, way.out)};
    // No record says how a convolution is computed: it may be one transform of the whole input.
    if (const ConvProblem* conv = convolution_of(problem)) made.spread = spread_of_whole(*conv);
    if (primitive_.device == DeviceKind::gpu) {
      for (Buffer& buffer : made.memory) buffer.space = MemorySpace::device;
    }
    for (const RecordedBytes& bytes : known.point.memory) {
      const std::string where(to_string(bytes.space));
      if (bytes.transient > 0) {
        made.memory.push_back({"scratch " + where, bytes.space, bytes.transient, Lifetime::stages(0, 0)});
      }
      if (bytes.persistent > 0)
        made.memory.push_back({"kept " + where, bytes.space, bytes.persistent, Lifetime::plan()});
    }
    return made;
  }

  std::string name_;
  std::size_t slot_;
  Primitive primitive_;
  ProblemKinds kinds_;
  std::map<WayKey, WayRows> ways_;
  double inside_ = 0;
  double outside_ = 0;
  double strange_ = 0;
};

namespace {

// Returns the slots of tables. A primitive's describe() is a plain function, so each table has one of its own.
std::array<const RowTable*, RecordedPrimitives::most>& slots() {
  static std::array<const RowTable*, RecordedPrimitives::most> all = {};
  return all;
}

Result<std::unique_ptr<PreparedLayer>> prepare_nothing(const LayerProblem&, const Estimate&, const LayerWeights&,
                                                       Arena&, Device&) {
  return Error{ErrorCode::unsupported, "known by records alone: this build cannot run it"};
}

using MakePrimitive = Primitive (*)(std::string_view name, int version, DeviceKind device);
template <std::size_t slot>
Primitive make_primitive(std::string_view name, int version, DeviceKind device) {
  const auto describe = [](const LayerProblem& problem, const DeviceSpec&) { return slots()[slot]->describe(problem); };
  const auto least = [](const LayerProblem& problem, const DeviceSpec&) { return slots()[slot]->min_time(problem); };
  return {name, version, device, describe, &prepare_nothing, least};
}

template <std::size_t... slot>
constexpr std::array<MakePrimitive, sizeof...(slot)> makers_of(std::index_sequence<slot...>) {
  return {&make_primitive<slot>...};
}
constexpr auto makers = makers_of(std::make_index_sequence<RecordedPrimitives::most>());
std::vector<DeviceSpec> probe_nothing() { return {}; }
Result<std::unique_ptr<Device>> open_nothing(const DeviceSpec& spec, std::int64_t, std::int64_t, std::int64_t) {
  return Error{ErrorCode::unsupported, "device '" + spec.name + "' is another machine's"};
}

DeviceKind kind_of(const Machine& machine, const std::string& device) {
  for (const MachineDevice& each : machine.devices) {
    if (each.spec.name == device) return each.spec.kind;
  }
  return DeviceKind::cpu;
}

// Answers for recorded primitives itself and passes the rest on.
class RowCosts final : public CostSource {
 public:
  RowCosts(const std::vector<std::unique_ptr<RowTable>>& tables, std::unique_ptr<CostSource> rest)
      : rest_(std::move(rest)) {
    for (const std::unique_ptr<RowTable>& table : tables) tables_[&table->primitive()] = table.get();
  }

  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    const auto found = tables_.find(&primitive);
    if (found == tables_.end()) return rest_->cost(problem, primitive, estimate);
    const auto known = found->second->answer(problem, {estimate.variant, estimate.in, estimate.out});
    ensure(known.has_value(), "a recorded primitive described a problem it does not know");
    return known->cost;
  }
  [[nodiscard]] bool has_times_of(const Primitive& primitive) const override {
    return tables_.contains(&primitive) || rest_->has_times_of(primitive);
  }

 private:
  std::map<const Primitive*, const RowTable*> tables_;
  std::unique_ptr<CostSource> rest_;
};

}  // namespace

RowTable::RowTable(std::string name, int version, DeviceKind device, std::size_t slot)
    : name_(std::move(name)), slot_(slot), primitive_(makers[slot](name_, version, device)) {
  slots()[slot_] = this;
}

RowTable::~RowTable() { slots()[slot_] = nullptr; }

RecordedPrimitives::RecordedPrimitives() = default;
RecordedPrimitives::RecordedPrimitives(RecordedPrimitives&&) noexcept = default;
RecordedPrimitives& RecordedPrimitives::operator=(RecordedPrimitives&&) noexcept = default;
RecordedPrimitives::~RecordedPrimitives() = default;

Result<RecordedPrimitives> RecordedPrimitives::make(const Timings& timings, const Machine& machine,
                                                    std::span<const Primitive* const> known) {
  RecordedPrimitives made;
  std::map<std::string, RowTable*> tables;
  for (std::size_t i = 0; i < timings.records().size(); ++i) {
    const TimingRecord& record = timings.records()[i];
    const auto is_of = [&](const Primitive* primitive) { return primitive->name == record.primitive; };
    if (std::any_of(known.begin(), known.end(), is_of)) continue;
    const std::string which = "record " + std::to_string(i) + " (" + record.primitive + ")";
    const Result<LayerProblem> problem = parse_problem(record.problem);
    if (!problem) return problem.error().within(which);
    if (!record.refused && robust_mean(record.samples) <= 0) {
      return Error{ErrorCode::corrupt_file, which + ": samples hold no time above 0"};
    }
    RowTable*& table = tables[record.primitive];
    if (table == nullptr) {
      const auto free = std::find(slots().begin(), slots().end(), nullptr);
      if (free == slots().end()) {
        return Error{ErrorCode::unsupported, which + ": more than " + std::to_string(most) + " recorded primitives"};
      }
      made.tables_.push_back(std::make_unique<RowTable>(record.primitive, record.version,
                                                        kind_of(machine, record.device),
                                                        static_cast<std::size_t>(free - slots().begin())));
      table = made.tables_.back().get();
    }
    if (table->primitive().version != record.version) {
      return Error{ErrorCode::corrupt_file, which + ": version is " + std::to_string(record.version) + ", earlier " +
                                                std::to_string(table->primitive().version) + "; one version is right"};
    }
    if (table->primitive().device != kind_of(machine, record.device)) {
      return Error{ErrorCode::corrupt_file, which + ": device is '" + record.device +
                                                "', earlier one of another kind; a name for each kind is right"};
    }
    table->add(*problem, record);
  }
  for (const std::unique_ptr<RowTable>& table : made.tables_) {
    table->finish();
    made.primitives_.push_back(&table->primitive());
  }
  made.backend_ = std::make_unique<Backend>(Backend{"recorded", &probe_nothing, &open_nothing, made.primitives_});
  return made;
}

std::unique_ptr<CostSource> RecordedPrimitives::costs(std::unique_ptr<CostSource> rest) const {
  if (tables_.empty()) return rest;
  return std::make_unique<RowCosts>(tables_, std::move(rest));
}

Timings with_formulas(const Timings& timings, std::span<const DeviceSpec> devices,
                      std::span<const Primitive* const> known) {
  Timings whole;
  for (TimingRecord record : timings.records()) {
    const auto primitive = std::find_if(known.begin(), known.end(), [&](const Primitive* each) {
      return each->name == record.primitive && each->version == record.version;
    });
    const Result<LayerProblem> problem = parse_problem(record.problem);
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [&](const DeviceSpec& each) { return each.name == record.device; });
    if (primitive != known.end() && problem && device != devices.end()) {
      const Result<std::vector<Estimate>> estimates = (*primitive)->describe(*problem, *device);
      for (const Estimate& estimate : estimates ? *estimates : std::vector<Estimate>()) {
        const bool same = estimate.variant == record.variant && estimate.in == record.in && estimate.out == record.out;
        if (same) record.modelled = estimate.time;
      }
    }
    whole.insert(std::move(record));
  }
  return whole;
}

}  // namespace znni
