// SPDX-License-Identifier: Apache-2.0
#include "sim/output/text_summary.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "sample.h"
#include "sim/output/table.h"

namespace spillway::output {
namespace {

using Catch::Matchers::Contains;

std::size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, DisplayWidth(line));
  return widest;
}

TEST_CASE("short numbers keep three or four digits") {
  CHECK(ShortBytes(0) == "-");
  CHECK(ShortBytes(1023) == "1023 B");
  CHECK(ShortBytes(128 * kMiB) == "128 MiB");
  CHECK(ShortBytes(kMiB + 1) == "1.00 MiB");
  CHECK(ShortBytes(1536) == "1.50 KiB");
  CHECK(ShortBytes(INT64_MAX) == "8 EiB");
  CHECK(ShortDuration(999) == "999 ps");
  CHECK(ShortDuration(1'500) == "1.500 ns");
  CHECK(ShortDuration(307'912'345) == "307.9 us");
  CHECK(ShortDuration(999'960'000) == "1.000 ms");
  CHECK(WithCommas(0) == "0");
  CHECK(WithCommas(-1234567) == "-1,234,567");
  CHECK(Percent(0.0004) == "<0.1%");
}

TEST_CASE("long names lose their middle, not their number") {
  CHECK(Elide("short", 10) == "short");
  CHECK(Elide("loop_convert_fusion.123", 11) == "loop_…n.123");
  CHECK(DisplayWidth(Elide("loop_convert_fusion.123", 11)) == 11);
  CHECK(Elide("loop_convert_fusion.123", 11, false) == "loop_...123");
  CHECK(Elide("a\nb\x1b[31m", 20) == "a?b?[31m");
  CHECK(Elide("☃☃☃☃☃", 3) == "☃…☃");
}

TEST_CASE("the naive attention report shows every figure a person looks for") {
  const std::string text = TextSummary(NaiveAttentionSummary());
  CHECK_THAT(text, Contains("jit_attn on v6e, plan as-compiled"));
  CHECK_THAT(text, Contains("409.1 us   716,000 cycles at 1750 MHz"));
  CHECK_THAT(
      text,
      Contains("read 262 MiB, written 258 MiB   1.333 TB/s = 81.3% of the 1.638 TB/s peak, busy 97.3%"));
  CHECK_THAT(text, Contains("peak 18.0 MiB of 128 MiB (14.1%) in fusion.1"));
  CHECK_THAT(text, Contains("fusion.1  kLoop/input"));
  CHECK_THAT(text, Contains("write 87%"));
  CHECK_THAT(text, !Contains("unmodelled"));
  CHECK_THAT(text, !Contains("\x1b"));
}

TEST_CASE("the report keeps to its width") {
  for (const std::size_t width : {80u, 100u, 120u, 160u}) {
    TextOptions options;
    options.width = width;
    CHECK(WidestLine(TextSummary(NaiveAttentionSummary(), options)) <= std::max<std::size_t>(width, 101));
    timeline::Summary longer = NaiveAttentionSummary();
    longer.ops[0].name = std::string(300, 'x');
    CHECK(WidestLine(TextSummary(longer, options)) <= std::max<std::size_t>(width, 101));
  }
}

TEST_CASE("many ops: the longest are shown, the rest are added up") {
  timeline::Summary summary = NaiveAttentionSummary();
  for (int i = 0; i < 1000; ++i) {
    summary.ops.push_back(summary.ops[0]);
    summary.ops.back().name = "small." + std::to_string(i);
    summary.ops.back().busy_ps = 1000;
  }
  TextOptions options;
  options.max_ops = 3;
  const std::string text = TextSummary(summary, options);
  CHECK_THAT(text, Contains("the 3 longest of 1,003 ops"));
  CHECK_THAT(text, Contains("and 1,000 more ops: 1.000 us (0.2%)"));
  CHECK(text.find("fusion.1 ") < text.find("fusion.2 "));  // by time, not by schedule
  options.max_ops = 0;
  CHECK_THAT(TextSummary(summary, options), Contains("small.999"));
}

TEST_CASE("asynchronous ops: no rate, and no row for a wait that took no time") {
  timeline::Summary summary;
  summary.makespan_ps = 1'000'000;
  summary.hbm_peak_bytes_per_second = 1e12;
  for (const char* name : {"copy-start", "copy-done"}) {
    summary.ops.emplace_back();
    summary.ops.back().name = name;
    summary.ops.back().op_class = "async";
  }
  summary.ops[0].busy_ps = 571;
  summary.ops[0].hbm_read_bytes = 2 * kMiB;
  TextOptions options;
  const std::string text = TextSummary(summary, options);
  CHECK_THAT(text, Contains("copy-start"));
  CHECK_THAT(text, !Contains("copy-done"));
  CHECK_THAT(text, !Contains("of peak"));
  options.max_ops = 0;
  CHECK_THAT(TextSummary(summary, options), Contains("copy-done"));
}

TEST_CASE("unmodelled ops are listed with their reason") {
  const std::string text = TextSummary(SmallRun().summary);
  CHECK_THAT(text, Contains("custom-call.2 *"));
  CHECK_THAT(text, Contains("unmodelled: 1 op, 40.0% of the time"));
  CHECK_THAT(text, Contains("custom-call.2: windows not readable"));
  CHECK_THAT(text, Contains("note: loop of 3 trips"));
}

TEST_CASE("hostile names cannot drive the terminal and an empty run prints") {
  const std::string text = TextSummary(HostileRun().summary);
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK_THAT(TextSummary(timeline::Summary()), Contains("no op takes time"));
  timeline::Summary stopped = NaiveAttentionSummary();
  stopped.complete = false;
  CHECK_THAT(TextSummary(stopped), Contains("interrupted"));
}

TEST_CASE("ASCII output has no byte above 127") {
  TextOptions options;
  options.unicode = false;
  options.width = 200;
  for (const char c : TextSummary(NaiveAttentionSummary(), options))
    CHECK(static_cast<unsigned char>(c) < 128);
}

}  // namespace
}  // namespace spillway::output
