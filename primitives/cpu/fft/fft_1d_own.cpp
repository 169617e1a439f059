// Own implementation of 1D transforms: Stockham's, of any length, eight lines at a time in the lanes of a vector.
// Slower than FFTW, but without its licence. A real line is transformed as a complex one.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "primitives/cpu/fft/fft_1d.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

using V = Simd8::V;
constexpr std::int64_t lanes = Simd8::lanes;

// Real and imaginary parts of eight lines: sample e of lane l at e * lanes + l.
struct Parts {
  float* re;
  float* im;
};
struct Pair {
  V re;
  V im;
};

Pair operator+(Pair a, Pair b) { return {a.re + b.re, a.im + b.im}; }
Pair operator-(Pair a, Pair b) { return {a.re - b.re, a.im - b.im}; }
Pair operator*(float a, Pair b) { return {a * b.re, a * b.im}; }
// Returns -i b.
Pair turned(Pair b) { return {b.im, -b.re}; }
Pair times(Complex w, Pair b) { return {w.real() * b.re - w.imag() * b.im, w.real() * b.im + w.imag() * b.re}; }

Pair load(Parts from, std::int64_t at) { return {Simd8::load(from.re + at), Simd8::load(from.im + at)}; }
void store(Parts to, std::int64_t at, Pair value) {
  Simd8::store(to.re + at, value.re);
  Simd8::store(to.im + at, value.im);
}

// Returns exp(-2 pi i e / n).
Complex root(std::int64_t e, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(e % n) / static_cast<double>(n);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

// Transform `radix` values each, in place.
void transform(std::array<Pair, 2>& a) { a = {a[0] + a[1], a[0] - a[1]}; }

void transform(std::array<Pair, 3>& a) {
  constexpr float sine = 0.866025404F;
  const Pair sum = a[1] + a[2];
  const Pair middle = a[0] - 0.5F * sum;
  const Pair side = sine * turned(a[1] - a[2]);
  a = {a[0] + sum, middle + side, middle - side};
}

void transform(std::array<Pair, 4>& a) {
  const Pair even = a[0] + a[2];
  const Pair odd = a[1] + a[3];
  const Pair difference = a[0] - a[2];
  const Pair side = turned(a[1] - a[3]);
  a = {even + odd, difference + side, even - odd, difference - side};
}

void transform(std::array<Pair, 5>& a) {
  constexpr float cosine_1 = 0.309016994F;
  constexpr float cosine_2 = -0.809016994F;
  constexpr float sine_1 = 0.951056516F;
  constexpr float sine_2 = 0.587785252F;
  const Pair outer = a[1] + a[4];
  const Pair inner = a[2] + a[3];
  const Pair outer_turned = turned(a[1] - a[4]);
  const Pair inner_turned = turned(a[2] - a[3]);
  const Pair middle_1 = a[0] + cosine_1 * outer + cosine_2 * inner;
  const Pair middle_2 = a[0] + cosine_2 * outer + cosine_1 * inner;
  const Pair side_1 = sine_1 * outer_turned + sine_2 * inner_turned;
  const Pair side_2 = sine_2 * outer_turned - sine_1 * inner_turned;
  a = {a[0] + outer + inner, middle_1 + side_1, middle_2 + side_2, middle_2 - side_2, middle_1 - side_1};
}

// One pass over a line (Stockham, decimation in frequency). Before it, transforms of length m * radix are left,
// `stride` of them interleaved. It turns each of them into `radix` transforms of length m.
struct Stage {
  std::int64_t radix = 1;
  std::int64_t m = 1;
  std::int64_t stride = 1;
  std::vector<Complex> twiddles;  // [m][radix]: exp(-2 pi i p j / (m radix))
  std::vector<Complex> roots;     // roots of unity, for a radix without its own function
};

template <std::size_t radix>
void run_stage(const Stage& stage, Parts in, Parts out) {
  const std::int64_t width = stage.stride * lanes;
  for (std::int64_t p = 0; p < stage.m; ++p) {
    const Complex* twiddle = stage.twiddles.data() + p * static_cast<std::int64_t>(radix);
    for (std::int64_t i = 0; i < width; i += lanes) {
      std::array<Pair, radix> a;
      for (std::size_t k = 0; k < radix; ++k) a[k] = load(in, (p + stage.m * static_cast<std::int64_t>(k)) * width + i);
      transform(a);
      const std::int64_t to = p * static_cast<std::int64_t>(radix) * width + i;
      store(out, to, a[0]);
      for (std::size_t j = 1; j < radix; ++j) {
        store(out, to + static_cast<std::int64_t>(j) * width, times(twiddle[j], a[j]));
      }
    }
  }
}

// Runs a pass of any radix, by the definition.
void run_other_stage(const Stage& stage, Parts in, Parts out) {
  const std::int64_t width = stage.stride * lanes;
  for (std::int64_t p = 0; p < stage.m; ++p) {
    for (std::int64_t j = 0; j < stage.radix; ++j) {
      const Complex twiddle = stage.twiddles[static_cast<std::size_t>(p * stage.radix + j)];
      for (std::int64_t i = 0; i < width; i += lanes) {
        Pair sum = load(in, p * width + i);
        for (std::int64_t k = 1; k < stage.radix; ++k) {
          const Complex w = stage.roots[static_cast<std::size_t>(j * k % stage.radix)];
          sum = sum + times(w, load(in, (p + stage.m * k) * width + i));
        }
        store(out, (p * stage.radix + j) * width + i, times(twiddle, sum));
      }
    }
  }
}

void run(const Stage& stage, Parts in, Parts out) {
  switch (stage.radix) {
    case 2: return run_stage<2>(stage, in, out);
    case 3: return run_stage<3>(stage, in, out);
    case 4: return run_stage<4>(stage, in, out);
    case 5: return run_stage<5>(stage, in, out);
    default: return run_other_stage(stage, in, out);
  }
}

// Returns the next factor of n: fours first, then small primes.
std::int64_t next_radix(std::int64_t n) {
  if (n % 4 == 0) return 4;
  std::int64_t radix = 2;
  while (n % radix != 0) ++radix;
  return radix;
}

std::vector<Stage> stages_of(std::int64_t n) {
  std::vector<Stage> stages;
  for (std::int64_t left = n, stride = 1; left > 1;) {
    Stage stage;
    stage.radix = next_radix(left);
    stage.m = left / stage.radix;
    stage.stride = stride;
    for (std::int64_t p = 0; p < stage.m; ++p) {
      for (std::int64_t j = 0; j < stage.radix; ++j) stage.twiddles.push_back(root(p * j, left));
    }
    if (stage.radix > 5) {
      for (std::int64_t k = 0; k < stage.radix; ++k) stage.roots.push_back(root(k, stage.radix));
    }
    left = stage.m;
    stride *= stage.radix;
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace

struct Fft1d::Plans {
  FftLines lines;
  std::vector<Stage> stages;

  // Fills `count` lanes by read(line, parts, lane), transforms them, and empties them by write(line, parts, lane).
  // Lanes beyond the last line keep their old values. Each call allocates its own memory: a few pages.
  template <class Read, class Write>
  void run_all(Read read, Write write) const {
    const std::int64_t values = lines.n * lanes;
    std::vector<float> memory(static_cast<std::size_t>(4 * values));
    const Parts first{memory.data(), memory.data() + values};
    const Parts second{memory.data() + 2 * values, memory.data() + 3 * values};
    for (std::int64_t line = 0; line < lines.lines; line += lanes) {
      const std::int64_t count = std::min(lanes, lines.lines - line);
      for (std::int64_t lane = 0; lane < count; ++lane) read(line + lane, first, lane);
      Parts from = first;
      Parts to = second;
      for (const Stage& stage : stages) {
        run(stage, from, to);
        std::swap(from, to);
      }
      for (std::int64_t lane = 0; lane < count; ++lane) write(line + lane, from, lane);
    }
  }

  // Returns the parts, swapped for a backward transform: it is a forward one with real and imaginary parts swapped.
  [[nodiscard]] Parts direction(Parts parts) const {
    const bool is_back = lines.kind == FftKind::backward || lines.kind == FftKind::complex_to_real;
    return is_back ? Parts{parts.im, parts.re} : parts;
  }

  void read_complex(const Complex* in, std::int64_t line, Parts parts, std::int64_t lane) const {
    const Parts to = direction(parts);
    for (std::int64_t e = 0; e < lines.n; ++e) {
      const Complex value = in[e * lines.in_step + line * lines.in_line];
      to.re[e * lanes + lane] = value.real();
      to.im[e * lanes + lane] = value.imag();
    }
  }

  // Writes the first `samples` of a line.
  void write_complex(Complex* out, std::int64_t samples, std::int64_t line, Parts parts, std::int64_t lane) const {
    const Parts from = direction(parts);
    for (std::int64_t e = 0; e < samples; ++e) {
      out[e * lines.out_step + line * lines.out_line] = {from.re[e * lanes + lane], from.im[e * lanes + lane]};
    }
  }
};

Result<Fft1d> Fft1d::make(const FftLines& lines) {
  return Fft1d(std::make_unique<Plans>(Plans{lines, stages_of(lines.n)}));
}

Fft1d::Fft1d(std::unique_ptr<const Plans> plans) : plans_(std::move(plans)) {}
Fft1d::Fft1d(Fft1d&&) noexcept = default;
Fft1d& Fft1d::operator=(Fft1d&&) noexcept = default;
Fft1d::~Fft1d() = default;

void Fft1d::complex_lines(const Complex* in, Complex* out) const {
  const Plans& own = *plans_;
  ensure(own.lines.kind == FftKind::forward || own.lines.kind == FftKind::backward, "a plan of complex lines");
  own.run_all([&](std::int64_t line, Parts parts, std::int64_t lane) { own.read_complex(in, line, parts, lane); },
              [&](std::int64_t line, Parts parts, std::int64_t lane) {
                own.write_complex(out, own.lines.n, line, parts, lane);
              });
}

void Fft1d::from_real(const float* in, Complex* out) const {
  const Plans& own = *plans_;
  ensure(own.lines.kind == FftKind::real_to_complex, "a plan of real lines");
  const auto read = [&](std::int64_t line, Parts parts, std::int64_t lane) {
    for (std::int64_t e = 0; e < own.lines.n; ++e) {
      parts.re[e * lanes + lane] = in[e * own.lines.in_step + line * own.lines.in_line];
      parts.im[e * lanes + lane] = 0;
    }
  };
  own.run_all(read, [&](std::int64_t line, Parts parts, std::int64_t lane) {
    own.write_complex(out, own.lines.n / 2 + 1, line, parts, lane);
  });
}

void Fft1d::to_real(Complex* in, float* out) const {
  const Plans& own = *plans_;
  ensure(own.lines.kind == FftKind::complex_to_real, "a plan back to real lines");
  const std::int64_t n = own.lines.n;
  // The missing half is the conjugate of the other half.
  const auto read = [&](std::int64_t line, Parts parts, std::int64_t lane) {
    const Parts to = own.direction(parts);
    for (std::int64_t e = 0; e < n; ++e) {
      const bool is_there = e <= n / 2;
      const Complex value = in[(is_there ? e : n - e) * own.lines.in_step + line * own.lines.in_line];
      to.re[e * lanes + lane] = value.real();
      to.im[e * lanes + lane] = is_there ? value.imag() : -value.imag();
    }
  };
  own.run_all(read, [&](std::int64_t line, Parts parts, std::int64_t lane) {
    const Parts from = own.direction(parts);
    for (std::int64_t e = 0; e < n; ++e) {
      out[e * own.lines.out_step + line * own.lines.out_line] = from.re[e * lanes + lane];
    }
  });
}

std::string_view fft_1d_notice() { return ""; }

}  // namespace znni::cpu
