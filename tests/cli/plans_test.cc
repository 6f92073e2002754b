// SPDX-License-Identifier: Apache-2.0
// What the plan `streamed` predicts for naive attention, from the outside: HBM bytes, and time against the compiled flash kernel.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using nlohmann::json;

json Replay(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--json", "-q"});
  const ProcessResult result = Run(words);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

json Streamed(const std::string& chip, const std::string& variant, int size) {
  return Replay({"attention", "--chip", chip, "--variant", variant, "--bind", fmt::format("S={}", size), "--plan", "streamed", "--llo", "none"});
}

double Bytes(const json& run) { return run.at("hbm").at("read_bytes").get<double>() + run.at("hbm").at("write_bytes").get<double>(); }
double Time(const json& run) { return run.at("makespan_ps").get<double>(); }

/// "read again: k.1 64 times" in the notes: what is read beyond once, of one operand of `tensor` bytes.
double StatedAgain(const json& run, double tensor) {
  const std::string word = "read again: ";
  for (const json& note : run.at("notes")) {
    const std::string text = note.get<std::string>();
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    const std::string list = text.substr(at + word.size(), text.find_first_of(";:", at + word.size()) - at - word.size());
    double again = 0;
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(", ", begin), list.size());
      const std::string item = list.substr(begin, end - begin);
      again += tensor * (std::stod(item.substr(item.find(' ') + 1)) - 1);
      begin = end + 2;
    }
    return again;
  }
  return 0;
}

TEST_CASE("streamed naive attention moves q, k, v, o and takes the time of flash") {
  for (const std::string variant : {"old", "new"}) {
    INFO(variant);
    const json streamed = Streamed("v6e", variant, 8192);
    const double tensor = 8192.0 * 128 * 2;
    CHECK(Bytes(streamed) >= 4 * tensor);
    CHECK(Bytes(streamed) <= 1.1 * (4 * tensor + StatedAgain(streamed, tensor)));
    // The bundled dump of JAX's Pallas kernel, replayed from its bundles: blocks of 512.
    const json flash = Replay({"flash_attention", "--chip", "v6e", "--bind", "S=8192"});
    CHECK(flash.at("ops").at(0).at("compute_source") == "bundles");
    INFO("streamed " << Time(streamed) / 1e6 << " us, flash " << Time(flash) / 1e6 << " us");
    CHECK(std::abs(Time(streamed) / Time(flash) - 1) <= 0.2);
    // What it replaces is slower, and moves the scores.
    const json naive = Replay({"attention", "--chip", "v6e", "--variant", variant, "--bind", "S=8192", "--llo", "none"});
    CHECK(Time(streamed) < Time(naive));
    CHECK(Bytes(naive) >= 2 * 8192.0 * 8192 * 2);
  }
}

TEST_CASE("streamed long attention stays near its arithmetic") {
  for (const std::string chip : {"v5e", "v6e"}) {
    for (const std::string variant : {"old", "new"}) {
      const double before = Time(Streamed(chip, variant, 8192));
      for (int size : {16384, 32768}) {
        INFO(chip << " " << variant << " " << size);
        const json run = Streamed(chip, variant, size);
        const double tensor = size * 128.0 * 2, length = size;
        CHECK(Bytes(run) >= 4 * tensor);
        CHECK(Bytes(run) <= 1.1 * (4 * tensor + StatedAgain(run, tensor)));
        for (const json& op : run.at("ops")) CHECK((op.at("class") == "async" || op.at("bound") == "compute"));
        // Arithmetic grows with the square; fixed costs fall away.
        const double growth = Time(run) / before / std::pow(length / 8192, 2);
        CHECK(growth <= 1.02);
        CHECK(growth >= 0.85);
        // Two products of S x S x d in bf16: never faster than the matrix units of the chip (Google's figures).
        const double peak = chip == "v5e" ? 197e12 : 918e12;
        CHECK(4 * length * length * 128 / (Time(run) * 1e-12) < peak);
      }
    }
  }
}

}  // namespace
}  // namespace spillway::test
