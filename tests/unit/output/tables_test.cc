// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sample.h"
#include "sim/output/csv.h"
#include "sim/output/summary_json.h"

namespace spillway::output {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// Everything the writers use is in these texts, so equal texts mean an equal timeline.
std::string Tables(const RunData& run) {
  return SlicesCsv(run) + CountersCsv(run.timeline) + TracksCsv(run.timeline);
}

TEST_CASE("summary JSON has the contract's keys in order and reads back to the same bytes") {
  for (const RunData& run : {SmallRun(), RunData{NaiveAttentionSummary(), {}}, RunData{}}) {
    const std::string json = SummaryJson(run.summary);
    CHECK_THAT(json, StartsWith("{\n  \"schema\": \"spillway.summary/1\",\n  \"version\""));
    const auto back = ReadSummaryJson(json, "summary.json");
    REQUIRE(back.ok());
    CHECK(SummaryJson(*back) == json);
  }
  const std::string json = SummaryJson(SmallRun().summary, {-1, true});
  std::size_t at = 0;
  for (const char* key : {"schema",
                          "version",
                          "input",
                          "module",
                          "chip",
                          "plan",
                          "complete",
                          "makespan_ps",
                          "cycles",
                          "hbm",
                          "read_bytes",
                          "write_bytes",
                          "busy_ps",
                          "bytes_per_second",
                          "peak_bytes_per_second",
                          "hbm_allocated_bytes",
                          "vmem",
                          "capacity_bytes",
                          "peak_bytes",
                          "peak_at",
                          "buffers_bytes",
                          "unmodelled",
                          "ops",
                          "share_of_time",
                          "ops",
                          "name",
                          "opcode",
                          "kind",
                          "class",
                          "start_ps",
                          "end_ps",
                          "steps",
                          "hbm_read_bytes",
                          "hbm_write_bytes",
                          "dma_count",
                          "compute_cycles",
                          "compute_source",
                          "bundles",
                          "stall_ps",
                          "dma_read",
                          "dma_write",
                          "fill",
                          "drain",
                          "other",
                          "bound",
                          "estimated_cycles",
                          "buffers",
                          "shape",
                          "memory_space",
                          "offset"}) {
    const std::size_t found = json.find("\"" + std::string(key) + "\":", at);
    INFO(key);
    REQUIRE(found != std::string::npos);
    at = found + 1;
  }
  CHECK_THAT(json, Contains("\"makespan_ps\":10000123,"));
  CHECK_THAT(
      json,
      Contains(
          "\"stall_ps\":{\"dma_read\":1000000,\"dma_write\":0,\"fill\":999999,\"drain\":0,\"other\":0}"));
}

TEST_CASE("hostile names and huge values survive JSON") {
  const RunData run = HostileRun();
  const auto back = ReadSummaryJson(SummaryJson(run.summary), "summary.json");
  REQUIRE(back.ok());
  CHECK(back->module == run.summary.module);
  CHECK(back->ops[1].why == run.summary.ops[1].why);
  CHECK(back->makespan_ps == INT64_MAX);
  CHECK(back->notes == run.summary.notes);
  timeline::Summary broken;
  broken.module = "\xff\xfe";  // not UTF-8: replaced, not thrown
  CHECK(ReadSummaryJson(SummaryJson(broken), "f")->module == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("bad summaries are refused with a reason") {
  const auto message = [](const char* text) {
    const auto read = ReadSummaryJson(text, "s.json");
    REQUIRE_FALSE(read.ok());
    return Render(read.errors()[0]);
  };
  CHECK_THAT(message(""), StartsWith("s.json:1:1: error: not valid JSON"));
  CHECK_THAT(message("{\"schema\":\n 1,}"), StartsWith("s.json:2:4: error: not valid JSON"));
  CHECK_THAT(message("[1]"), Contains("expected a JSON object"));
  CHECK_THAT(message("{}"), Contains("no \"schema\""));
  CHECK_THAT(message("{\"schema\":\"spillway.summary/2\"}"), Contains("schema 'spillway.summary/2'"));
  const std::string head = "{\"schema\":\"spillway.summary/1\",";
  CHECK_THAT(message((head + "\"cycles\":1.5}").c_str()), Contains("'cycles' is not an integer"));
  CHECK_THAT(message((head + "\"cycles\":18446744073709551615}").c_str()), Contains("below 2^63"));
  CHECK_THAT(message((head + "\"ops\":[{\"name\":\"a\"},{\"stall_ps\":{\"fill\":\"x\"}}]}").c_str()),
             Contains("'ops[1].stall_ps.fill' is not an integer"));
  CHECK_THAT(message((head + "\"ops\":[7]}").c_str()), Contains("'ops' is not a list of objects"));
}

TEST_CASE("slices and counters have the documented form") {
  const RunData run = SmallRun();
  CHECK_THAT(SlicesCsv(run),
             StartsWith("start_ps,end_ps,track,kind,op,buffer,bytes,address,stall,flow,op_index\n"
                        "0,6000001,core,op,fusion.1,,0,,,,0\n"
                        "0,1000000,core,wait,fusion.1,,0,,fill,1,0\n"
                        "0,3000000,core steps,step,fusion.1,,0,,,,0\n"
                        "0,1000000,dma 0,dma_read,fusion.1,p0,1048576,65536,,1,0\n"));
  CHECK(CountersCsv(run.timeline) ==
        "time_ps,counter,value\n0,hbm read,1250000000000\n0,vmem bytes,2097152\n1000000,hbm read,0.1\n"
        "2000007,hbm read,0\n10000123,vmem bytes,0\n");
  CHECK(TracksCsv(run.timeline) ==
        "type,name,detail\ntrack,core,core\ntrack,core steps,steps\ntrack,dma 0,dma\ntrack,dma 1,dma\n"
        "counter,hbm read,B/s\ncounter,vmem "
        "bytes,B\ncounter,empty,count\nbuffer,p0,\nbuffer,fusion.1,\nbuffer,unused,\n");
  CHECK_THAT(OpsCsv(run.summary),
             Contains("\ncustom-call.2,custom-call,,custom,6000001,10000123,4000122,3,64,"));
}

TEST_CASE("a timeline reads back from its tables without loss") {
  for (const RunData& run : {SmallRun(), HostileRun(), RunData{}}) {
    const TimelineTables tables{SlicesCsv(run), CountersCsv(run.timeline), TracksCsv(run.timeline)};
    const auto back = ReadTimelineTables(tables, run.summary.ops);
    REQUIRE(back.ok());
    CHECK(Tables({run.summary, *back}) == Tables(run));
  }
}

TEST_CASE("tables without tracks.csv and extra columns are enough for a timeline") {
  const auto back = ReadTimelineTables({"start_ps,end_ps,track,kind,op,buffer,bytes,address,stall\n5,9,dma "
                                        "3,dma_read,a,x,64,128,\n6,9,core,wait,,,0,,fill\n",
                                        "", ""},
                                       {timeline::OpSummary{}, [] {
                                          timeline::OpSummary op;
                                          op.name = "a";
                                          return op;
                                        }()});
  REQUIRE(back.ok());
  REQUIRE(back->slices.size() == 2);
  CHECK(back->slices[0].op == 1);
  CHECK(back->slices[0].address == 128);
  CHECK(back->tracks[0].kind == timeline::TrackKind::kDmaQueue);
  CHECK(back->slices[1].stall == timeline::Stall::kFill);
  CHECK(back->slices[1].op == -1);
  CHECK(back->buffers == std::vector<std::string>{"x"});
}

TEST_CASE("bad tables are refused with file and line") {
  const std::string header = "start_ps,end_ps,track,kind,op,buffer,bytes,address,stall\n";
  const auto message = [&](const std::string& slices, const std::string& counters = "") {
    const auto read = ReadTimelineTables({slices, counters, ""}, {});
    REQUIRE_FALSE(read.ok());
    return Render(read.errors()[0]);
  };
  CHECK_THAT(message("start_ps\n"), Contains("column 'end_ps' is missing"));
  CHECK_THAT(message(header + "1,2,core,op,nobody,,0,,\n"),
             StartsWith("slices.csv:2:1: error: op 'nobody' is not in"));
  CHECK_THAT(message(header + "\"1\n\",2,core,op,,,0,,\n"), Contains("is not a number"));
  CHECK_THAT(message(header + "2,1,core,op,,,0,,\n"), Contains("must end at or after its start"));
  CHECK_THAT(message(header + "1,99999999999999999999,core,op,,,0,,\n"), Contains("not a number in range"));
  CHECK_THAT(message(header + "1,2,core\n"),
             Contains("slices.csv:2:1: error: 3 fields where the header has 9"));
  CHECK_THAT(message(header + "1,2,\"core\n"), Contains("a quoted field never ends"));
  CHECK_THAT(message(header + "1,2,\"co\"re,op,,,0,,\n"), Contains("expected a comma"));
  CHECK_THAT(message(header + "1,2,core,op,,,0,,bored\n"), Contains("unknown stall 'bored'"));
  CHECK_THAT(message(header, "time_ps,counter,value\n-1,a,1\n"), Contains("counters.csv:2"));
  CHECK_THAT(message(""), Contains("the file is empty"));
}

TEST_CASE("CSV fields: CRLF, quotes, line breaks, empty last field") {
  const auto table = ParseCsv("a,b\r\n\"x\"\"y\",\"1\n2\"\r\n,\n\"\",z", "t.csv");
  REQUIRE(table.ok());
  CHECK(table->header == std::vector<std::string>{"a", "b"});
  CHECK(table->rows == std::vector<std::vector<std::string>>{{"x\"y", "1\n2"}, {"", ""}, {"", "z"}});
  CHECK(table->lines == std::vector<int>{2, 4, 5});
}

}  // namespace
}  // namespace spillway::output
