#include "primitives/hybrid/divided_layer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "primitives/hybrid/layers_in_turn.hpp"
#include "primitives/hybrid/reordered_conv.hpp"

namespace znni::hybrid {
namespace {

constexpr std::int64_t staging_piece = std::int64_t{1} << 20;    // bytes that one host thread copies at a time
constexpr std::int64_t max_bytes_alone = std::int64_t{1} << 16;  // copied in less time than waking a thread takes

void copy_rows_alone(std::byte* to, const std::byte* from, const CopyRows& rows) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    std::memcpy(to + row * rows.to_step, from + row * rows.from_step, static_cast<std::size_t>(rows.bytes));
  }
}

// Copies rows with the host's threads, long rows in pieces. The calling thread alone copies small amounts.
void copy_rows(Executor& executor, std::byte* to, const std::byte* from, const CopyRows& rows) {
  if (mul(rows.count, rows.bytes) <= max_bytes_alone) return copy_rows_alone(to, from, rows);
  const std::int64_t pieces = div_up(rows.bytes, staging_piece);
  executor.parallel_for(rows.count * pieces, [&](std::int64_t index, int) {
    const std::int64_t row = index / pieces;
    const std::int64_t first = index % pieces * staging_piece;
    const std::int64_t bytes = std::min(staging_piece, rows.bytes - first);
    std::memcpy(to + row * rows.to_step + first, from + row * rows.from_step + first, static_cast<std::size_t>(bytes));
  });
}

std::byte* bytes_at(const TensorView& view, std::int64_t element) {
  return reinterpret_cast<std::byte*>(view.data) + element * element_bytes(view.format.type);
}

// Returns rows from a dense tensor to a view: swaps the two steps.
CopyRows turned(CopyRows rows) {
  std::swap(rows.to_step, rows.from_step);
  return rows;
}

// Device slots of one kind of sub-layer, pinned slots if sub-layers are staged, and the events that tell when a slot
// may be used.
struct Slots {
  Slots() = default;
  Slots(const Shape5& of_shape, Format of_format, std::int64_t of_count)
      : shape(of_shape), format(of_format), count(of_count) {}

  Shape5 shape;
  Format format;
  std::int64_t count = 1;
  std::byte* device = nullptr;
  std::byte* pinned = nullptr;   // nullptr if not staged
  std::array<Event, 2> filled;   // recorded after an upload, or after the last sub-layer of a sum
  std::array<Event, 2> emptied;  // recorded after the sub-layers that read it, or after a download
  std::int64_t next = 0;         // number of uses so far

  [[nodiscard]] std::size_t slot() const { return static_cast<std::size_t>(next % count); }
  [[nodiscard]] std::byte* device_at(std::size_t slot) const {
    return device + static_cast<std::int64_t>(slot) * slot_bytes(shape, format);
  }
  [[nodiscard]] std::byte* pinned_at(std::size_t slot) const {
    return pinned + static_cast<std::int64_t>(slot) * slot_bytes(shape, format);
  }
  [[nodiscard]] TensorView view(std::size_t slot) const {
    return dense_view(reinterpret_cast<float*>(device_at(slot)), shape, format);
  }
  void place(Arena& arena, const std::string& name, bool staged) {
    device = arena.grant(name).data();
    pinned = staged ? arena.grant("staged " + name).data() : nullptr;
    next = 0;
  }
  Result<void> make_events(Accelerator& accelerator) {
    for (std::array<Event, 2>* events : {&filled, &emptied}) {
      for (Event& event : *events) {
        Result<Event> made = accelerator.make_event();
        if (!made) return made.error();
        event = std::move(*made);
      }
    }
    return {};
  }
};

class DividedLayer final : public PreparedLayer {
 public:
  DividedLayer(const SubLayers& sublayers, const DividedChoice& choice, Accelerator& accelerator, Arena::Poison poison)
      : sublayers_(sublayers),
        choice_(choice),
        accelerator_(accelerator),
        poison_(std::move(poison)),
        inputs_(sublayers.in, choice.host_in(), slots(sublayers.uploads())),
        residuals_(sublayers.out, choice.host_out(), slots(sublayers.sums())),
        outputs_(sublayers.out, choice.host_out(), slots(sublayers.sums())),
        layers_(poison_) {}

  Result<void> prepare(const InnerEstimates& inner, const LayerWeights& weights, Arena& persistent) {
    for (Slots* each : {&inputs_, &residuals_, &outputs_}) {
      if (Result<void> made = each->make_events(accelerator_); !made) return made;
    }
    Result<Event> start = accelerator_.make_event();
    if (!start) return start.error();
    start_ = std::move(*start);
    std::span<float> gathered;
    if (sublayers_.terms > 1) gathered = persistent.grant_as<float>(gathered_kernels);
    for (std::int64_t output = 0; output < sublayers_.outputs; ++output) {
      for (std::int64_t term = 0; term < sublayers_.terms; ++term) {
        Result<void> done = prepare_sublayer(inner, output, term, weights, gathered, persistent);
        if (!done) return done;
      }
    }
    return {};
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    place(arena);
    Result<void> done = start();
    if (done) done = run_sublayers(inputs, out);
    // Even after an error, no work may still read or write the caller's memory.
    Result<void> dry = accelerator_.synchronise();
    return done ? dry : done;
  }

 private:
  // Returns the kernels of sub-layer (output, term): a range of the layer's kernels, or a copy gathered in `to`.
  [[nodiscard]] std::span<const float> kernels_of(std::int64_t output, std::int64_t term, std::span<const float> all,
                                                  std::span<float> to) const {
    const SubLayer sub = sublayers_.at(output * sublayers_.terms + term);
    const std::int64_t k = voxels(sublayers_.whole.k);
    const std::int64_t row = sublayers_.sublayer.f * k;
    const std::int64_t whole_row = sublayers_.whole.in.f * k;
    const auto place = [](std::int64_t at) { return static_cast<std::size_t>(at); };
    if (sublayers_.terms == 1)
      return all.subspan(place(sub.f_out * whole_row), place(sublayers_.sublayer.f_out * whole_row));
    const std::int64_t first = (output * sublayers_.terms + term) * sublayer_kernel_floats(sublayers_);
    for (std::int64_t j = 0; j < sublayers_.sublayer.f_out; ++j) {
      const auto from = all.subspan(place((sub.f_out + j) * whole_row + sub.f * k), place(row));
      std::copy(from.begin(), from.end(), to.begin() + first + j * row);
    }
    return to.subspan(place(first), place(sublayer_kernel_floats(sublayers_)));
  }

  [[nodiscard]] LayerWeights weights_of(std::int64_t output, std::int64_t term, const LayerWeights& all,
                                        std::span<float> gathered) const {
    LayerWeights sublayer;
    sublayer.kernels = kernels_of(output, term, all.kernels, gathered);
    const SubLayer sub = sublayers_.at(output * sublayers_.terms + term);
    const bool with_bias = sub.closes_sum && !all.bias.empty();
    if (with_bias) {
      sublayer.bias =
          all.bias.subspan(static_cast<std::size_t>(sub.f_out), static_cast<std::size_t>(sublayers_.sublayer.f_out));
    }
    return sublayer;
  }

  Result<void> prepare_sublayer(const InnerEstimates& all, std::int64_t output, std::int64_t term,
                                const LayerWeights& weights, std::span<float> gathered, Arena& persistent) {
    const std::size_t index = all.index(sublayers_, term);
    const Estimate& inner = all.of[index];
    std::vector<Placement> kept;
    for (const Buffer& buffer : inner.memory) {
      if (!buffer.lifetime.persistent) continue;
      kept.push_back({buffer, persistent.grant(sublayer_prefix(output, term) + buffer.name).data()});
    }
    Arena own(std::move(kept));
    const ConvProblem sublayer = sublayers_.problem(term);
    const LayerWeights its = weights_of(output, term, weights, gathered);
    Result<std::unique_ptr<PreparedLayer>> layer =
        choice_.reorder == nullptr
            ? choice_.inner->prepare(sublayer, inner, its, own, accelerator_)
            : prepare_reordered(sublayer, *choice_.inner, inner, *choice_.reorder, its, own, accelerator_, poison_);
    if (!layer) return layer.error();
    layers_.add(std::move(*layer), all.sublayers()[index]);
    return {};
  }

  // Makes the copy streams wait for earlier work of the compute stream, which may still use the granted memory.
  Result<void> start() {
    if (Result<void> marked = accelerator_.record(Stream::compute, start_); !marked) return marked;
    for (const Stream stream : {Stream::upload, Stream::download}) {
      if (Result<void> waits = accelerator_.wait(stream, start_); !waits) return waits;
    }
    return {};
  }

  void place(Arena& arena) {
    inputs_.place(arena, "inputs", choice_.staged);
    if (sublayers_.whole.residual) residuals_.place(arena, "residuals", choice_.staged);
    outputs_.place(arena, "outputs", choice_.staged);
    if (sublayers_.terms > 1) partial_ = arena.grant("partial sums").data();
    layers_.place(layers_.bytes() > 0 ? arena.grant("scratch").data() : nullptr);
  }

  Result<void> run_sublayers(std::span<const TensorView> inputs, const TensorView& out) {
    const std::int64_t count = sublayers_.count();
    if (Result<void> sent = send(0, inputs); !sent) return sent;
    for (std::int64_t index = 0; index < count; ++index) {
      if (Result<void> ran = compute(index); !ran) return ran;
      const SubLayer sub = sublayers_.at(index);
      if (sub.closes_sum) {
        if (Result<void> fetched = fetch(sub, out); !fetched) return fetched;
      }
      // Comes before the wait for the previous download, so that the link and the GPU stay busy.
      if (index + 1 < count) {
        if (Result<void> sent = send(index + 1, inputs); !sent) return sent;
      }
      if (sub.closes_sum) {
        if (Result<void> kept = keep_previous(out); !kept) return kept;
      }
    }
    return keep_last(out);
  }

  // Uploads the data that sub-layer `index` reads, unless it was uploaded before.
  Result<void> send(std::int64_t index, std::span<const TensorView> inputs) {
    const SubLayer sub = sublayers_.at(index);
    if (sub.uploads) {
      if (Result<void> sent = upload(inputs_, inputs[0], {sub.S, sub.f, sub.z, sublayers_.in}); !sent) return sent;
    }
    if (!sub.opens_sum || !sublayers_.whole.residual) return {};
    return upload(residuals_, inputs[1], {sub.S, sub.f_out, sub.z, sublayers_.out});
  }

  Result<void> upload(Slots& to, const TensorView& from, const Box& box) {
    const std::size_t slot = to.slot();
    ++to.next;
    if (to.pinned != nullptr) {
      // Waits until the last upload from this pinned slot is done.
      if (Result<void> free = accelerator_.synchronise(to.filled[slot]); !free) return free;
      std::byte* at = to.pinned_at(slot);
      visit_pieces(from, box, [&](std::int64_t element, const CopyRows& rows) {
        copy_rows(accelerator_.executor(), at, bytes_at(from, element), rows);
        at += rows.bytes * rows.count;
      });
    }
    if (Result<void> free = accelerator_.wait(Stream::upload, to.emptied[slot]); !free) return free;
    Result<void> sent = to.pinned == nullptr ? upload_pieces(to.device_at(slot), from, box)
                                             : accelerator_.upload(Stream::upload, to.device_at(slot),
                                                                   to.pinned_at(slot), whole_slot(to));
    return sent ? accelerator_.record(Stream::upload, to.filled[slot]) : sent;
  }

  static CopyRows whole_slot(const Slots& sublayer) { return {tensor_bytes(sublayer.shape, sublayer.format), 1, 0, 0}; }

  Result<void> upload_pieces(std::byte* to, const TensorView& from, const Box& box) {
    Result<void> done;
    visit_pieces(from, box, [&](std::int64_t element, const CopyRows& rows) {
      if (done) done = accelerator_.upload(Stream::upload, to, bytes_at(from, element), rows);
      to += rows.bytes * rows.count;
    });
    return done;
  }

  // Returns the slot of the last use of `sublayer`.
  static std::size_t last_slot(const Slots& sublayer) {
    return static_cast<std::size_t>((sublayer.next - 1) % sublayer.count);
  }

  [[nodiscard]] TensorView partial(std::int64_t sum_step) const {
    const std::int64_t slot = sum_step % partial_slots(sublayers_);
    return dense_view(reinterpret_cast<float*>(partial_ + slot * slot_bytes(sublayers_.out, choice_.host_out())),
                      sublayers_.out, choice_.host_out());
  }

  Result<void> compute(std::int64_t index) {
    const SubLayer sub = sublayers_.at(index);
    const std::size_t in = last_slot(inputs_);
    const bool with_residual = sub.opens_sum && sublayers_.whole.residual;
    std::array<TensorView, 2> views = {inputs_.view(in), {}};
    if (Result<void> there = accelerator_.wait(Stream::compute, inputs_.filled[in]); !there) return there;
    if (with_residual) {
      const std::size_t slot = last_slot(residuals_);
      if (Result<void> there = accelerator_.wait(Stream::compute, residuals_.filled[slot]); !there) return there;
      views[1] = residuals_.view(slot);
    }
    if (!sub.opens_sum) views[1] = partial(sub.sum_step - 1);
    const std::size_t out = outputs_.slot();
    if (sub.closes_sum) {
      if (Result<void> free = accelerator_.wait(Stream::compute, outputs_.emptied[out]); !free) return free;
    }
    const std::size_t used = with_residual || !sub.opens_sum ? 2 : 1;
    const TensorView to = sub.closes_sum ? outputs_.view(out) : partial(sub.sum_step);
    const std::int64_t layer = (index / sublayers_.terms) % sublayers_.outputs * sublayers_.terms + sub.sum_step;
    const Result<void> ran = layers_.run(static_cast<std::size_t>(layer), {views.data(), used}, to);
    if (!ran) return ran;
    if (Result<void> done = accelerator_.record(Stream::compute, inputs_.emptied[in]); !done) return done;
    if (!with_residual) return {};
    return accelerator_.record(Stream::compute, residuals_.emptied[last_slot(residuals_)]);
  }

  // Downloads the output that the last sub-layer completed.
  Result<void> fetch(const SubLayer& sub, const TensorView& out) {
    const std::size_t slot = outputs_.slot();
    ++outputs_.next;
    kept_[slot] = {sub.S, sub.f_out, sub.z, sublayers_.out};
    if (Result<void> done = accelerator_.record(Stream::compute, outputs_.filled[slot]); !done) return done;
    if (Result<void> done = accelerator_.wait(Stream::download, outputs_.filled[slot]); !done) return done;
    Result<void> fetched = outputs_.pinned == nullptr
                               ? download_pieces(outputs_.device_at(slot), out, kept_[slot])
                               : accelerator_.download(Stream::download, outputs_.pinned_at(slot),
                                                       outputs_.device_at(slot), whole_slot(outputs_));
    return fetched ? accelerator_.record(Stream::download, outputs_.emptied[slot]) : fetched;
  }

  Result<void> download_pieces(const std::byte* from, const TensorView& to, const Box& box) {
    Result<void> done;
    visit_pieces(to, box, [&](std::int64_t element, const CopyRows& rows) {
      if (done) done = accelerator_.download(Stream::download, bytes_at(to, element), from, turned(rows));
      from += rows.bytes * rows.count;
    });
    return done;
  }

  // Copies an output from pinned memory to the tensor: that of the sum before the last one fetched, whose download may
  // still run.
  Result<void> keep_previous(const TensorView& out) {
    return outputs_.next < 2 || outputs_.pinned == nullptr ? Result<void>() : keep(outputs_.next - 2, out);
  }
  Result<void> keep_last(const TensorView& out) {
    return outputs_.pinned == nullptr ? Result<void>() : keep(outputs_.next - 1, out);
  }
  Result<void> keep(std::int64_t use, const TensorView& out) {
    const auto slot = static_cast<std::size_t>(use % outputs_.count);
    if (Result<void> there = accelerator_.synchronise(outputs_.emptied[slot]); !there) return there;
    const std::byte* from = outputs_.pinned_at(slot);
    visit_pieces(out, kept_[slot], [&](std::int64_t element, const CopyRows& rows) {
      copy_rows(accelerator_.executor(), bytes_at(out, element), from, turned(rows));
      from += rows.bytes * rows.count;
    });
    return {};
  }

  SubLayers sublayers_;
  DividedChoice choice_;
  Accelerator& accelerator_;
  Arena::Poison poison_;
  Slots inputs_;
  Slots residuals_;
  Slots outputs_;
  Event start_;
  std::array<Box, 2> kept_;  // position of the output in each slot
  std::byte* partial_ = nullptr;
  LayersInTurn layers_;  // by part of f_out, then of f
};

}  // namespace

Result<std::unique_ptr<PreparedLayer>> prepare_divided(const ConvProblem& conv, const DividedChoice& choice,
                                                       const LayerWeights& weights, Arena& persistent,
                                                       Accelerator& accelerator, Arena::Poison poison) {
  const Result<SubLayers> sublayers = divide(conv, choice.division);
  if (!sublayers) return sublayers.error();
  const Result<InnerEstimates> inner = inner_estimates(*sublayers, choice, accelerator.spec());
  if (!inner) return inner.error();
  auto layer = std::make_unique<DividedLayer>(*sublayers, choice, accelerator, std::move(poison));
  if (Result<void> prepared = layer->prepare(*inner, weights, persistent); !prepared) return prepared.error();
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace znni::hybrid
