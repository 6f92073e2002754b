// SPDX-License-Identifier: Apache-2.0
// Test runner shared by every test executable.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

extern "C" int sc_main(int, char**) { return 0; }  // libsystemc leaves it undefined

int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }
