// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_page.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace spillway::sweep {
namespace {

JournalEntry Entry(std::int64_t point, const std::string& size, const std::string& chip, Picos makespan) {
  JournalEntry entry;
  entry.point = point;
  entry.values = {size, chip};
  entry.result.makespan_ps = makespan;
  entry.result.hbm_read_bytes = 10 * makespan;
  if (makespan == 0) entry.result.status = "no </script> here";
  return entry;
}

JournalHeader Header() {
  JournalHeader header;
  header.title = "<b>title</b>";
  header.version = "1";
  header.points = 5;
  header.axes = {"size", "chip"};
  header.geometric = {true, false};
  return header;
}

/// What the page's script gets.
nlohmann::json DataOf(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size(), end = page.find("</script>", begin);
  REQUIRE(end != std::string::npos);
  return nlohmann::json::parse(page.substr(begin, end - begin)).at("sweep");
}

TEST_CASE("the page of a sweep has every figure of every point") {
  const std::string page = SweepPage(Header(), {Entry(0, "1MiB", "v5e", 7), Entry(1, "1MiB", "v6e", 5),
                                                Entry(2, "2MiB", "v5e", 0), Entry(4, "4MiB", "v6e", 9)});
  CHECK(page.find("<title>&lt;b&gt;title&lt;/b&gt; - Spillway</title>") != std::string::npos);
  const nlohmann::json data = DataOf(page);
  CHECK(data.at("title") == "<b>title</b>");
  CHECK(data.at("points") == 5);
  CHECK(data.at("x") == 0);
  CHECK(data.at("status") == nlohmann::json({"ok", "ok", "no </script> here", "ok"}));
  CHECK(data.at("values") == nlohmann::json({{0, 0, 1, 2}, {0, 1, 0, 1}}));
  CHECK(data.at("figures").at("makespan_ps") == nlohmann::json({7, 5, 0, 9}));
  CHECK(data.at("figures").at("hbm_read_bytes") == nlohmann::json({70, 50, 0, 90}));
  CHECK(data.at("figures").size() == IntegerColumns().size() + 1);
  for (const auto& [name, list] : data.at("figures").items()) {
    INFO(name);
    CHECK(list.size() == 4);
  }
  for (const char* list : {"measured_us", "timer"}) CHECK(data.at(list).size() == 4);
  const nlohmann::json& size = data.at("axes").at(0);
  CHECK(size.at("numeric") == true);
  CHECK(size.at("log") == true);
  CHECK(size.at("values").at(2) == nlohmann::json({{"text", "4MiB"}, {"x", 4.0 * 1024 * 1024}}));
  const nlohmann::json& chip = data.at("axes").at(1);
  CHECK(chip.at("numeric") == false);
  CHECK(chip.at("values").at(1) == nlohmann::json({{"text", "v6e"}, {"x", 1.0}}));
}

TEST_CASE("the page of a sweep without points") {
  const nlohmann::json data = DataOf(SweepPage(Header(), {}));
  CHECK(data.at("status").empty());
  CHECK(data.at("axes").size() == 2);
}

}  // namespace
}  // namespace spillway::sweep
