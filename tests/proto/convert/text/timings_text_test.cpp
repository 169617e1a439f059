#include "proto/convert/text/timings_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "planner/costs/problem_text.hpp"
#include "tests/proto/convert/text/plans.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TimingRecord record_for(const std::string& problem) {
  TimingRecord record = test::full_record();
  record.problem = problem;
  return record;
}

std::string timings_refusal(std::string_view text) {
  const Result<ReadTimings> read = parse_timings(text);
  return read ? "" : read.error().message;
}

TEST(TimingsText, RoundTrip) {
  const Result<ReadTimings> read = parse_timings(timing_text(test::full_record()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->timings.records(), ElementsAre(test::full_record()));
  EXPECT_THAT(read->warnings, IsEmpty());
}

TEST(TimingsText, GoldenFileStillLoads) {
  const Result<ReadTimings> read = read_timings(test::case_folder().parent_path() / "golden" / "timings.pbtxt");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->timings.records(), ElementsAre(test::full_record()));
}

ReadTimings golden_layers() {
  return read_timings(test::case_folder().parent_path() / "golden" / "recorded_layers.pbtxt").value();
}

TEST(TimingsText, RecordsThatOthersKeepMeanWhatTheyMeant) {
  const std::vector<TimingRecord> records = golden_layers().timings.records();
  ASSERT_EQ(records.size(), 15U);
  TimingRecord all;
  all.primitive = "zn.conv.fft";
  all.version = 2;
  all.variant = {{"tile", 24}, {"keep", 1}};
  all.in = {ElementType::f32, Layout::blocked16};
  all.out = {ElementType::f16, Layout::channels_last};
  all.problem = "conv 1x80x48x48x48 -> 80, k 5x5x5, dilation 2x2x2, residual, relu";
  all.device = "cores";
  all.threads = 16;
  all.samples = {0.412, 0.409, 0.43};
  all.unix_seconds = 1764072000;
  all.modelled = 0.4;
  all.waited = 0.01;
  all.memory = {{MemorySpace::host, 94371840, 1000}, {MemorySpace::pinned, 1, 2}, {MemorySpace::device, 3, 4}};
  EXPECT_EQ(records[0], all);
  TimingRecord little;
  little.primitive = "zn.conv.direct";
  little.version = 1;
  little.problem = "conv 2x1x9x9x9 -> 4, k 3x3x3";
  little.samples = {0.5};
  EXPECT_EQ(records[1], little) << "planar tensors of float32, unless the record says more";
  EXPECT_TRUE(records[2].refused);
  EXPECT_EQ(records[2].device, "card");
}

TEST(TimingsText, LayersThatOthersWroteAreUnderstood) {
  const ReadTimings golden = golden_layers();
  for (const TimingRecord& record : golden.timings.records()) {
    const Result<LayerProblem> problem = parse_problem(record.problem);
    ASSERT_TRUE(problem) << problem.error().message;
    EXPECT_EQ(to_string(*problem), record.problem);
  }
}

TEST(TimingsText, AMachineThatOthersDescribedIsTheSame) {
  const Machine machine = golden_layers().machine.value();
  EXPECT_EQ(machine.name, "16 cores and a card");
  ASSERT_EQ(machine.devices.size(), 2U);
  const DeviceSpec& cores = machine.devices[0].spec;
  EXPECT_EQ(std::tuple(cores.name, cores.kind, cores.threads, cores.simd_floats),
            std::tuple("cores", DeviceKind::cpu, 16, 16));
  EXPECT_EQ(std::tuple(cores.flops_per_second, cores.bytes_per_second, cores.hertz), std::tuple(1e12, 1e11, 2.5e9));
  EXPECT_EQ(cores.l2_bytes, 524288);
  EXPECT_EQ(cores.l3_bytes, 67108864);
  const DeviceSpec& card = machine.devices[1].spec;
  EXPECT_EQ(std::tuple(card.name, card.kind, card.threads), std::tuple("card", DeviceKind::gpu, 1));
  EXPECT_EQ(std::pair(card.accelerator.tf32_flops_per_second, card.accelerator.bf16_flops_per_second),
            std::pair(4e13, 8e13));
  EXPECT_THAT(machine.devices[0].bytes, ElementsAre(274877906944, 0, 0));
  EXPECT_THAT(machine.devices[1].bytes, ElementsAre(0, 17179869184, 25769803776));
  ASSERT_EQ(machine.links.size(), 3U);
  EXPECT_EQ(std::pair(machine.links[0].from, machine.links[0].to), std::pair(MemorySpace::pinned, MemorySpace::device));
  EXPECT_EQ(std::pair(machine.links[0].bytes_per_second, machine.links[0].latency), std::pair(2e10, 1e-5));
  EXPECT_EQ(std::pair(machine.links[1].bytes_per_second, machine.links[1].latency), std::pair(1.6e10, 2e-5));
  EXPECT_EQ(std::pair(machine.links[2].bytes_per_second, machine.links[2].latency), std::pair(3e10, 0.0));
}

TEST(TimingsText, AFileThatIsNotThereIsEmpty) {
  const test::TemporaryDirectory folder;
  const Result<ReadTimings> read = read_timings(folder.path() / "none");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->timings.records(), IsEmpty());
}

TEST(TimingsText, AppendingKeepsTheFileValid) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "timings.pbtxt";
  std::vector<TimingRecord> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back(record_for("problem " + std::to_string(i)));
    ASSERT_TRUE(append_timing(path, expected.back()));
    const Result<ReadTimings> read = read_timings(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->timings.records(), expected);
  }
  TimingRecord again = expected[2];
  again.samples = {7};
  ASSERT_TRUE(append_timing(path, again));
  expected[2] = again;
  EXPECT_EQ(read_timings(path)->timings.records(), expected);
}

TEST(TimingsText, WritingAllReplaces) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("timings.pbtxt", "garbage");
  Timings timings;
  timings.insert(record_for("a"));
  timings.insert(record_for("b"));
  ASSERT_TRUE(write_timings(path, timings));
  EXPECT_EQ(read_timings(path)->timings.records(), timings.records());
}

TEST(TimingsText, ARecordCutShortIsAWarning) {
  const std::string first = timing_text(record_for("first"));
  const std::string second = timing_text(record_for("second"));
  for (std::size_t length = 1; length + 2 < second.size(); ++length) {
    const Result<ReadTimings> read = parse_timings(first + second.substr(0, length));
    ASSERT_TRUE(read) << length << ": " << read.error().message;
    EXPECT_THAT(read->timings.records(), ElementsAre(record_for("first"))) << length;
    EXPECT_EQ(read->warnings.size(), 1U) << length;
  }
}

TEST(TimingsText, MeasuringGoesOnAfterACrash) {
  const test::TemporaryDirectory folder;
  const std::string first = timing_text(record_for("first"));
  const std::string path = folder.write("timings.pbtxt", first + timing_text(record_for("cut")).substr(0, 60));
  ASSERT_TRUE(append_timing(path, record_for("third")));
  const Result<ReadTimings> read = read_timings(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->timings.records(), ElementsAre(record_for("first"), record_for("third")));
  ASSERT_EQ(read->warnings.size(), 1U);
  EXPECT_THAT(read->warnings[0], StartsWith(path + ": line "));
  EXPECT_THAT(read->warnings[0], HasSubstr("cut short"));
}

TEST(TimingsText, AnythingElseIsAnError) {
  const std::string good = timing_text(test::full_record());
  EXPECT_THAT(timings_refusal(good + "other: 3\n"), HasSubstr("has no field 'other'; it has: record, machine"));
  EXPECT_THAT(timings_refusal("record {\n  colour: 3\n}\n"),
              StartsWith("line 2: znni.text.Timings.Record has no field 'colour'"));
  EXPECT_THAT(timings_refusal("record { primitive: \"p\" problem: \"q\" in: \"f32:planar\" out: \"x\" }"),
              StartsWith("record 0: out is 'x'"));
  EXPECT_THAT(timings_refusal("record { in: \"f32:planar\" out: \"f32:planar\" }"),
              HasSubstr("primitive or problem is missing"));
  const std::string start = "record { primitive: \"p\" problem: \"q\" in: \"f32:planar\" out: \"f32:planar\" samples: ";
  EXPECT_THAT(timings_refusal(start + "-1 }"), HasSubstr("samples hold -1"));
  EXPECT_THAT(timings_refusal(start + "nan }"), HasSubstr("samples hold nan"));
  EXPECT_EQ(timings_refusal(start + "1 }"), "");
}

TEST(TimingsText, RefusedSizesComeBackAndHaveNoSamples) {
  TimingRecord record;
  record.primitive = "x";
  record.problem = "conv 1x1x9x9x9 -> 1, k 2x2x2";
  EXPECT_EQ(timing_text(record).find("refused"), std::string::npos);
  record.refused = true;
  EXPECT_EQ(parse_timings(timing_text(record)).value().timings.records().at(0), record);
  record.samples = {1};
  EXPECT_THAT(parse_timings(timing_text(record)).error().message, HasSubstr("refused has samples"));
}

TEST(TimingsText, AMachineMakesSenseOrIsRefused) {
  const std::string machine =
      "machine { name: \"box\" device { name: \"C\" kind: cpu threads: 4 flops_per_second: 1e12 "
      "bytes_per_second: 1e11 memory { space: host bytes: 1000 } } ";
  const Result<ReadTimings> read =
      parse_timings(machine + "link { from: host to: host bytes_per_second: 5 seconds: 1 } }");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->machine);
  EXPECT_EQ(read->machine->name, "box");
  ASSERT_EQ(read->machine->devices.size(), 1U);
  EXPECT_EQ(read->machine->devices[0].spec.threads, 4);
  EXPECT_EQ(read->machine->devices[0].spec.simd_floats, 8);
  EXPECT_EQ(read->machine->devices[0].bytes[0], 1000);
  ASSERT_EQ(read->machine->links.size(), 1U);
  EXPECT_EQ(read->machine->links[0].latency, 1);
  EXPECT_THAT(timings_refusal(machine + "link { from: host to: device bytes_per_second: 5 } }"),
              HasSubstr("device memory"));
  EXPECT_FALSE(parse_timings(timing_text(test::full_record()))->machine);
}

TEST(TimingsText, AGpuMayHaveMatrixUnits) {
  const auto machine = [](const std::string& rates) {
    return "machine { name: \"box\" device { name: \"G\" kind: gpu threads: 1 flops_per_second: 1e12 bytes_per_second: "
           "1e11 " +
           rates + " memory { space: device bytes: 1000 } } }";
  };
  const Result<ReadTimings> none = parse_timings(machine(""));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->machine->devices[0].spec.accelerator.tf32_flops_per_second, 0);
  const Result<ReadTimings> both = parse_timings(machine("tf32_flops_per_second: 2e12 bf16_flops_per_second: 4e12"));
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->machine->devices[0].spec.accelerator.tf32_flops_per_second, 2e12);
  EXPECT_EQ(both->machine->devices[0].spec.accelerator.bf16_flops_per_second, 4e12);
  EXPECT_THAT(timings_refusal(machine("tf32_flops_per_second: -1")), HasSubstr("tf32_flops_per_second is -1"));
  EXPECT_THAT(timings_refusal(machine("bf16_flops_per_second: nan")), HasSubstr("bf16_flops_per_second is nan"));
}

TEST(TimingsText, RecordsOfStrangers) {
  const std::string start = "record { primitive: \"p\" problem: \"q\" samples: 1 ";
  const Result<ReadTimings> read = parse_timings(start + "}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->timings.records().at(0).in, Format{});
  EXPECT_THAT(timings_refusal(start + "bytes { space: device transient: -1 } }"), HasSubstr("bytes holds -1"));
}

TEST(TimingsText, FilesThatCannotBeWritten) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "none" / "timings.pbtxt";
  EXPECT_THAT(append_timing(path, test::full_record()).error().message, StartsWith(path + ": cannot be opened: "));
  const std::string bad = folder.write("bad.pbtxt", "what");
  EXPECT_THAT(read_timings(bad).error().message, StartsWith(bad + ": line "));
}

}  // namespace
}  // namespace znni
