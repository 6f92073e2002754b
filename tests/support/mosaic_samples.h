// SPDX-License-Identifier: Apache-2.0
// The Pallas kernels in tests/data/mosaic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/base/file.h"
#include "sim/hlo/module.h"
#include "sim/hlo/mosaic_body.h"

namespace spillway::test {

struct MosaicSample {
  std::vector<std::unique_ptr<hlo::Module>> modules;
  const hlo::Instruction* kernel = nullptr;
};

inline const hlo::Instruction* FirstMosaicCall(const hlo::Module& module) {
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      if (hlo::MosaicBytesOf(instruction)) return &instruction;
    }
  }
  return nullptr;
}

/// REQUIREs that the file at `path` holds a Mosaic call.
inline MosaicSample ReadMosaicSample(const std::string& path) {
  MosaicSample sample;
  auto text = ReadFile(path);
  REQUIRE(text.ok());
  auto modules = hlo::ParseModules(*text, path);
  REQUIRE(modules.ok());
  sample.modules = std::move(*modules);
  sample.kernel = FirstMosaicCall(*sample.modules[0]);
  REQUIRE(sample.kernel != nullptr);
  return sample;
}

inline std::string MosaicData(const std::string& name) { return std::string(SPILLWAY_SOURCE_DIR) + "/tests/data/mosaic/" + name; }

}  // namespace spillway::test
